"""The table of all periodic jobs, with their intervals and time limits."""

from functools import partial

import structlog
from obstore.store import ObjectStore
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.deepscan.schedule import DISPATCH_JOB, RELEASE_JOB, dispatch_unscanned, release_expired_scans
from assay.maintenance.collect_blobs import COLLECT_BLOBS, FIND_UNKNOWN_BLOBS, collect_blobs, find_unknown_blobs
from assay.maintenance.replay_ruleset import FIND_STALE, find_stale_verdicts
from assay.maintenance.search_probe import PROBE, probe_search
from assay.model.clock import Clock
from assay.moderation.suppress import end_expired_suppressions
from assay.queue.rescue import RESCUE_ORPHANS, rescue_held_jobs, rescue_orphans
from assay.runtime.periodic import PeriodicJob
from assay.serve.operations.alarm import AlarmCode
from assay.serve.operations.alarms import RECONCILE, WATCH, raise_alarms
from assay.serve.operations.facts import WatchLimits, read_facts
from assay.store.feed.changes import number_changes
from assay.store.operations.alarms import replace_alarms
from assay.store.operations.expire import delete_expired_records
from assay.store.skills.installs import fold_installs
from assay.store.submissions.counts import correct_counts, fold_counts

log = structlog.get_logger()


def periodic_jobs(limits: WatchLimits, clock: Clock, ruleset: str, blob_store: ObjectStore) -> tuple[PeriodicJob, ...]:
    """Return all periodic jobs. Every worker runs them; a lock in the database ensures one process at a time."""
    dispatching = partial(dispatch_unscanned, tools=limits.deep_tools, lease=limits.deep_lease, clock=clock)
    return (
        PeriodicJob("number changes", every_seconds=5, budget_seconds=15, work=number_changes),
        PeriodicJob("fold installs", every_seconds=60, budget_seconds=60, work=partial(count_installs, clock=clock)),
        PeriodicJob("fold counts", every_seconds=10, budget_seconds=30, work=fold_counts),
        PeriodicJob("rescue held jobs", every_seconds=30, budget_seconds=20, work=rescue_held_jobs),
        PeriodicJob(RESCUE_ORPHANS, every_seconds=30, budget_seconds=20, work=partial(rescue_orphans, now=clock.now)),
        PeriodicJob(WATCH, every_seconds=30, budget_seconds=20, work=partial(watch_queue, limits=limits, clock=clock)),
        PeriodicJob(
            "end suppressions", every_seconds=60, budget_seconds=30, work=partial(end_suppressions, clock=clock)
        ),
        PeriodicJob(PROBE, every_seconds=60, budget_seconds=60, work=probe_search),
        PeriodicJob(
            FIND_STALE, every_seconds=60, budget_seconds=30, work=partial(find_stale_verdicts, ruleset=ruleset)
        ),
        PeriodicJob("forget old records", every_seconds=60, budget_seconds=30, work=delete_expired_records),
        PeriodicJob(RELEASE_JOB, every_seconds=30, budget_seconds=20, work=partial(release_expired_scans, clock=clock)),
        PeriodicJob(DISPATCH_JOB, every_seconds=60, budget_seconds=30, work=dispatching),
        # Below the statement timeout: saving a blob that is being collected waits for the job.
        PeriodicJob(COLLECT_BLOBS, every_seconds=60, budget_seconds=12, work=partial(collect_blobs, store=blob_store)),
        PeriodicJob(
            FIND_UNKNOWN_BLOBS,
            every_seconds=300,
            budget_seconds=50,
            work=partial(find_unknown_blobs, store=blob_store),
        ),
        PeriodicJob(RECONCILE, every_seconds=900, budget_seconds=120, work=reconcile_counts),
    )


async def count_installs(db: AsyncConnection, *, clock: Clock) -> int:
    """Add reported installs to the counters of listings; return the number of changed listings."""
    return await fold_installs(db, clock.now().date())


async def end_suppressions(db: AsyncConnection, *, clock: Clock) -> int:
    """End expired suppressions; return their number."""
    return await end_expired_suppressions(db, clock.now())


async def reconcile_counts(db: AsyncConnection) -> int:
    """Correct the counters by a full count; return the sum of the differences, which raises an alarm."""
    added = await correct_counts(db)
    if added:
        log.error("Corrected wrong counters", differences=dict(added))
    return sum(abs(number) for number in added.values())


async def watch_queue(db: AsyncConnection, *, limits: WatchLimits, clock: Clock) -> int:
    """Store the raised alarms, log those that start or end, and return the number of raised ones."""
    facts = await read_facts(db, clock.now(), limits)
    alarms = {alarm.key: alarm for alarm in raise_alarms(facts, limits) if alarm.code is not AlarmCode.DETECTOR_BLIND}
    raised, cleared = await replace_alarms(db, {key: alarm.message for key, alarm in alarms.items()})
    for key in sorted(raised):
        tell = log.error if alarms[key].is_problem else log.info
        tell(f"Alarm: {alarms[key].message}", alarm=key)
    for key in sorted(cleared):
        log.info("Alarm cleared", alarm=key)
    return len(alarms)
