"""The verbs of `assay rules`."""

import typer

from assay.cli.rules.lists import list_rules
from assay.cli.rules.show import show
from assay.cli.rules.specimens import test

app = typer.Typer(no_args_is_help=True, help="The rules of the scanner: list, show, test.")
app.command("list")(list_rules)
for verb in (show, test):
    app.command()(verb)
