"""`assay worker`: claims jobs and takes submissions through the pipeline."""

import asyncio
from typing import Annotated

import typer

from assay import settings
from assay.app.app import open_app
from assay.app.maintenance import open_pusher, open_second_look, open_watch, watch_limits
from assay.app.worker import open_tools, pause_gate, worker_options
from assay.cli.process.stopping import run_until_done, stopping_event
from assay.cli.ui.logs import set_up_logs
from assay.edge_sync.projector import Projector
from assay.maintenance.schedule import all_chores
from assay.pipeline import process
from assay.queue.in_flight import InFlight
from assay.queue.worker import run_worker
from assay.runtime.heartbeat import heartbeat
from assay.runtime.periodic import run_chore
from assay.scan_pool.pool import preparing
from assay.settings import Settings
from assay.store.database.database import PoolOptions, open_database
from assay.store.operations.periodic_jobs import register_chores

# One for its page, and for a rebuild one more that keeps others away.
PROJECTOR_CONNECTIONS = 3


def worker(supervised: Annotated[bool, typer.Option("--supervised", hidden=True)] = False) -> None:
    """Work on submissions. Start as many as you like, on as many machines as you like."""
    set_up_logs("worker")
    run_until_done(_work(settings.with_secrets(settings.read()), supervised=supervised))


async def _work(chosen: Settings, *, supervised: bool) -> None:
    stopping, in_flight = stopping_event(supervised=supervised), InFlight()
    async with open_app(chosen, application="assay worker") as app, open_tools(app) as tools:
        chores = all_chores(watch_limits(chosen), app.clock, app.ruleset.version)
        # Chores have connections of their own, one for each, so that none waits for another or for the pipeline.
        pool = PoolOptions(size=len(chores), application="assay chores")
        projector = PoolOptions(size=PROJECTOR_CONNECTIONS, application="assay projector")
        async with (
            open_database(app.database_url, pool) as maintenance,
            open_database(app.database_url, projector) as copying,
        ):
            async with maintenance.begin() as db:
                await register_chores(db, [chore.rhythm for chore in chores])
            async with (
                preparing(tools.scanners),
                heartbeat(app.store, "worker", lambda: in_flight.number, ruleset=app.ruleset.version),
                asyncio.TaskGroup() as group,
            ):
                group.create_task(Projector(copying, app.edge, app.clock.now).run(app.database_url, stopping))
                for chore in chores:
                    group.create_task(run_chore(maintenance, chore, stopping))
                work = in_flight.counting(lambda job: process(job, tools))
                if chosen.watch_seconds:
                    group.create_task(open_watch(app).run(stopping))
                group.create_task(open_second_look(app, tools).run(stopping))
                if chosen.deep_scan_tools:
                    group.create_task(open_pusher(app).run(stopping))
                options, gate = worker_options(chosen), pause_gate(app)
                group.create_task(run_worker(app.database_url, work, options, stopping, gate))
