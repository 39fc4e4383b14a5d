"""The command of a scan process that misbehaves on request."""

import sys
from pathlib import Path

ODD = (sys.executable, str(Path(__file__).parents[1] / "odd_scan_process.py"))
