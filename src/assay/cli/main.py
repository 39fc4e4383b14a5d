"""The `assay` command: the table of subcommands and the error output."""

import sys
from io import TextIOWrapper
from typing import Annotated, ClassVar

import typer

from assay import __version__
from assay.cli.ui.exit_codes import exit_code_for_error
from assay.cli.ui.lazy import LazyCommand, LazyGroup
from assay.cli.ui.terminal import printable
from assay.model.errors import AssayError


class Commands(LazyGroup):
    """All commands in the order of the help. Each summary is also the first sentence of the command's own help."""

    lazy_commands: ClassVar = {
        "up": LazyCommand("assay.cli.up:up", "Start everything on this machine and keep it running until Ctrl-C."),
        "scan": LazyCommand("assay.cli.scan.command:scan", "Scan skills on this machine without a registry."),
        "rules": LazyCommand("assay.cli.rules:app", "List, show and test the scanner's rules."),
        "submit": LazyCommand("assay.cli.submit:submit", "Submit skills from repositories or local folders."),
        "queue": LazyCommand("assay.cli.queue.app:app", "Watch the queue; with the internal key, manage it."),
        "review": LazyCommand(
            "assay.cli.review.app:app",
            "Review submissions that need a person's decision. Requires the internal key.",
        ),
        "login": LazyCommand(
            "assay.cli.login:login", "Sign in at a registry: store a token that other commands send to it."
        ),
        "whoami": LazyCommand("assay.cli.whoami:whoami", "Show the account that commands act for, and its token."),
        "logout": LazyCommand("assay.cli.logout:logout", "Revoke the token of `assay login` and forget it."),
        "demo": LazyCommand("assay.cli.demo:demo", "Upload six example skills and show the verdict on each."),
        "web": LazyCommand("assay.cli.web:web", "Serve the API and the web pages."),
        "worker": LazyCommand("assay.cli.worker:worker", "Process submissions from the queue."),
        "crawl": LazyCommand("assay.cli.crawl:crawl", "Discover skills in external sources."),
        "scan-node": LazyCommand("assay.cli.scan_node:scan_node", "Run external scan tools on published skills."),
        "migrate": LazyCommand("assay.cli.migrate:migrate", "Bring the database schema up to date."),
        "seed": LazyCommand("assay.cli.seed:seed", "Submit the 118 well-known skills of the starter catalogue."),
        "import": LazyCommand("assay.cli.import_:app", "Import skills from other registries."),
        "rebuild-index": LazyCommand(
            "assay.cli.rebuild_index:rebuild_index", "Rebuild the edge copy from the database."
        ),
        "health": LazyCommand(
            "assay.cli.health:health",
            "Compare the edge copy with the database, and recommend a command if they differ.",
        ),
        "mirror": LazyCommand(
            "assay.cli.mirror.command:mirror",
            "Keep a verified copy of a registry: its change feed, listings, contents and blocklist.",
        ),
        "replay": LazyCommand(
            "assay.cli.replay:replay",
            "List the published skills that a ruleset would not approve, without changing them.",
        ),
        "verify": LazyCommand(
            "assay.cli.verify.command:verify",
            "Verify that a skill consists of exactly the files that a registry certified.",
        ),
        "keys": LazyCommand("assay.cli.keys:app", "List and rotate the signing keys."),
        "doctor": LazyCommand("assay.cli.doctor.command:doctor", "Check the installation and recommend what to do."),
        "admin": LazyCommand(
            "assay.cli.admin:app", "Create and disable administrators, and set the roles of accounts."
        ),
    }


app = typer.Typer(cls=Commands, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)


def _show_version(requested: bool) -> None:
    if requested:
        print(f"assay {__version__}")
        raise typer.Exit


@app.callback()
def assay(
    _version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    """A self-hosted registry for agent skills: fetched at a pinned commit, scanned, certified and served."""


def run() -> None:
    """Run the command line; print an expected error as one line on standard error, and exit with its code."""
    if isinstance(sys.stdout, TextIOWrapper):
        # Escape characters that the output encoding cannot represent.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        app()
    except AssayError as error:
        cause = f" ({error.details['cause']})" if "cause" in error.details else ""
        print(f"assay: {printable(error.message + cause)}", file=sys.stderr)
        sys.exit(exit_code_for_error(error))
