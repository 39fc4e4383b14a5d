"""Properties of every report, for tests of hostile input and the fuzzer."""

from collections import Counter
from itertools import pairwise

from assay.model.finding import Finding, Report
from assay.model.source import Source
from assay.policy.policy import UNEXAMINED
from assay.scan.match.confidence import MAX_FINDINGS_PER_RULE_AND_FILE
from assay.scan.ruleset import Ruleset
from assay.scan.scan import scan_source
from assay.scan.text.excerpt import MAX_EXCERPT
from assay.scan.text.files import text_of


def scan_and_check(source: Source, ruleset: Ruleset) -> Report:
    """Scan, check the report, and check that file order does not matter."""
    report = scan_source(source, ruleset)
    turned = Source(dict(reversed(list(source.files.items()))), source.commit)
    assert report == scan_source(turned, ruleset)
    check_report(report, source)
    return report


def check_report(report: Report, source: Source) -> None:
    """Check that findings are displayable, locatable, bounded, ordered and unique."""
    assert source.digest == report.digest
    last_lines = {path: _count_lines(content) for path, content in source.files.items()}
    for finding in report.findings:
        _check_finding(finding, last_lines)
    in_the_open = [one for one in report.findings if one.family != UNEXAMINED and not one.excerpt.startswith("(")]
    counts = Counter((finding.rule_id, finding.file) for finding in in_the_open)
    assert max(counts.values(), default=0) <= MAX_FINDINGS_PER_RULE_AND_FILE, counts.most_common(1)
    for one, other in pairwise(in_the_open):
        if (one.rule_id, one.file) == (other.rule_id, other.file):
            assert one.line <= other.line, (one, other)


def _check_finding(finding: Finding, last_lines: dict[str, int]) -> None:
    assert 0 < finding.confidence <= 1, finding
    assert finding.excerpt.isprintable(), finding
    assert len(finding.excerpt) <= MAX_EXCERPT, finding
    assert 1 <= finding.line <= last_lines.get(finding.file, 1), finding
    assert finding.message, finding
    assert finding.remediation, finding


def _count_lines(content: bytes) -> int:
    return len(text_of(content).replace("\r\n", "\n").replace("\r", "\n").split("\n"))
