"""`assay`: the commands, and what their errors look like."""

import sys
from typing import Annotated

import typer

from assay import __version__
from assay.cli import demo, migrate, up, web, worker
from assay.model.errors import AssayError, Conflict, Forbidden, Invalid, NotFound, Unavailable

EXIT_CODES: dict[type[AssayError], int] = {Invalid: 2, NotFound: 3, Conflict: 4, Forbidden: 4, Unavailable: 5}

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
app.command("up")(up.up)
app.command("web")(web.web)
app.command("worker")(worker.worker)
app.command("migrate")(migrate.migrate)
app.command("demo")(demo.demo)


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
    try:
        app()
    except AssayError as error:
        cause = f" ({error.details['cause']})" if "cause" in error.details else ""
        print(f"assay: {error.message}{cause}", file=sys.stderr)
        sys.exit(next(code for kind, code in EXIT_CODES.items() if isinstance(error, kind)))
