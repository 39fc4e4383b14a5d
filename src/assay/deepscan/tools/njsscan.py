"""njsscan: weaknesses of Node.js programs, with the rules that it brings along."""

from pathlib import Path
from typing import Any

import msgspec

from assay.deepscan.excerpt import LONGEST_MESSAGE, LONGEST_NAME, plain
from assay.deepscan.tool import Reading, Tool, ToolFailed
from assay.deepscan.tools.environment import variables, version_of
from assay.deepscan.tools.semgrep import Problem, note_problems
from assay.model.deep_scan import DeepTool
from assay.model.finding import Finding, Severity

KINDS = frozenset({"js", "ejs", "hbs", "pug", "vue"})
CANARY = ("canary.js", b"require('express')().get('/', (req, res) => { eval(req.query.canary) })\n")
SEVERITIES = {"ERROR": Severity.HIGH, "WARNING": Severity.MEDIUM, "INFO": Severity.LOW}
# A weakness that somebody else may use, and no intent: it is for people to weigh.
CONFIDENCE = 0.6
REPORT = "report.json"


class Place(msgspec.Struct):
    """A match in a file."""

    file_path: str
    match_lines: tuple[int, int]


class Rule(msgspec.Struct):
    """A rule that matched."""

    metadata: dict[str, Any]
    files: list[Place] = []


class Output(msgspec.Struct):
    """The parts of its JSON that are read."""

    nodejs: dict[str, Rule]
    templates: dict[str, Rule]
    errors: list[Problem | str]


def njsscan(folder: Path) -> Tool | None:
    """njsscan as it is installed in this environment; None if it is not."""
    version, engine = version_of(folder, "njsscan"), version_of(folder, "semgrep")
    if version is None or engine is None:
        return None
    program = [str(folder / "bin" / "njsscan"), "--json", "--output"]
    return Tool(
        name=DeepTool.NJSSCAN,
        version=f"{version}+semgrep.{engine}",
        program=lambda place: [*program, str(place.scratch / REPORT), "."],
        read=read,
        # 1: something was found.
        good_exits=frozenset({0, 1}),
        kinds=KINDS,
        canary=CANARY,
        environment=variables(folder) | {"SEMGREP_SEND_METRICS": "off", "SEMGREP_ENABLE_VERSION_CHECK": "0"},
        readable=[folder],
        output_name=REPORT,
    )


def read(output: bytes) -> Reading:
    """Matches and problems by file."""
    try:
        said = msgspec.json.decode(output, type=Output)
    except msgspec.DecodeError as problem:
        raise ToolFailed(f"its report cannot be read: {problem}") from None
    if told := [problem for problem in said.errors if isinstance(problem, str)]:
        raise ToolFailed(plain(told[0], LONGEST_MESSAGE))
    reading = Reading()
    for rule_id, rule in (*said.nodejs.items(), *said.templates.items()):
        for place in rule.files:
            reading.findings.append((place.file_path.removeprefix("./"), _finding(rule_id, rule, place)))
    note_problems([problem for problem in said.errors if isinstance(problem, Problem)], reading)
    return reading


def _finding(rule_id: str, rule: Rule, place: Place) -> Finding:
    return Finding(
        rule_id=plain(rule_id, LONGEST_NAME),
        family="weakness",
        severity=SEVERITIES.get(str(rule.metadata.get("severity")), Severity.MEDIUM),
        confidence=CONFIDENCE,
        file="",
        line=max(1, place.match_lines[0]),
        excerpt="",
        message=plain(str(rule.metadata.get("description", "")), LONGEST_MESSAGE),
        remediation=plain(str(rule.metadata.get("cwe", "")), LONGEST_MESSAGE),
    )
