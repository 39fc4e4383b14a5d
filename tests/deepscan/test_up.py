"""`assay up` on one machine: it scans what is published if the tools are there; `tests/cli/test_up.py` has none."""

import subprocess
import sys
from pathlib import Path

from assay.deepscan.install import default_folder, is_installed
from tests.cli.test_up import PATIENCE_SECONDS, an_assay, clean_environment, wait_for


def test_one_command_scans_what_it_publishes(tmp_path: Path, data_folder: Path) -> None:
    """G47, G96: with the tools installed, nothing else has to be started or set."""
    assert is_installed(default_folder()), "The scan tools are not installed: run `make deepscan`, or `make test`."
    tools = {"ASSAY_DEEP_SCAN_DIR": "", "ASSAY_DEEP_SCAN_TOOLS": "kingfisher"}
    with an_assay(data_folder / "data", tmp_path / "up.log", **tools) as up:
        demo = [sys.executable, "-m", "assay", "demo", "--url", up.url]
        shown = subprocess.run(demo, env=clean_environment(), capture_output=True, timeout=PATIENCE_SECONDS)
        assert shown.returncode == 0
        listed = up.get("/api/v1/skills")["skills"]
        assert isinstance(listed, list)
        name = listed[0]["name"]

        def is_scanned() -> bool:
            return [scan["status"] for scan in up.get(f"/api/v1/skills/{name}")["deepScans"]] == ["clean"]  # type: ignore[attr-defined]

        wait_for(is_scanned, "a deep scan of what was published")
        assert up.get("/api/v1/queue/health")["deepScans"]["nodesAlive"] == 1  # type: ignore[index]
