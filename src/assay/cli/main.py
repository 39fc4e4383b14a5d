"""`assay`: the commands, and what their errors look like."""

import sys
from io import TextIOWrapper
from typing import Annotated, ClassVar

import typer

from assay import __version__
from assay.cli.ui.exits import exit_of_error
from assay.cli.ui.lazy import Lazy, LazyGroup
from assay.cli.ui.terminal import visible
from assay.model.errors import AssayError


class Commands(LazyGroup):
    """All commands, in the order of the help. Each line is how the command's own help begins."""

    lazy_commands: ClassVar = {
        "up": Lazy("assay.cli.up:up", "Start everything on this machine and keep it running until Ctrl-C."),
        "scan": Lazy("assay.cli.scan.command:scan", "Scan skills on this machine, as the registry would, without one."),
        "rules": Lazy("assay.cli.rules.app:app", "The rules of the scanner: list, show, test."),
        "submit": Lazy("assay.cli.submit:submit", "Submit skills of repositories, or of folders of this machine."),
        "queue": Lazy("assay.cli.queue.app:app", "Watch the queue; with the key of the registry, steer it."),
        "review": Lazy(
            "assay.cli.review.app:app",
            "Decide what the scanner leaves to people. Needs the key of the registry.",
        ),
        "demo": Lazy("assay.cli.demo:demo", "Upload six example skills and show how each is judged."),
        "web": Lazy("assay.cli.web:web", "Serve the API and the pages."),
        "worker": Lazy("assay.cli.worker:worker", "Work on submissions."),
        "crawl": Lazy("assay.cli.crawl:crawl", "Look for skills."),
        "scan-node": Lazy("assay.cli.scan_node:scan_node", "Run external scan tools on what is published."),
        "migrate": Lazy("assay.cli.migrate:migrate", "Bring the database schema up to date."),
        "seed": Lazy("assay.cli.seed:seed", "Submit the 118 well-known skills of the starter catalogue."),
        "import": Lazy("assay.cli.import_:app", "Bring in what other registries leave behind."),
        "rebuild-index": Lazy("assay.cli.rebuild_index:rebuild_index", "Make the edge copy anew from the tables."),
        "health": Lazy(
            "assay.cli.health:health",
            "Compare every listing with its copy at the edge, and say what to run if they differ.",
        ),
        "mirror": Lazy(
            "assay.cli.mirror.command:mirror",
            "Keep a verified copy of a registry: its feed, listings, contents and blocklist.",
        ),
        "replay": Lazy(
            "assay.cli.replay:replay",
            "Say which published skills a ruleset would not publish; nothing that is published changes.",
        ),
        "verify": Lazy(
            "assay.cli.verify.command:verify",
            "Say whether a skill is what a registry has certified: every file, and no other.",
        ),
        "keys": Lazy("assay.cli.keys:app", "The keys that sign: list, rotate."),
        "doctor": Lazy("assay.cli.doctor.command:doctor", "Look at everything, and say what to do."),
        "admin": Lazy("assay.cli.admin:app", "Administrators: create, list, disable."),
    }


app = typer.Typer(cls=Commands, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)


def _show_version(wanted: bool) -> None:
    if wanted:
        print(f"assay {__version__}")
        raise typer.Exit


@app.callback()
def assay(
    _version: Annotated[
        bool, typer.Option("--version", help="Show the version.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    """A registry for agent skills: fetched at a pinned commit, assayed, certified, served."""


def run() -> None:
    """One line on standard error says what is wrong; the exit code says of which kind."""
    if isinstance(sys.stdout, TextIOWrapper):
        # Where a character cannot be shown, its number is.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        app()
    except AssayError as error:
        cause = f" ({error.details['cause']})" if "cause" in error.details else ""
        print(f"assay: {visible(error.message + cause)}", file=sys.stderr)
        sys.exit(exit_of_error(error))
