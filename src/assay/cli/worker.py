"""`assay worker`: claim jobs, run the pipeline and the periodic jobs."""

import asyncio
from typing import Annotated

import typer

from assay import settings
from assay.app.app import open_app
from assay.app.maintenance import open_pusher, open_rescanner, open_upstream_watcher, watch_limits
from assay.app.worker import open_tools, pause_gate, worker_options
from assay.cli.process.stopping import run_async, stopping_event
from assay.cli.ui.logs import configure_logs
from assay.edge_sync.projector import Projector
from assay.maintenance.schedule import periodic_jobs
from assay.pipeline import process
from assay.queue.worker import InFlight, run_worker
from assay.runtime.heartbeat import heartbeat
from assay.runtime.periodic import run_periodically
from assay.scan_pool.pool import preparing
from assay.settings import Settings
from assay.store.database.database import PoolOptions, open_database
from assay.store.operations.periodic_jobs import register_periodic_jobs

# One for the current page, one for a rebuild, and one that holds its lock.
PROJECTOR_CONNECTIONS = 3


def worker(supervised: Annotated[bool, typer.Option("--supervised", hidden=True)] = False) -> None:
    """Process submissions from the queue. Any number of workers may run, on any number of machines."""
    configure_logs("worker")
    run_async(_work(settings.with_secrets(settings.read()), supervised=supervised))


async def _work(config: Settings, *, supervised: bool) -> None:
    stopping, in_flight = stopping_event(supervised=supervised), InFlight()
    async with open_app(config, application="assay worker") as app, open_tools(app) as tools:
        jobs = periodic_jobs(watch_limits(config), app.clock, app.ruleset.version, app.blobs.store)
        # One connection per periodic job, so that none waits for another or for the pipeline.
        pool = PoolOptions(size=len(jobs), application="assay chores")
        projector = PoolOptions(size=PROJECTOR_CONNECTIONS, application="assay projector")
        async with (
            open_database(app.database_url, pool) as maintenance,
            open_database(app.database_url, projector) as copying,
        ):
            async with maintenance.begin() as db:
                await register_periodic_jobs(db, [job.schedule for job in jobs])
            async with (
                preparing(tools.scanners),
                heartbeat(app.store, "worker", lambda: in_flight.number, ruleset=app.ruleset.version),
                asyncio.TaskGroup() as group,
            ):
                group.create_task(Projector(copying, app.edge, app.clock.now).run(app.database_url, stopping))
                for job in jobs:
                    group.create_task(run_periodically(maintenance, job, stopping))
                work = in_flight.counting(lambda job: process(job, tools))
                if config.watch_seconds:
                    group.create_task(open_upstream_watcher(app).run(stopping))
                group.create_task(open_rescanner(app, tools).run(stopping))
                if config.deep_scan_tools:
                    group.create_task(open_pusher(app).run(stopping))
                options, gate = worker_options(config), pause_gate(app)
                group.create_task(run_worker(app.database_url, work, options, stopping, gate))
