"""`assay worker`: claims jobs and takes submissions through the pipeline."""

import asyncio
from typing import Annotated

import typer

from assay import settings
from assay.app import open_app, open_tools, worker_options
from assay.cli.logs import set_up_logs
from assay.cli.stopping import run_until_done, stopping_event
from assay.pipeline import process
from assay.queue.periodic import Chore, run_chore
from assay.queue.rescue import rescue_held_jobs
from assay.queue.worker import run_worker
from assay.settings import Settings
from assay.store.changes import number_changes
from assay.store.counts import fold_counts

CHORES = (
    Chore("fold counts", 10, fold_counts),
    Chore("number changes", 5, number_changes),
    Chore("rescue held jobs", 30, rescue_held_jobs),
)


def worker(supervised: Annotated[bool, typer.Option("--supervised", hidden=True)] = False) -> None:
    """Work on submissions. Start as many as you like, on as many machines as you like."""
    set_up_logs("worker")
    run_until_done(_work(settings.with_secrets(settings.read()), supervised=supervised))


async def _work(chosen: Settings, *, supervised: bool) -> None:
    stopping = stopping_event(supervised=supervised)
    async with (
        open_app(chosen, application="assay worker") as app,
        open_tools(app) as tools,
        asyncio.TaskGroup() as group,
    ):
        for chore in CHORES:
            group.create_task(run_chore(app.store, chore, stopping))
        options = worker_options(chosen)
        group.create_task(run_worker(app.database_url, lambda job: process(job, tools), options, stopping))
