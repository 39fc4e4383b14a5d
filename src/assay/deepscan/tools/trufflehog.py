"""TruffleHog finds secrets in files. It is not on PyPI, so it must be installed separately and be on the path."""

import subprocess
from pathlib import Path

import msgspec

from assay.deepscan.tool import Tool, ToolFailed, ToolReport
from assay.deepscan.tools.secret import CANARY, secret_finding
from assay.model.deep_scan import DeepTool
from assay.model.finding import Finding

VERSION_SECONDS = 20
MAX_LINES = 100_000


class _TrufflehogLocation(msgspec.Struct):
    file: str
    line: int = 1


class _TrufflehogFilesystem(msgspec.Struct, rename="pascal"):
    filesystem: _TrufflehogLocation


class _TrufflehogMetadata(msgspec.Struct, rename="pascal"):
    data: _TrufflehogFilesystem


class _TrufflehogMatch(msgspec.Struct, rename="pascal"):
    """One match. The report also contains the secret itself, which is not decoded."""

    source_metadata: _TrufflehogMetadata
    detector_name: str


def trufflehog(program: Path) -> Tool | None:
    """Return TruffleHog at this path, or None if it does not report a version."""
    try:
        finished = subprocess.run(
            [program, "--version"], check=False, capture_output=True, text=True, timeout=VERSION_SECONDS
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    words = (finished.stdout + finished.stderr).split()
    if finished.returncode or not words:
        return None
    arguments = "filesystem --json --no-verification --no-update --no-color ."
    return Tool(
        name=DeepTool.TRUFFLEHOG,
        version=words[-1][:50],
        program=lambda _workspace: [str(program), *arguments.split()],
        read=read,
        success_codes=frozenset({0}),
        kinds=None,
        canary=CANARY,
        readable=[program.resolve().parent],
    )


def read(output: bytes) -> ToolReport:
    """Parse the output of TruffleHog, one JSON object per line."""
    lines = output.splitlines()
    if len(lines) > MAX_LINES:
        raise ToolFailed(f"its report has more than {MAX_LINES:,} lines")
    try:
        matches = [msgspec.json.decode(line, type=_TrufflehogMatch) for line in lines if b'"SourceMetadata"' in line]
    except msgspec.DecodeError as error:
        raise ToolFailed(f"its report cannot be read: {error}") from None
    return ToolReport([_finding(match) for match in matches])


def _finding(match: _TrufflehogMatch) -> tuple[str, Finding]:
    location = match.source_metadata.data.filesystem
    kind = match.detector_name
    return location.file.removeprefix("./"), secret_finding(f"trufflehog.{kind}", kind, location.line, is_certain=False)
