"""Kingfisher finds secrets in files; they are not validated against any service."""

from pathlib import Path

import msgspec

from assay.deepscan.install import installed_version, site_packages
from assay.deepscan.tool import Tool, ToolFailed, ToolReport
from assay.deepscan.tools.secret import CANARY, secret_finding
from assay.model.deep_scan import DeepTool
from assay.model.finding import Finding

# 200 and 205: secrets were found.
SUCCESS_CODES = frozenset({0, 200, 205})


class _KingfisherRule(msgspec.Struct):
    id: str
    name: str


class _KingfisherFinding(msgspec.Struct):
    path: str
    line: int
    confidence: str = "medium"


class _KingfisherMatch(msgspec.Struct):
    rule: _KingfisherRule
    finding: _KingfisherFinding


class _KingfisherOutput(msgspec.Struct):
    """The first line of the output; the second has statistics."""

    findings: list[_KingfisherMatch]


def kingfisher(folder: Path, jobs: int) -> Tool | None:
    """Return Kingfisher as installed in this environment, or None."""
    version, packages = installed_version(folder, "kingfisher-bin"), site_packages(folder)
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
        program=lambda _workspace: [str(packages / "kingfisher/bin/kingfisher"), *arguments.split(), str(cache), "."],
        read=read,
        success_codes=SUCCESS_CODES,
        kinds=None,
        canary=CANARY,
        readable=[folder],
        cache=cache,
    )


def read(output: bytes) -> ToolReport:
    """Parse the output of Kingfisher."""
    try:
        decoded = msgspec.json.decode(output.partition(b"\n")[0], type=_KingfisherOutput)
    except msgspec.DecodeError as error:
        raise ToolFailed(f"its report cannot be read: {error}") from None
    return ToolReport([(match.finding.path.removeprefix("./"), _finding(match)) for match in decoded.findings])


def _finding(match: _KingfisherMatch) -> Finding:
    return secret_finding(
        match.rule.id, match.rule.name, match.finding.line, is_certain=match.finding.confidence == "high"
    )
