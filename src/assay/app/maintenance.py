"""Maintenance of published skills, and the limits that raise alarms, created from the settings."""

from collections.abc import Sequence
from datetime import timedelta

from assay.app.app import App
from assay.app.worker import make_policy, scan_pool_options
from assay.deepscan.push import Pusher
from assay.edge_sync.rebuild import Backfill
from assay.llm.passes import PROMPT
from assay.maintenance.replay_ruleset import Replay
from assay.maintenance.rescan_published import PublishedRescanner
from assay.maintenance.watch_upstream import UpstreamWatcher
from assay.model.errors import Unavailable
from assay.model.skill import Skill
from assay.model.submission import ACTIVE, State
from assay.model.verdict import ENGINE_PREFIX
from assay.pipeline import PipelineDependencies
from assay.scan.scan import ENGINE
from assay.serve.operations.facts import WatchLimits
from assay.settings import Settings
from assay.submit.bulk import submit_missing_listings


def open_replay(app: App) -> Replay:
    settings = app.settings
    judge = (f"{ENGINE_PREFIX}{settings.llm_model}", PROMPT) if settings.llm_model else None
    return Replay(app.store, app.blobs, make_policy(settings), judge, scan_pool_options(settings))


def open_rescanner(app: App, tools: PipelineDependencies) -> PublishedRescanner:
    return PublishedRescanner(
        store=app.store,
        blobs=app.blobs,
        scanners=tools.scanners,
        judge=tools.judge,
        policy=tools.policy,
        keys=app.keys,
        clock=app.clock,
        engine=ENGINE,
        ruleset=app.ruleset.version,
    )


def open_upstream_watcher(app: App) -> UpstreamWatcher:
    return UpstreamWatcher(app.store, app.github, app.clock, timedelta(seconds=app.settings.watch_seconds), git=app.git)


def open_pusher(app: App) -> Pusher:
    """Return the task that pushes deep scans to nodes with an address. Raises Unavailable without a secret."""
    if app.settings.webhook_secret is None:
        raise Unavailable(
            "Deep scans cannot be pushed, because ASSAY_WEBHOOK_SECRET is not set.", code="secret_missing"
        )
    secret = app.settings.webhook_secret.get_secret_value()
    return Pusher(app.store, app.github.session, secret, app.clock, app.settings.deep_scan_lease_seconds)


def watch_limits(settings: Settings) -> WatchLimits:
    """Return the limits from which on alarms are raised."""
    working = timedelta(seconds=settings.stuck_seconds)
    waiting = timedelta(seconds=settings.stuck_received_seconds or settings.stuck_seconds)
    return WatchLimits(
        stuck={state: waiting if state is State.RECEIVED else working for state in ACTIVE},
        oldest_waiting=timedelta(seconds=settings.oldest_waiting_seconds),
        watch_every=timedelta(seconds=settings.watch_seconds) if settings.watch_seconds else None,
        judge_model=settings.llm_model,
        judge_budget_micros=settings.llm_budget_micros,
        deep_tools=settings.deep_scan_tools,
        deep_waiting=timedelta(seconds=settings.deep_scan_waiting_seconds),
        deep_lease=timedelta(seconds=settings.deep_scan_lease_seconds),
        report=timedelta(hours=settings.report_hours),
        review=timedelta(hours=settings.review_hours),
    )


def make_backfill(app: App, by: str) -> Backfill:
    """Return the function with which a rebuild submits listings that exist only in the edge copy."""

    async def backfill(lost: Sequence[Skill]) -> int:
        async with app.store.begin() as db:
            return await submit_missing_listings(db, lost, by=by)

    return backfill
