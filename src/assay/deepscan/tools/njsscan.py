"""njsscan finds weaknesses in Node.js programs with its bundled rules."""

from pathlib import Path
from typing import Any

import msgspec

from assay.deepscan.excerpt import LONGEST_MESSAGE, LONGEST_NAME, printable_line
from assay.deepscan.install import environment_variables, installed_version
from assay.deepscan.tool import Tool, ToolFailed, ToolReport
from assay.deepscan.tools.semgrep import SemgrepError, add_errors
from assay.model.deep_scan import DeepTool
from assay.model.finding import Finding, Severity

KINDS = frozenset({"js", "ejs", "hbs", "pug", "vue"})
CANARY = ("canary.js", b"require('express')().get('/', (req, res) => { eval(req.query.canary) })\n")
SEVERITIES = {"ERROR": Severity.HIGH, "WARNING": Severity.MEDIUM, "INFO": Severity.LOW}
# Exploitable weaknesses rather than malicious intent, so they are left to a reviewer.
CONFIDENCE = 0.6
REPORT = "report.json"


class _NjsscanMatch(msgspec.Struct):
    """The matches of a rule in a file."""

    file_path: str
    match_lines: tuple[int, int]


class _NjsscanRule(msgspec.Struct):
    metadata: dict[str, Any]
    files: list[_NjsscanMatch] = []


class _NjsscanOutput(msgspec.Struct):
    """The used fields of its JSON report."""

    nodejs: dict[str, _NjsscanRule]
    templates: dict[str, _NjsscanRule]
    errors: list[SemgrepError | str]


def njsscan(folder: Path) -> Tool | None:
    """Return njsscan as installed in this environment, or None."""
    version, engine = installed_version(folder, "njsscan"), installed_version(folder, "semgrep")
    if version is None or engine is None:
        return None
    program = [str(folder / "bin" / "njsscan"), "--json", "--output"]
    return Tool(
        name=DeepTool.NJSSCAN,
        version=f"{version}+semgrep.{engine}",
        program=lambda workspace: [*program, str(workspace.scratch / REPORT), "."],
        read=read,
        # 1: there are findings.
        success_codes=frozenset({0, 1}),
        kinds=KINDS,
        canary=CANARY,
        environment=environment_variables(folder)
        | {"SEMGREP_SEND_METRICS": "off", "SEMGREP_ENABLE_VERSION_CHECK": "0"},
        readable=[folder],
        output_name=REPORT,
    )


def read(output: bytes) -> ToolReport:
    """Parse the report of njsscan."""
    try:
        decoded = msgspec.json.decode(output, type=_NjsscanOutput)
    except msgspec.DecodeError as error:
        raise ToolFailed(f"its report cannot be read: {error}") from None
    if messages := [error for error in decoded.errors if isinstance(error, str)]:
        raise ToolFailed(printable_line(messages[0], LONGEST_MESSAGE))
    report = ToolReport()
    for rule_id, rule in (*decoded.nodejs.items(), *decoded.templates.items()):
        for match in rule.files:
            report.findings.append((match.file_path.removeprefix("./"), _finding(rule_id, rule, match)))
    add_errors([error for error in decoded.errors if isinstance(error, SemgrepError)], report)
    return report


def _finding(rule_id: str, rule: _NjsscanRule, match: _NjsscanMatch) -> Finding:
    return Finding(
        rule_id=printable_line(rule_id, LONGEST_NAME),
        family="weakness",
        severity=SEVERITIES.get(str(rule.metadata.get("severity")), Severity.MEDIUM),
        confidence=CONFIDENCE,
        file="",
        line=max(1, match.match_lines[0]),
        excerpt="",
        message=printable_line(str(rule.metadata.get("description", "")), LONGEST_MESSAGE),
        remediation=printable_line(str(rule.metadata.get("cwe", "")), LONGEST_MESSAGE),
    )
