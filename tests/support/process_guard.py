"""A record of the processes of Assay that tests start, so that tests without the marker `process` start none."""

import sys
from typing import Any

# The command lines of all processes of Assay started by this test process.
STARTED: list[str] = []


def _record_process(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "subprocess.Popen":
        command = " ".join(map(str, arguments[1] or ()))
        if any(word in command for word in ("-m assay", "bin/assay", "-m benchmarks", "stand_in.py")):
            STARTED.append(command)


sys.addaudithook(_record_process)
