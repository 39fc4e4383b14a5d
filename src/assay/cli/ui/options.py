"""Options that several commands have."""

from typing import Annotated

import typer

Url = Annotated[str | None, typer.Option("--url", help="Address of the registry; default: this machine's.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document on standard output.")]
