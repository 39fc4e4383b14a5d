"""The bundled examples get the decisions they illustrate."""

import re
from importlib import resources
from pathlib import Path

import pytest

from assay.model.source import Source
from assay.model.verdict import Decision
from assay.policy.policy import Policy, static_verdict
from assay.scan.ruleset import load_ruleset
from assay.scan.scan import scan_source

EXAMPLES = Path(str(resources.files("assay"))) / "cli" / "examples"
INTENDED = {
    "changelog-writer": (Decision.APPROVE, set()),
    "csv-profiler": (Decision.APPROVE, set()),
    "secure-code-review": (Decision.APPROVE, {"DR-001", "PI-001"}),
    "system-cleanup": (Decision.REVIEW, {"DR-001", "DS-002", "PS-001"}),
    "invoice-helper": (Decision.REFUSE, {"EX-001"}),
    "weather-now": (Decision.REFUSE, {"HT-001", "PI-002", "DR-001"}),
}


def example(name: str) -> Source:
    folder = EXAMPLES / name
    paths = (path for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc")
    return Source({path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}, commit="0" * 40)


def test_every_bundled_example_is_covered() -> None:
    assert set(INTENDED) == {path.name for path in EXAMPLES.iterdir() if (path / "SKILL.md").exists()}


@pytest.mark.parametrize("name", INTENDED)
def test_examples_get_their_intended_decision(name: str) -> None:
    """A security tutorial passes (G41); scripts and hidden text are examined (G40)."""
    decision, seen = INTENDED[name]
    report = scan_source(example(name), load_ruleset())
    assert decision == static_verdict(report, Policy()).decision
    assert seen <= {finding.rule_id for finding in report.findings}


@pytest.mark.parametrize("name", INTENDED)
def test_examples_use_reserved_hosts(name: str) -> None:
    text = b"\n".join(example(name).files.values()).decode()
    hosts = re.findall(r"https?://([\w.-]+)", text)
    assert [host for host in hosts if not host.endswith((".example.com", ".invalid"))] == []
