"""JSON of deep scans, scan nodes and the judge."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from assay.deepscan.messages import DispatchedScan
from assay.llm.prices import MICROS
from assay.model.deep_scan import DeepScan, DeepStatus, DeepTool
from assay.serve.queue.health import QueueHealth
from assay.store.scans.scan_nodes import ScanNode
from assay.web.findings.json import FindingView, present_finding
from assay.web.http.json import View


class DeepScanView(View, frozen=True):
    """The result of one tool. Only `clean` means that the tool ran and found nothing; `pending`, `running` and `error`
    are no result, and `not_applicable` means that there was nothing to scan. `leftOut` counts findings that are not
    listed. `sandbox` names restrictions that the scan node could not enforce.
    """

    tool: DeepTool
    tool_version: str | None
    status: DeepStatus
    findings: list[FindingView]
    left_out: int
    error: str | None
    attempts: int
    created_at: datetime
    finished_at: datetime | None
    sandbox: dict[str, str]


def present_deep_scans(scans: Sequence[DeepScan] | None) -> list[DeepScanView] | None:
    """Present the scans, or None if they are unknown."""
    return None if scans is None else [present_deep_scan(scan) for scan in scans]


def present_deep_scan(scan: DeepScan) -> DeepScanView:
    return DeepScanView(
        tool=scan.tool,
        tool_version=scan.tool_version,
        status=scan.status,
        findings=[present_finding(finding) for finding in scan.findings],
        left_out=scan.left_out,
        error=scan.error,
        attempts=scan.attempts,
        created_at=scan.created_at,
        finished_at=scan.finished_at,
        sandbox=dict(scan.sandbox),
    )


class PendingView(View, frozen=True):
    """Pending scans, and their number by tool, counted up to 10,000."""

    scans: list[DispatchedScan]
    waiting: dict[str, int]


class ReleasedView(View, frozen=True):
    """The number of scans that were released."""

    released: int


class RegisteredView(View, frozen=True):
    """The length of a lease, the number of scans whose lease was extended, and the tools that are enabled."""

    lease_seconds: int
    scans_kept: int
    tools: list[DeepTool]


class NodeView(View, frozen=True):
    """A scan node. `sandbox` names restrictions that its kernel cannot enforce; it should be empty."""

    id: UUID
    name: str
    url: str | None
    alive: bool
    capacity: int
    in_flight: int
    tools: dict[str, str]
    sandbox: dict[str, str]
    version: str
    push_failures: int
    seen_at: datetime


class NodesView(View, frozen=True):
    """Registered scan nodes."""

    nodes: list[NodeView]


def present_node(node: ScanNode, *, is_alive: bool) -> NodeView:
    return NodeView(
        id=node.id,
        name=node.name,
        url=node.url,
        alive=is_alive,
        capacity=node.capacity,
        in_flight=node.in_flight,
        tools=dict(node.tools),
        sandbox=dict(node.sandbox),
        version=node.version,
        push_failures=node.push_failures,
        seen_at=node.seen_at,
    )


class JudgeView(View, frozen=True):
    """The judge's model, cost and failures. `spentToday` is the amount paid or reserved today (UTC).

    `secondLooks` is the number of contents that wait for a judgement, counted up to 1,000.
    """

    model: str
    spent_today: float
    daily_budget: float | None
    stopped_at: datetime | None
    calls_today: int
    tokens_today: int
    failures_in_a_row: int
    last_answer_at: datetime | None
    second_looks: int
    oldest_second_look_at: datetime | None


def present_judge(health: QueueHealth) -> JudgeView | None:
    """Present the judge, or None if this registry has none."""
    limits, judge = health.limits, health.facts.judge
    if limits.judge_model is None:
        return None
    budget = limits.judge_budget_micros
    return JudgeView(
        model=limits.judge_model,
        spent_today=judge.spent_micros / MICROS,
        daily_budget=budget / MICROS if budget is not None else None,
        stopped_at=judge.stopped_at,
        calls_today=judge.calls,
        tokens_today=judge.tokens,
        failures_in_a_row=judge.failures,
        last_answer_at=judge.answered_at,
        second_looks=judge.second_looks,
        oldest_second_look_at=judge.oldest_second_look_at,
    )
