"""The verbs of `assay review`."""

import typer

from assay.cli.review.adopt import adopt
from assay.cli.review.decide import approve, reject
from assay.cli.review.lists import list_reviews
from assay.cli.review.show import show

app = typer.Typer(no_args_is_help=True, help="Decide what the scanner leaves to people. Needs the key of the registry.")
app.command("list")(list_reviews)
for verb in (show, approve, reject, adopt):
    app.command()(verb)
