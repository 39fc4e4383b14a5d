"""The benchmarks still run; how fast is for `make bench` to say."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def test_the_benchmarks_run_and_print_ratios() -> None:
    """R31: submissions a second against the bare loop and one at a time; calls for one repository; reading at scale."""
    finished = subprocess.run(
        [sys.executable, "-m", "benchmarks", "--quick"], cwd=ROOT, capture_output=True, text=True, timeout=200
    )
    assert finished.returncode == 0, finished.stderr[-2000:]
    for figure in (
        "end to end / fetch + scan alone",
        "end to end / one at a time",
        "one repository: GitHub API calls",
        "list, default page: ratio",
        "position of one that waits: ratio",
    ):
        assert figure in finished.stdout
