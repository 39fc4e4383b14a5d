"""The health of the queue: its facts at one moment, and the alarms they raise."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.serve.operations.alarm import Alarm
from assay.serve.operations.alarms import raise_alarms
from assay.serve.operations.facts import QueueFacts, WatchLimits, read_facts
from assay.store.operations.alarms import list_alarms
from assay.store.scans.scan_nodes import ScanNode


@dataclass(frozen=True)
class RaisedAlarm:
    """An alarm, and the time since which it is known to hold."""

    alarm: Alarm
    since: datetime


@dataclass(frozen=True)
class QueueHealth:
    """Degraded means that an operator must act."""

    facts: QueueFacts
    limits: WatchLimits
    alarms: Sequence[RaisedAlarm]

    @property
    def live_nodes(self) -> list[ScanNode]:
        """Scan nodes seen recently enough to keep their scans."""
        return [node for node in self.facts.nodes if node.is_alive(self.facts.now, self.limits.deep_lease)]

    @property
    def is_degraded(self) -> bool:
        return any(raised.alarm.is_problem for raised in self.alarms)


async def read_queue_health(db: AsyncConnection, now: datetime, limits: WatchLimits) -> QueueHealth:
    """Compute the health from the current tables, so that it is right even if no worker monitors the queue."""
    facts = await read_facts(db, now, limits)
    noticed = await list_alarms(db)
    alarms = [RaisedAlarm(alarm, _since(alarm, noticed, now)) for alarm in raise_alarms(facts, limits)]
    return QueueHealth(facts, limits, alarms)


def _since(alarm: Alarm, noticed: Mapping[str, datetime], now: datetime) -> datetime:
    return alarm.since or noticed.get(alarm.key, now)
