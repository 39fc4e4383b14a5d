"""Scan a source: every rule over every file that ships, to one report."""

from collections.abc import Callable, Iterable
from functools import partial

from assay.model.finding import Finding, Report, Severity
from assay.model.source import Source
from assay.scan.examine import examine
from assay.scan.file_text import FileText
from assay.scan.files import FileKind, kind_of
from assay.scan.ruleset import Ruleset
from assay.scan.structure import examine_structure

# The code's part of what a report depends on; to be raised when equal rules would report something else.
ENGINE = "assay-static/1"
# The judge knows this family: what could not be examined is not approved.
UNEXAMINED = "unexamined"


def scan_source(source: Source, ruleset: Ruleset) -> Report:
    """Look at all files of a source. Equal files and rules give an equal report; the caller measures the time."""
    findings = _examined(partial(examine_structure, source, ruleset), "structure", "SKILL.md")
    for path, content in sorted(source.files.items()):
        findings += _scan_file(path, content, ruleset)
    return Report(
        engine=ENGINE,
        ruleset=ruleset.version,
        digest=source.digest,
        findings=tuple(findings),
        has_code=any(kind_of(path, content) is FileKind.SCRIPT for path, content in source.files.items()),
        duration_ms=0.0,
    )


def _scan_file(path: str, content: bytes, ruleset: Ruleset) -> list[Finding]:
    file = FileText.read(path, content)
    return [
        finding for rule in ruleset.pattern_rules for finding in _examined(partial(examine, file, rule), rule.id, path)
    ]


def _examined(look: Callable[[], Iterable[Finding]], rule_id: str, path: str) -> list[Finding]:
    try:
        return list(look())
    except Exception as error:  # noqa: BLE001 — whatever a rule dies of must become a finding, never silence
        return [_unexamined(rule_id, path, error)]


def _unexamined(rule_id: str, path: str, error: Exception) -> Finding:
    return Finding(
        rule_id="UX-000",
        family=UNEXAMINED,
        severity=Severity.HIGH,
        confidence=1.0,
        file=path,
        line=1,
        excerpt="",
        message=f"{rule_id} could not be examined here ({type(error).__name__})",
        remediation="This is a fault of the scanner; a reviewer looks at the file.",
    )
