"""Discovery as Prometheus metrics: the same facts as `/api/v1/queue/health`."""

from collections.abc import Iterator

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from assay.store.discovery.sources import DiscoveryFacts


class DiscoveryMetrics(Collector):
    """The gauges of one moment."""

    def __init__(self, facts: DiscoveryFacts) -> None:
        self._facts = facts

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """By source, and what all of them cover."""
        coverage = self._facts.coverage
        yield GaugeMetricFamily("assay_discovery_coverage", "Share of known repositories found lately.", coverage.share)
        yield GaugeMetricFamily("assay_discovery_known", "Repositories that discovery must find.", coverage.known)
        runs = _family("assay_discovery_runs", "Runs of a source.")
        found = _family("assay_discovery_found", "Repositories that a source has shown, known ones included.")
        failures = _family("assay_discovery_failures", "How often a source has failed in a row.")
        cut = _family("assay_discovery_cut", "Results that a source's service has and did not show in a cycle.")
        next_run = _family("assay_discovery_next_run_timestamp_seconds", "When a source runs again.")
        new = _family("assay_discovery_last_new_timestamp_seconds", "When a source last found something new.")
        for source in self._facts.sources:
            label = [source.name]
            runs.add_metric(label, source.runs)
            found.add_metric(label, source.found)
            failures.add_metric(label, source.failures)
            cut.add_metric(label, source.cut)
            next_run.add_metric(label, source.next_run_at.timestamp())
            if source.new_at is not None:
                new.add_metric(label, source.new_at.timestamp())
        yield from (runs, found, failures, cut, next_run, new)


def _family(name: str, says: str) -> GaugeMetricFamily:
    return GaugeMetricFamily(name, says, labels=["source"])
