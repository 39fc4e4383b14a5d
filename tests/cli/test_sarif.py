"""SARIF output of `assay scan` against the standard's schema and the rules of code hosts."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from assay.model.finding import Severity
from assay.scan.ruleset import load_ruleset
from assay.serve.scans.sarif import LEVELS, SECURITY_SEVERITIES
from tests.support.archives import a_zip
from tests.support.cli.here import assay_here
from tests.support.cli.skills_here import RULE, below, written
from tests.support.fake_github import FakeGitHub, FakeServer
from tests.support.skills import a_bad_skill, a_repository, a_skill

# Published with Microsoft's validator (@microsoft/sarif-multitool-linux 5.7.0, MIT).
SCHEMA = json.loads((Path(__file__).parent / "sarif" / "sarif-2.1.0.json").read_text())
VALIDATOR = jsonschema_rs.validator_for(SCHEMA, validate_formats=True)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the working directory, with a custom ruleset."""
    monkeypatch.chdir(tmp_path)
    written(tmp_path / "house-rules", {"house.toml": RULE.format(severity="medium")})
    return tmp_path


def sarif_of(*arguments: str | Path) -> Any:
    """Return the only run of a valid log."""
    log = assay_here("scan", "--format", "sarif", "--ruleset", "house-rules", *arguments).json
    assert [error.message for error in VALIDATOR.iter_errors(log)] == []
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    return run


def fingerprints(run: Any) -> list[str]:
    return [result["partialFingerprints"]["assayFinding/v1"] for result in run["results"]]


def test_schema_rejects_invalid_sarif() -> None:
    assert not VALIDATOR.is_valid({"version": "2.1.0", "runs": [{}]})
    assert VALIDATOR.is_valid({"version": "2.1.0", "runs": []})


def test_log_without_findings_is_valid(folder: Path) -> None:
    written(folder / "greet", {"SKILL.md": a_skill()})
    run = sarif_of("greet")
    assert (run["results"], run["invocations"][0]["executionSuccessful"]) == ([], True)


def test_every_rule_is_described(folder: Path) -> None:
    """With help, tags, level and security severity."""
    written(folder / "greet", {"SKILL.md": a_skill()})
    described = {rule["id"]: rule for rule in sarif_of("greet")["tool"]["driver"]["rules"]}
    assert set(described) == {rule.id for rule in load_ruleset().rules} | {"HR-001"}
    own = described["HR-001"]
    assert own["help"]["text"] == "Nobody says that any more.\n\nHow to fix it: Say something else."
    assert own["defaultConfiguration"] == {"level": "warning"}
    assert own["properties"] == {
        "tags": ["security", "house_rules", "external/cwe/cwe-078"],
        "precision": "very-high",
        "references": ["CWE-78", "LLM01:2025"],
        "replaces": ["OLD-7"],
        "security-severity": "5.5",
    }
    for rule in load_ruleset().rules:
        number = described[rule.id]["properties"].get("security-severity")
        assert (number is None) == (rule.severity is Severity.INFO)


def test_security_severity_matches_code_hosts() -> None:
    """Above 9.0 is critical, from 7.0 high, from 4.0 medium, below low."""
    names = {
        severity: "critical"
        if float(each) > 9
        else "high"
        if float(each) >= 7
        else "medium"
        if float(each) >= 4
        else "low"
        for severity, each in SECURITY_SEVERITIES.items()
    }
    assert names == {severity: severity.value for severity in Severity if severity is not Severity.INFO}
    assert set(LEVELS) == set(Severity)


def test_result_location_is_relative_to_the_checkout(folder: Path) -> None:
    """Also for paths that need URI escaping."""
    written(folder, {"my skills/50% größer/SKILL.md": a_skill(body="Say xyzzy.")})
    run = sarif_of(".")
    (result,) = run["results"]
    assert (result["ruleId"], result["level"], result["rank"]) == ("HR-001", "warning", 100.0)
    assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == "HR-001"
    assert result["message"]["text"] == "The word is xyzzy. Say something else."
    location = result["locations"][0]["physicalLocation"]
    assert location["artifactLocation"] == {
        "uri": "my%20skills/50%25%20gr%C3%B6%C3%9Fer/SKILL.md",
        "uriBaseId": "%SRCROOT%",
    }
    assert location["region"] == {"startLine": 8, "snippet": {"text": "Say xyzzy."}}
    assert "uri" not in run["originalUriBaseIds"]["%SRCROOT%"], "no path of this machine is told"


def test_fingerprints_survive_moved_lines(folder: Path) -> None:
    """Two equal lines are two findings."""
    body = "Say xyzzy.\n\nSay xyzzy.\n\nSay xyzzy again."
    skill = written(folder / "magic", {"SKILL.md": a_skill(body=body), "more.md": "Say xyzzy."})
    before = sarif_of("magic")
    assert Counter(fingerprints(before)).most_common(1)[0][1] == 1
    written(skill, {"SKILL.md": a_skill(body=f"A new first line.\n\n{body}")})
    after = sarif_of("magic")
    lines = [
        [each["locations"][0]["physicalLocation"]["region"]["startLine"] for each in run["results"]]
        for run in (before, after)
    ]
    assert lines[0] != lines[1]
    assert fingerprints(before) == fingerprints(after)
    written(skill, {"SKILL.md": a_skill(body=body.replace("again", "once more"))})
    assert len(set(fingerprints(sarif_of("magic"))) - set(fingerprints(before))) == 1


def test_unscanned_files_are_reported(folder: Path) -> None:
    written(folder / "greet", {"SKILL.md": a_skill()})
    (folder / "cut.zip").write_bytes(a_zip(a_repository("pdf"))[:40])
    (invocation,) = sarif_of("greet", "cut.zip")["invocations"]
    assert (invocation["executionSuccessful"], invocation["exitCode"]) == (False, 7)
    (notification,) = invocation["toolExecutionNotifications"]
    assert notification["level"] == "error"
    assert notification["message"]["text"].startswith("cut.zip: The archive cannot be read")


def test_other_roots_have_their_own_uri_base(
    folder: Path, github: FakeGitHub, github_server: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A repository is named with its commit."""
    for name, value in github_server.urls().items():
        monkeypatch.setenv(name, value)
    web = github_server.urls()["ASSAY_GITHUB_WEB_URL"]
    repository = github.add_repository("acme/tools", below("skills/steal", a_bad_skill()))
    (folder / "bundle.zip").write_bytes(a_zip(below("steal", a_bad_skill())))
    written(folder / "elsewhere" / "steal", a_bad_skill())
    (folder / "here").mkdir()
    monkeypatch.chdir(folder / "here")
    log = assay_here("scan", "--format", "sarif", "../bundle.zip", "../elsewhere", f"{web}/acme/tools").json
    assert [error.message for error in VALIDATOR.iter_errors(log)] == []
    (run,) = log["runs"]
    places = [each["locations"][0]["physicalLocation"]["artifactLocation"] for each in run["results"]]
    bases = run["originalUriBaseIds"]
    told = {(bases[place["uriBaseId"]].get("uri"), place["uri"]) for place in places}
    assert told == {
        (None, "steal/scripts/setup.sh"),
        (f"{(folder / 'elsewhere').resolve().as_uri()}/", "steal/scripts/setup.sh"),
        (f"{web}/acme/tools/blob/{repository.sha}/", "skills/steal/scripts/setup.sh"),
    }
    (origin,) = run["versionControlProvenance"]
    assert (origin["repositoryUri"], origin["revisionId"]) == (f"{web}/acme/tools", repository.sha)
