"""What looks again at what is out, and from when on something is wrong."""

from collections.abc import Sequence
from datetime import timedelta

from assay.app.app import App
from assay.app.worker import policy_of, scanner_options
from assay.deepscan.push import Pusher
from assay.edge_sync.rebuild import Backfill
from assay.llm.passes import PROMPT
from assay.maintenance.replay_ruleset import Replay
from assay.maintenance.rescan_published import SecondLook
from assay.maintenance.watch_upstream import Watch
from assay.model.errors import Unavailable
from assay.model.judgement import ENGINE_PREFIX
from assay.model.skill import Skill
from assay.model.submission import ACTIVE, State
from assay.pipeline import Tools
from assay.scan.scan import ENGINE
from assay.serve.operations.facts import WatchLimits
from assay.settings import Settings
from assay.submit.restore_listing import submit_lost


def open_replay(app: App) -> Replay:
    """What tries another ruleset on what is published."""
    settings = app.settings
    judge = (f"{ENGINE_PREFIX}{settings.llm_model}", PROMPT) if settings.llm_model else None
    return Replay(app.store, app.blobs, policy_of(settings), judge, scanner_options(settings))


def open_second_look(app: App, tools: Tools) -> SecondLook:
    """What weighs again what is out."""
    return SecondLook(
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


def open_watch(app: App) -> Watch:
    """What compares listings with their sources."""
    return Watch(app.store, app.github, app.clock, timedelta(seconds=app.settings.watch_seconds), git=app.git)


def open_pusher(app: App) -> Pusher:
    """What pushes scans to the nodes that have an address."""
    if app.settings.webhook_secret is None:
        raise Unavailable("ASSAY_WEBHOOK_SECRET is not set, so nothing can be pushed.", code="secret_missing")
    secret = app.settings.webhook_secret.get_secret_value()
    return Pusher(app.store, app.github.session, secret, app.clock, app.settings.deep_scan_lease_seconds)


def watch_limits(settings: Settings) -> WatchLimits:
    """From when on something is wrong with the queue."""
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


def backfill_of(app: App, by: str) -> Backfill:
    """How a rebuild submits what only the edge copy knows."""

    async def backfill(lost: Sequence[Skill]) -> int:
        async with app.store.begin() as db:
            return await submit_lost(db, lost, by=by)

    return backfill
