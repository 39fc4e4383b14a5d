"""Alarms of discovery: scheduled sources that do not run, fail, or find too little.

Sources that are not scheduled raise no alarms.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta

from assay.serve.operations.alarm import Alarm, AlarmCode
from assay.store.discovery.sources import DiscoveryFacts, SourceRecord

FAILING_AFTER = 3
DARK_AFTER = 3
ENOUGH = 0.8
# The crawler checks for due sources at least every 30 seconds; a longer delay means that none is running.
LATE = timedelta(minutes=5)


def discovery_alarms(facts: DiscoveryFacts, now: datetime) -> Iterator[Alarm]:
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
        summary = f"Only {coverage.covered:,} of {coverage.known:,} known repositories were found recently"
        yield Alarm(
            AlarmCode.DISCOVERY_COVERAGE, f"{summary}. Missing, for example: {', '.join(coverage.missing[:3])}."
        )


def _overdue(source: SourceRecord, now: datetime) -> Iterator[Alarm]:
    is_running = source.lease_until is not None and source.lease_until > now
    if not is_running and now - source.next_run_at > LATE:
        late = round((now - source.next_run_at) / timedelta(minutes=1))
        summary = f"The discovery source `{source.name}` is overdue by {late:,} min."
        yield Alarm(AlarmCode.DISCOVERY_OVERDUE, summary, source.name, source.next_run_at + LATE)


def _failing(source: SourceRecord) -> Iterator[Alarm]:
    if source.failures >= FAILING_AFTER:
        summary = f"The discovery source `{source.name}` has failed {source.failures} times in a row: {source.problem}"
        yield Alarm(AlarmCode.DISCOVERY_FAILING, summary, source.name)


def _floor(source: SourceRecord, now: datetime) -> Iterator[Alarm]:
    last, floor = source.new_at or source.known_since, timedelta(seconds=source.floor_seconds)
    if now - last > floor:
        hours = round((now - last) / timedelta(hours=1))
        summary = f"The discovery source `{source.name}` has found nothing new for {hours:,} h."
        yield Alarm(AlarmCode.DISCOVERY_FLOOR, summary, source.name, last + floor)


def _dark(source: SourceRecord) -> Iterator[Alarm]:
    if source.flat_runs >= DARK_AFTER:
        summary = f"The last {source.flat_runs} runs of the discovery source `{source.name}` found nothing."
        yield Alarm(AlarmCode.SOURCE_DARK, summary, source.name, source.found_at)


def _blind(source: SourceRecord) -> Iterator[Alarm]:
    """Alarm if a check for known results failed, or if a complete run found none of what earlier runs had found."""
    lost_all = source.shows_all and source.is_through and source.known_ever > 0 and source.known_now == 0
    if source.sees is False or lost_all:
        summary = f"The discovery source `{source.name}` does not find results that are known to exist."
        yield Alarm(AlarmCode.DISCOVERY_BLIND, summary, source.name)


def _cut(source: SourceRecord) -> Iterator[Alarm]:
    if source.cut:
        summary = f"The service behind the discovery source `{source.name}` withheld {source.cut:,} results."
        yield Alarm(AlarmCode.DISCOVERY_CUT, summary, source.name)
