"""What GitHub still allows as Prometheus metrics. Tokens are known by their keys, which say nothing about them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from assay.model.call_budget import shown_key


@dataclass(frozen=True, eq=False)
class GitHubMetrics(Collector):
    """The calls of one moment, by key and resource. A window that is over has no number: nobody knows the next."""

    calls_left: Mapping[tuple[str, str], int]

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """By token and resource."""
        says = "Calls of a token that no process has taken yet in the present window."
        left = GaugeMetricFamily("assay_github_calls_left", says, labels=["token", "resource"])
        for (key, resource), calls in self.calls_left.items():
            left.add_metric([shown_key(key), resource], calls)
        yield left
