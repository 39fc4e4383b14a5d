"""TruffleHog: secrets in files, if its program is on the path. It is not on PyPI, so nobody installs it for you."""

import subprocess
from pathlib import Path

import msgspec

from assay.deepscan.tool import Reading, Tool, ToolFailed
from assay.deepscan.tools.secret import CANARY, secret_finding
from assay.model.deep_scan import DeepTool
from assay.model.finding import Finding

VERSION_SECONDS = 20
MOST_LINES = 100_000


class Place(msgspec.Struct):
    """Where it is."""

    file: str
    line: int = 1


class Filesystem(msgspec.Struct, rename="pascal"):
    """The kind of source."""

    filesystem: Place


class Metadata(msgspec.Struct, rename="pascal"):
    """Where it was found."""

    data: Filesystem


class Match(msgspec.Struct, rename="pascal"):
    """One secret. The secret itself is in the line, too, and is not read."""

    source_metadata: Metadata
    detector_name: str


def trufflehog(program: Path) -> Tool | None:
    """TruffleHog at this place; None if it does not say its version."""
    try:
        said = subprocess.run(
            [program, "--version"], check=False, capture_output=True, text=True, timeout=VERSION_SECONDS
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    words = (said.stdout + said.stderr).split()
    if said.returncode or not words:
        return None
    arguments = "filesystem --json --no-verification --no-update --no-color ."
    return Tool(
        name=DeepTool.TRUFFLEHOG,
        version=words[-1][:50],
        program=lambda _place: [str(program), *arguments.split()],
        read=read,
        good_exits=frozenset({0}),
        kinds=None,
        canary=CANARY,
        readable=[program.resolve().parent],
    )


def read(output: bytes) -> Reading:
    """Secrets by file: a line each."""
    lines = output.splitlines()
    if len(lines) > MOST_LINES:
        raise ToolFailed(f"its report has more than {MOST_LINES:,} lines")
    try:
        matches = [msgspec.json.decode(line, type=Match) for line in lines if b'"SourceMetadata"' in line]
    except msgspec.DecodeError as problem:
        raise ToolFailed(f"its report cannot be read: {problem}") from None
    return Reading([_finding(match) for match in matches])


def _finding(match: Match) -> tuple[str, Finding]:
    place = match.source_metadata.data.filesystem
    kind = match.detector_name
    return place.file.removeprefix("./"), secret_finding(f"trufflehog.{kind}", kind, place.line, is_sure=False)
