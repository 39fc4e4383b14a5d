"""Discovery that has gone blind, said aloud: sources that do not run, fail, find nothing new, nothing, or too little.

Only sources that are scheduled are missed. What nobody looks for cannot be found missing.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta

from assay.serve.operations.alarm import Alarm, Code
from assay.store.discovery.sources import DiscoveryFacts, SourceRecord

FAILING_AFTER = 3
DARK_AFTER = 3
ENOUGH = 0.8
# A runner looks every half minute at the latest; who is late by more than this is not there.
LATE = timedelta(minutes=5)


def discovery_alarms(facts: DiscoveryFacts, now: datetime) -> Iterator[Alarm]:
    """Every condition that holds."""
    scheduled = [source for source in facts.sources if source.is_scheduled]
    for source in scheduled:
        yield from _overdue(source, now)
        yield from _failing(source)
        yield from _floor(source, now)
        yield from _dark(source)
        yield from _blind(source)
        yield from _cut(source)
    coverage = facts.coverage
    if coverage.share < ENOUGH and any(source.shows_all and source.completed_at for source in scheduled):
        finding = f"{coverage.covered:,} of {coverage.known:,} known repositories were found lately"
        yield Alarm(Code.DISCOVERY_COVERAGE, f"{finding}; missing: {', '.join(coverage.missing[:3])}.")


def _overdue(source: SourceRecord, now: datetime) -> Iterator[Alarm]:
    is_running = source.lease_until is not None and source.lease_until > now
    if not is_running and now - source.next_run_at > LATE:
        late = round((now - source.next_run_at) / timedelta(minutes=1))
        finding = f"The source `{source.name}` should have run {late:,} min ago."
        yield Alarm(Code.DISCOVERY_OVERDUE, finding, source.name, source.next_run_at + LATE)


def _failing(source: SourceRecord) -> Iterator[Alarm]:
    if source.failures >= FAILING_AFTER:
        finding = f"The source `{source.name}` has failed {source.failures} times in a row: {source.problem}"
        yield Alarm(Code.DISCOVERY_FAILING, finding, source.name)


def _floor(source: SourceRecord, now: datetime) -> Iterator[Alarm]:
    last, floor = source.new_at or source.known_since, timedelta(seconds=source.floor_seconds)
    if now - last > floor:
        hours = round((now - last) / timedelta(hours=1))
        finding = f"The source `{source.name}` has found nothing new for {hours:,} h."
        yield Alarm(Code.DISCOVERY_FLOOR, finding, source.name, last + floor)


def _dark(source: SourceRecord) -> Iterator[Alarm]:
    if source.flat_runs >= DARK_AFTER:
        finding = f"The last {source.flat_runs} runs of the source `{source.name}` have found nothing at all."
        yield Alarm(Code.SOURCE_DARK, finding, source.name, source.found_at)


def _blind(source: SourceRecord) -> Iterator[Alarm]:
    """It did not see what is there; or it has shown everything, and nothing of what it once had."""
    lost_all = source.shows_all and source.is_through and source.known_ever > 0 and source.known_now == 0
    if source.sees is False or lost_all:
        yield Alarm(Code.DISCOVERY_BLIND, f"The source `{source.name}` does not find what is known.", source.name)


def _cut(source: SourceRecord) -> Iterator[Alarm]:
    if source.cut:
        finding = f"The source `{source.name}` was not shown {source.cut:,} of the results that there are."
        yield Alarm(Code.DISCOVERY_CUT, finding, source.name)
