"""`assay up` with scan tools; `tests/cli/test_up.py` runs without."""

import subprocess
import sys
from pathlib import Path

import pytest

from assay.deepscan.install import default_folder, is_installed
from tests.support.cli.up import PATIENCE_SECONDS, an_assay, wait_for

pytestmark = pytest.mark.process


def test_up_runs_deep_scans(tmp_path: Path, data_folder: Path) -> None:
    """G47, G96."""
    assert is_installed(default_folder()), "The scan tools are not installed: run `make deepscan`, or `make test`."
    tools = {"ASSAY_DEEP_SCAN_DIR": "", "ASSAY_DEEP_SCAN_TOOLS": "kingfisher"}
    with an_assay(data_folder / "data", tmp_path / "up.log", **tools) as up:
        demo = [sys.executable, "-m", "assay", "demo"]
        shown = subprocess.run(demo, env=up.environment, capture_output=True, timeout=PATIENCE_SECONDS)
        assert shown.returncode == 0
        listed = up.get("/api/v1/skills")["skills"]
        assert isinstance(listed, list)
        name = listed[0]["name"]

        def is_scanned() -> bool:
            return [scan["status"] for scan in up.get(f"/api/v1/skills/{name}")["deepScans"]] == ["clean"]  # type: ignore[attr-defined]

        wait_for(is_scanned, "a deep scan of what was published")
        assert up.get("/api/v1/queue/health")["deepScans"]["nodesAlive"] == 1  # type: ignore[index]
