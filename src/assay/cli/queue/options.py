"""Options and arguments that several verbs have."""

from typing import Annotated

import typer

Why = Annotated[str, typer.Option("--reason", help="Why; shown in the history.")]
Ids = Annotated[list[str], typer.Argument(metavar="ID", help="Ids of submissions, or addresses of their pages.")]
