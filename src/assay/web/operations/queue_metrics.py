"""The health of the queue as Prometheus metrics: the same facts as `/api/v1/queue/health`."""

from collections.abc import Iterator
from datetime import datetime

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from assay.llm.prices import MICROS
from assay.serve.operations.alarm import Code
from assay.serve.operations.alarms import is_alive, is_overdue
from assay.serve.queue.health import QueueHealth
from assay.serve.queue.stages import STAGES
from assay.web.queue.present import short_name


class QueueMetrics(Collector):
    """The gauges of one moment."""

    def __init__(self, health: QueueHealth) -> None:
        self._health = health
        self._facts = health.facts

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Every number that an alert rule may want."""
        yield from self._backlog()
        yield from self._alarms()
        yield from self._chores()
        yield from self._processes()
        yield from self._search()
        yield from self._judge()
        yield from self._deep_scans()

    def _backlog(self) -> Iterator[GaugeMetricFamily]:
        facts = self._facts
        oldest = facts.oldest_waiting
        waited = (facts.now - oldest.received_at).total_seconds() if oldest else 0
        yield _gauge("assay_waiting", "Submissions that wait for a worker.", facts.waiting)
        yield _gauge("assay_oldest_waiting_seconds", "How long the oldest of them has waited.", waited)
        # Where there are no sources, none waits.
        unseen = facts.now - (facts.sources.oldest_seen_at or facts.now)
        told = "Since the source that waited longest was last seen."
        yield _gauge("assay_oldest_source_seconds", told, unseen.total_seconds())
        yield _gauge("assay_stuck", "Stuck submissions, counted up to 1000 a state.", facts.stuck.total)
        yield _gauge("assay_orphaned", "Active submissions found without a job.", len(facts.orphans))
        yield _gauge("assay_corrupt_jobs", "Jobs that cannot be read.", len(facts.unreadable_jobs))
        yield _gauge("assay_paused", "Whether the queue is paused.", facts.pause is not None)
        yield _gauge("assay_decided_last_hour", "Submissions decided in the last hour.", facts.flow.drain.last_1h)
        stages = _family("assay_stage_last_hour", "Submissions that came through a stage in the last hour.", "stage")
        for stage in STAGES:
            stages.add_metric([stage.name], stage.count(facts.flow.last_1h))
        yield stages

    def _alarms(self) -> Iterator[GaugeMetricFamily]:
        raised = [each.alarm.code for each in self._health.alarms]
        alarms = _family("assay_alarm", "How many alarms of this code are raised.", "code")
        for code in Code:
            alarms.add_metric([code.value], raised.count(code))
        yield alarms

    def _chores(self) -> Iterator[GaugeMetricFamily]:
        last = _family("assay_chore_last_success_timestamp_seconds", "When a chore last succeeded.", "chore")
        overdue = _family("assay_chore_overdue", "Whether a chore should have succeeded by now.", "chore")
        failures = _family("assay_chore_failures", "How often a chore has failed since it last succeeded.", "chore")
        for chore in self._facts.chores:
            name = [chore.rhythm.name]
            if chore.succeeded_at is not None:  # one that never did has no time, and is overdue before long
                last.add_metric(name, _seconds(chore.succeeded_at))
            overdue.add_metric(name, is_overdue(chore, self._facts.now))
            failures.add_metric(name, chore.failures)
        yield from (last, overdue, failures)

    def _processes(self) -> Iterator[GaugeMetricFamily]:
        seen = _family("assay_process_seen_timestamp_seconds", "When a process was last seen.", "process", "kind")
        in_flight = _family("assay_process_in_flight", "Jobs that a worker is working on.", "process", "kind")
        alive = _family("assay_processes_alive", "Processes seen lately.", "kind")
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
        yield _gauge("assay_search_probes", "How often a listed skill was searched for by the registry.", record.probed)
        yield _gauge("assay_search_probe_misses", "How often it was not found.", record.missed)
        yield _gauge("assay_search_missed", "Listed skills that are not found, counted up to 1000.", record.open)
        if record.probed_at is not None:
            says = "When the registry last searched for its own skills."
            yield _gauge("assay_search_probe_timestamp_seconds", says, _seconds(record.probed_at))

    def _judge(self) -> Iterator[GaugeMetricFamily]:
        judge = self._facts.judge
        yield _gauge("assay_judge_spent_today", "What the judge has spent today (UTC).", judge.spent_micros / MICROS)
        yield _gauge("assay_judge_calls_today", "Questions to the model today.", judge.calls)
        yield _gauge("assay_judge_failures", "How often the model has failed in a row.", judge.failures)
        yield _gauge("assay_second_looks", "Contents that wait for a second look, up to 1000.", judge.second_looks)

    def _deep_scans(self) -> Iterator[GaugeMetricFamily]:
        facts, deep = self._facts, self._facts.deep
        waited = (facts.now - deep.oldest).total_seconds() if deep.oldest else 0
        yield _gauge("assay_deep_scans_waiting", "Deep scans that wait for a node, counted up to 1000.", deep.waiting)
        yield _gauge("assay_deep_scans_oldest_seconds", "How long the oldest of them has waited.", waited)
        yield _gauge("assay_deep_scans_running", "Deep scans that a node works on, up to 1000.", deep.running)
        yield _gauge("assay_deep_scans_failed_last_hour", "Deep scans given up in the last hour.", deep.failed)
        yield _gauge("assay_scan_nodes_alive", "Scan nodes seen lately.", len(self._health.live_nodes))
        failures = sum(node.push_failures for node in facts.nodes)
        yield _gauge("assay_scan_node_push_failures", "Pushes to known nodes that failed; they pull.", failures)


def _gauge(name: str, says: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(name, says, float(value))


def _family(name: str, says: str, *labels: str) -> GaugeMetricFamily:
    return GaugeMetricFamily(name, says, labels=labels)


def _seconds(moment: datetime) -> float:
    return moment.timestamp()
