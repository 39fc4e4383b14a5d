"""Prometheus metrics of the queue, discovery, the edge copy and GitHub rate limits."""

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from assay.edge.kv import Edge
from assay.llm.prices import MICROS
from assay.model.errors import Unavailable
from assay.model.github import short_key
from assay.serve.operations.alarm import AlarmCode
from assay.serve.operations.alarms import is_alive, is_overdue
from assay.serve.operations.edge_copy import Repairs
from assay.serve.queue.flow import STAGES
from assay.serve.queue.health import QueueHealth
from assay.store.discovery.sources import DiscoveryFacts
from assay.store.feed.edge_rows import Lag, read_lag
from assay.web.queue.json import short_name

EDGE_TIMEOUT_SECONDS = 2


class QueueMetrics(Collector):
    """Gauges of the values that `/api/v1/queue/health` reports."""

    def __init__(self, health: QueueHealth) -> None:
        self._health = health
        self._facts = health.facts

    def collect(self) -> Iterator[GaugeMetricFamily]:
        yield from self._backlog()
        yield from self._alarms()
        yield from self._periodic_jobs()
        yield from self._processes()
        yield from self._search()
        yield from self._judge()
        yield from self._deep_scans()

    def _backlog(self) -> Iterator[GaugeMetricFamily]:
        facts = self._facts
        oldest = facts.oldest_waiting
        waited = (facts.now - oldest.received_at).total_seconds() if oldest else 0
        yield _gauge("assay_waiting", "Submissions waiting for a worker.", facts.waiting)
        yield _gauge("assay_oldest_waiting_seconds", "Age of the oldest waiting submission.", waited)
        # Zero if no upstream repository is watched.
        unseen = facts.now - (facts.sources.oldest_seen_at or facts.now)
        text = "Time since the least recently checked upstream repository was checked."
        yield _gauge("assay_oldest_source_seconds", text, unseen.total_seconds())
        yield _gauge("assay_stuck", "Stuck submissions, counted up to 1,000 per state.", facts.stuck.total)
        yield _gauge("assay_orphaned", "Active submissions without a job.", len(facts.orphans))
        yield _gauge("assay_corrupt_jobs", "Jobs that cannot be decoded.", len(facts.unreadable_jobs))
        yield _gauge("assay_paused", "1 if the queue is paused.", facts.pause is not None)
        yield _gauge("assay_decided_last_hour", "Submissions decided in the last hour.", facts.flow.drain.last_1h)
        stages = _family("assay_stage_last_hour", "Submissions that passed a stage in the last hour.", "stage")
        for stage in STAGES:
            stages.add_metric([stage.name], stage.count(facts.flow.last_1h))
        yield stages

    def _alarms(self) -> Iterator[GaugeMetricFamily]:
        raised = [each.alarm.code for each in self._health.alarms]
        alarms = _family("assay_alarm", "Raised alarms by code.", "code")
        for code in AlarmCode:
            alarms.add_metric([code.value], raised.count(code))
        yield alarms

    def _periodic_jobs(self) -> Iterator[GaugeMetricFamily]:
        last = _family("assay_chore_last_success_timestamp_seconds", "Last success of a periodic job.", "chore")
        overdue = _family("assay_chore_overdue", "1 if a periodic job is overdue.", "chore")
        failures = _family("assay_chore_failures", "Failures of a periodic job since its last success.", "chore")
        amount = _family("assay_chore_amount", "Items that a periodic job processed in its last run.", "chore")
        for chore in self._facts.periodic_jobs:
            name = [chore.schedule.name]
            if chore.succeeded_at is not None:  # A job that never succeeded has no sample; the overdue gauge covers it.
                last.add_metric(name, _seconds(chore.succeeded_at))
            overdue.add_metric(name, is_overdue(chore, self._facts.now))
            failures.add_metric(name, chore.failures)
            if chore.amount is not None:
                amount.add_metric(name, chore.amount)
        yield from (last, overdue, failures, amount)

    def _processes(self) -> Iterator[GaugeMetricFamily]:
        seen = _family("assay_process_seen_timestamp_seconds", "Last heartbeat of a process.", "process", "kind")
        in_flight = _family("assay_process_in_flight", "Jobs that a worker is running.", "process", "kind")
        alive = _family("assay_processes_alive", "Processes with a recent heartbeat.", "kind")
        numbers = dict.fromkeys(("web", "worker"), 0)
        for process in self._facts.processes:
            seen.add_metric([short_name(process), process.kind], _seconds(process.seen_at))
            if is_alive(process, self._facts.now, self._health.limits):
                in_flight.add_metric([short_name(process), process.kind], process.in_flight)
                numbers[process.kind] = numbers.get(process.kind, 0) + 1
        for kind, number in numbers.items():
            alive.add_metric([kind], number)
        yield from (seen, in_flight, alive)

    def _search(self) -> Iterator[GaugeMetricFamily]:
        record = self._facts.search
        yield _gauge("assay_search_probes", "Self-tests that searched for a listed skill.", record.probed)
        yield _gauge("assay_search_probe_misses", "Search self-tests that missed the skill.", record.missed)
        yield _gauge("assay_search_missed", "Listed skills that search misses, counted up to 1,000.", record.open)
        if record.probed_at is not None:
            timestamp = _seconds(record.probed_at)
            yield _gauge("assay_search_probe_timestamp_seconds", "Time of the last search self-test.", timestamp)

    def _judge(self) -> Iterator[GaugeMetricFamily]:
        judge = self._facts.judge
        yield _gauge("assay_judge_spent_today", "Cost of the judge today (UTC).", judge.spent_micros / MICROS)
        yield _gauge("assay_judge_calls_today", "Calls to the judge's model today (UTC).", judge.calls)
        yield _gauge("assay_judge_failures", "Consecutive failures of the judge's model.", judge.failures)
        text = "Contents waiting for a judgement or rescan, counted up to 1,000."
        yield _gauge("assay_second_looks", text, judge.second_looks)

    def _deep_scans(self) -> Iterator[GaugeMetricFamily]:
        facts, deep = self._facts, self._facts.deep
        waited = (facts.now - deep.oldest).total_seconds() if deep.oldest else 0
        yield _gauge("assay_deep_scans_waiting", "Deep scans waiting for a node, counted up to 1,000.", deep.waiting)
        yield _gauge("assay_deep_scans_oldest_seconds", "Age of the oldest waiting deep scan.", waited)
        yield _gauge("assay_deep_scans_running", "Running deep scans, counted up to 1,000.", deep.running)
        yield _gauge(
            "assay_deep_scans_failed_last_hour", "Deep scans that failed for good in the last hour.", deep.failed
        )
        yield _gauge("assay_scan_nodes_alive", "Scan nodes with a recent heartbeat.", len(self._health.live_nodes))
        failures = sum(node.push_failures for node in facts.nodes)
        yield _gauge(
            "assay_scan_node_push_failures", "Failed pushes to registered scan nodes, which also pull.", failures
        )


class DiscoveryMetrics(Collector):
    """Gauges of the discovery sources and their coverage."""

    def __init__(self, facts: DiscoveryFacts) -> None:
        self._facts = facts

    def collect(self) -> Iterator[GaugeMetricFamily]:
        coverage = self._facts.coverage
        yield _gauge("assay_discovery_coverage", "Share of known repositories found in the last week.", coverage.share)
        yield _gauge("assay_discovery_known", "Known repositories that discovery should find.", coverage.known)
        runs = _family("assay_discovery_runs", "Runs of a source.", "source")
        found = _family("assay_discovery_found", "Repositories that a source returned, including known ones.", "source")
        failures = _family("assay_discovery_failures", "Consecutive failed runs of a source.", "source")
        cut = _family("assay_discovery_cut", "Results that a source's service withheld in a cycle.", "source")
        next_run = _family("assay_discovery_next_run_timestamp_seconds", "Next run of a source.", "source")
        text = "Last time a source found a new repository."
        new = _family("assay_discovery_last_new_timestamp_seconds", text, "source")
        for source in self._facts.sources:
            label = [source.name]
            runs.add_metric(label, source.runs)
            found.add_metric(label, source.found)
            failures.add_metric(label, source.failures)
            cut.add_metric(label, source.cut)
            next_run.add_metric(label, _seconds(source.next_run_at))
            if source.new_at is not None:
                new.add_metric(label, _seconds(source.new_at))
        yield from (runs, found, failures, cut, next_run, new)


@dataclass(frozen=True, eq=False)
class EdgeMetrics(Collector):
    """Metrics of the edge copy; `lag` is None if it is unavailable."""

    lag: Lag | None
    serial: int
    repairs: Repairs

    def collect(self) -> Iterator[Metric]:
        yield _gauge("assay_edge_up", "1 if the edge copy is available.", self.lag is not None)
        if self.lag is not None:
            since = self.lag.since
            seconds = (self.lag.now - since).total_seconds() if since else 0.0
            yield _gauge("assay_edge_serial", "Serial of the last change applied to the edge copy.", self.serial)
            yield _gauge("assay_edge_lag_changes", "Changes not yet applied to the edge copy.", self.lag.waiting)
            yield _gauge("assay_edge_lag_seconds", "Age of the oldest change not yet applied.", max(0.0, seconds))
        yield CounterMetricFamily(
            "assay_edge_index_differences",
            "Times that the index and the keys of the edge copy differed.",
            self.repairs.differences,
        )
        yield CounterMetricFamily("assay_edge_index_repairs", "Repairs of the edge index.", self.repairs.repairs)


async def read_edge_metrics(db: Any, edge: Edge, repairs: Repairs) -> EdgeMetrics:
    """Return the metrics of the edge copy; reports `assay_edge_up` 0 instead of raising if it is unavailable."""
    try:
        async with asyncio.timeout(EDGE_TIMEOUT_SECONDS):
            serial = await edge.read_serial()
    except (Unavailable, TimeoutError):
        return EdgeMetrics(None, 0, repairs)
    return EdgeMetrics(await read_lag(db, serial), serial, repairs)


@dataclass(frozen=True, eq=False)
class GitHubMetrics(Collector):
    """Calls left by token and resource. Tokens are labelled by a key that does not reveal them.

    A rate limit window that has ended has no sample, because the size of the next one is unknown.
    """

    calls_left: Mapping[tuple[str, str], int]

    def collect(self) -> Iterator[GaugeMetricFamily]:
        text = "GitHub API calls of a token that no process has reserved in the current rate limit window."
        left = _family("assay_github_calls_left", text, "token", "resource")
        for (key, resource), calls in self.calls_left.items():
            left.add_metric([short_key(key), resource], calls)
        yield left


def _gauge(name: str, text: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(name, text, float(value))


def _family(name: str, text: str, *labels: str) -> GaugeMetricFamily:
    return GaugeMetricFamily(name, text, labels=labels)


def _seconds(moment: datetime) -> float:
    return moment.timestamp()
