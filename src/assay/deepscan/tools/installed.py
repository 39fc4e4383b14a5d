"""Detection of the scan tools on this machine."""

import shutil
from collections.abc import Sequence
from pathlib import Path

from assay.deepscan.tool import Tool
from assay.deepscan.tools.kingfisher import kingfisher
from assay.deepscan.tools.njsscan import njsscan
from assay.deepscan.tools.semgrep import semgrep
from assay.deepscan.tools.trufflehog import trufflehog
from assay.model.deep_scan import DeepTool


def find_tools(folder: Path, *, jobs: int, path: str | None = None) -> list[Tool]:
    """Return the tools installed in the folder, and TruffleHog if it is on the path."""
    on_path = shutil.which("trufflehog", path=path)
    found: Sequence[Tool | None] = (
        semgrep(folder, jobs),
        njsscan(folder),
        kingfisher(folder, jobs),
        trufflehog(Path(on_path)) if on_path else None,
    )
    return [tool for tool in found if tool is not None]


def missing_tools(tools: Sequence[Tool], wanted: Sequence[DeepTool]) -> list[DeepTool]:
    """Return the wanted tools that are not installed."""
    present = {tool.name for tool in tools}
    return [name for name in wanted if name not in present]
