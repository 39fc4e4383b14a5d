"""The table of contents of everything that recurs: what, how often, and how long it may take."""

from functools import partial

import structlog
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.deepscan.schedule import CATCH_UP, GIVE_BACK, catch_up, give_back_silent
from assay.maintenance.replay_ruleset import FIND_STALE, find_stale_verdicts
from assay.model.clock import Clock
from assay.moderation.suppress import end_overdue
from assay.queue.rescue import RESCUE_ORPHANS, rescue_held_jobs, rescue_orphans
from assay.runtime.periodic import Chore
from assay.serve.operations.alarm import Code
from assay.serve.operations.alarms import RECONCILE, WATCH, raise_alarms
from assay.serve.operations.facts import WatchLimits, read_facts
from assay.serve.skills.search_probe import PROBE, probe_search
from assay.store.feed.changes import number_changes
from assay.store.operations.alarms import keep_alarms
from assay.store.operations.expire import forget_old_records
from assay.store.skills.installs import fold_installs
from assay.store.submissions.counts import fold_counts
from assay.store.submissions.reconcile import correct_counts

log = structlog.get_logger()


def all_chores(limits: WatchLimits, clock: Clock, ruleset: str) -> tuple[Chore, ...]:
    """Every worker runs all of them; a lock in the database makes that one at a time. What other rules than those of
    this ruleset have said is stale.
    """
    dispatching = partial(catch_up, tools=limits.deep_tools, lease=limits.deep_lease, clock=clock)
    return (
        Chore("number changes", every_seconds=5, budget_seconds=15, work=number_changes),
        Chore("fold installs", every_seconds=60, budget_seconds=60, work=partial(count_installs, clock=clock)),
        Chore("fold counts", every_seconds=10, budget_seconds=30, work=fold_counts),
        Chore("rescue held jobs", every_seconds=30, budget_seconds=20, work=rescue_held_jobs),
        Chore(RESCUE_ORPHANS, every_seconds=30, budget_seconds=20, work=partial(rescue_orphans, now=clock.now)),
        Chore(WATCH, every_seconds=30, budget_seconds=20, work=partial(watch_queue, limits=limits, clock=clock)),
        Chore("end suppressions", every_seconds=60, budget_seconds=30, work=partial(end_suppressions, clock=clock)),
        Chore(PROBE, every_seconds=60, budget_seconds=60, work=probe_search),
        Chore(FIND_STALE, every_seconds=60, budget_seconds=30, work=partial(find_stale_verdicts, ruleset=ruleset)),
        Chore("forget old records", every_seconds=60, budget_seconds=30, work=forget_old_records),
        Chore(GIVE_BACK, every_seconds=30, budget_seconds=20, work=partial(give_back_silent, clock=clock)),
        Chore(CATCH_UP, every_seconds=60, budget_seconds=30, work=dispatching),
        Chore(RECONCILE, every_seconds=900, budget_seconds=120, work=reconcile_counts),
    )


async def count_installs(db: AsyncConnection, *, clock: Clock) -> int:
    """Fold the reports of installs into the numbers of listings; returns how many listings changed."""
    return await fold_installs(db, clock.now().date())


async def end_suppressions(db: AsyncConnection, *, clock: Clock) -> int:
    """Let the findings count again whose suppression is over; returns how many suppressions ended."""
    return await end_overdue(db, clock.now())


async def reconcile_counts(db: AsyncConnection) -> int:
    """Make the counters agree with a full count; returns by how much they were off, which raises an alarm."""
    added = await correct_counts(db)
    if added:
        log.error("Counters were wrong and have been corrected", differences=dict(added))
    return sum(abs(number) for number in added.values())


async def watch_queue(db: AsyncConnection, *, limits: WatchLimits, clock: Clock) -> int:
    """Keep the alarms that hold; each is logged when it begins and when it is over. Returns how many hold."""
    facts = await read_facts(db, clock.now(), limits)
    alarms = {alarm.key: alarm for alarm in raise_alarms(facts, limits) if alarm.code is not Code.DETECTOR_BLIND}
    raised, cleared = await keep_alarms(db, {key: alarm.message for key, alarm in alarms.items()})
    for key in sorted(raised):
        tell = log.error if alarms[key].is_problem else log.info
        tell(f"Alarm: {alarms[key].message}", alarm=key)
    for key in sorted(cleared):
        log.info("An alarm is over", alarm=key)
    return len(alarms)
