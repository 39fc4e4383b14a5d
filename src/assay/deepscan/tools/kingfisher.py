"""Kingfisher: secrets in files, without asking anybody whether they work."""

from pathlib import Path

import msgspec

from assay.deepscan.tool import Reading, Tool, ToolFailed
from assay.deepscan.tools.environment import packages_of, version_of
from assay.deepscan.tools.secret import CANARY, secret_finding
from assay.model.deep_scan import DeepTool
from assay.model.finding import Finding

# 200: something was found.
GOOD_EXITS = frozenset({0, 200, 205})


class Rule(msgspec.Struct):
    """What kind of secret."""

    id: str
    name: str


class Place(msgspec.Struct):
    """Where it is."""

    path: str
    line: int
    confidence: str = "medium"


class Match(msgspec.Struct):
    """One secret."""

    rule: Rule
    finding: Place


class Output(msgspec.Struct):
    """The first line of its JSON; a second one has numbers."""

    findings: list[Match]


def kingfisher(folder: Path, jobs: int) -> Tool | None:
    """Kingfisher as it is installed in this environment; None if it is not."""
    version, packages = version_of(folder, "kingfisher-bin"), packages_of(folder)
    if version is None or packages is None:
        return None
    cache = folder / "cache" / "kingfisher"
    cache.mkdir(parents=True, exist_ok=True)
    arguments = (
        "scan --format json --no-validate --no-update-check --redact --quiet --no-dedup --no-ignore --git-history none"
        f" --no-extract-archives --jobs {jobs} --rule-cache-dir"
    )
    return Tool(
        name=DeepTool.KINGFISHER,
        version=version,
        program=lambda _place: [str(packages / "kingfisher/bin/kingfisher"), *arguments.split(), str(cache), "."],
        read=read,
        good_exits=GOOD_EXITS,
        kinds=None,
        canary=CANARY,
        readable=[folder],
        cache=cache,
    )


def read(output: bytes) -> Reading:
    """Secrets by file."""
    try:
        said = msgspec.json.decode(output.partition(b"\n")[0], type=Output)
    except msgspec.DecodeError as problem:
        raise ToolFailed(f"its report cannot be read: {problem}") from None
    return Reading([(match.finding.path.removeprefix("./"), _finding(match)) for match in said.findings])


def _finding(match: Match) -> Finding:
    return secret_finding(
        match.rule.id, match.rule.name, match.finding.line, is_sure=match.finding.confidence == "high"
    )
