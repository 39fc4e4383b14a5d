"""The subcommands of `assay queue`."""

import typer

from assay.cli.queue.change import back, dequeue, front, hold, pause, resume
from assay.cli.queue.lists import list_submissions, stuck
from assay.cli.queue.overview import overview
from assay.cli.queue.requeue import requeue
from assay.cli.queue.show import show

app = typer.Typer()
app.callback(invoke_without_command=True)(overview)
app.command("list")(list_submissions)
for verb in (show, pause, resume, front, back, dequeue, hold, requeue, stuck):
    app.command()(verb)
