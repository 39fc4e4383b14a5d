"""The JSON of what external tools say of a version."""

from collections.abc import Sequence
from datetime import datetime

from assay.model.deep_scan import DeepScan, DeepStatus, DeepTool
from assay.web.http.json import FindingView, View
from assay.web.http.present import present_finding


class DeepScanView(View, frozen=True):
    """What one tool says. `clean` is said only by a tool that has looked; with `pending`, `running` and `error` it has
    not, and with `not_applicable` there was nothing for it. `leftOut` findings are not shown. `sandbox` names what the
    machine it ran on could not forbid it.
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
    """What each tool says; None where that is not known."""
    return None if scans is None else [present_deep_scan(scan) for scan in scans]


def present_deep_scan(scan: DeepScan) -> DeepScanView:
    """One scan."""
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
