"""The copy at the edge as Prometheus metrics: whether it answers, how far it is behind, what was repaired."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from assay.edge.kv import Edge
from assay.model.errors import Unavailable
from assay.serve.operations.edge_copy import Repairs
from assay.store.feed.edge_rows import Lag, read_lag

WAIT_SECONDS = 2


@dataclass(frozen=True, eq=False)
class EdgeMetrics(Collector):
    """The numbers of one moment; without a lag the copy does not answer."""

    lag: Lag | None
    serial: int
    repairs: Repairs

    def collect(self) -> Iterator[Metric]:
        """What an alert rule may want."""
        yield GaugeMetricFamily("assay_edge_up", "Whether the edge copy answers.", float(self.lag is not None))
        if self.lag is not None:
            since = self.lag.since
            seconds = (self.lag.now - since).total_seconds() if since else 0.0
            yield GaugeMetricFamily("assay_edge_serial", "The last change that is in the edge copy.", self.serial)
            yield GaugeMetricFamily("assay_edge_lag_changes", "Changes it has not taken over.", self.lag.waiting)
            yield GaugeMetricFamily("assay_edge_lag_seconds", "How long the oldest of them waits.", max(0.0, seconds))
        yield CounterMetricFamily(
            "assay_edge_index_differences",
            "How often index and enumeration were found to differ.",
            self.repairs.differences,
        )
        yield CounterMetricFamily("assay_edge_index_repairs", "How often the index was repaired.", self.repairs.repairs)


async def read_edge_metrics(db: Any, edge: Edge, repairs: Repairs) -> EdgeMetrics:
    """A copy that is away is a number, and no reason to have none of the others."""
    try:
        async with asyncio.timeout(WAIT_SECONDS):
            serial = await edge.read_serial()
    except (Unavailable, TimeoutError):
        return EdgeMetrics(None, 0, repairs)
    return EdgeMetrics(await read_lag(db, serial), serial, repairs)
