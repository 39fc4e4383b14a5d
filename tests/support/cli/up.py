"""`assay up` as a process."""

import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PATIENCE_SECONDS = 180


class Up:
    """A running `assay up`."""

    def __init__(self, process: subprocess.Popen[str], data: Path, log: Path) -> None:
        self.process = process
        self.data = data
        self.log = log
        self.url = self.said(r"is running at (\S+)").group(1)

    def said(self, pattern: str) -> re.Match[str]:
        """Wait until it prints something."""
        return wait_for(lambda: re.search(pattern, self.log.read_text()), pattern)

    def get(self, path: str) -> dict[str, object]:
        """Return JSON from its web process, waiting until it responds."""
        return json.loads(wait_for(lambda: fetch(f"{self.url}{path}"), path))

    def child(self, name: str) -> int:
        """Return the pid of one of its processes."""
        return wait_for(lambda: find_child(self.process.pid, name), name)

    @property
    def environment(self) -> dict[str, str]:
        """Return the environment of a command on its machine."""
        port = self.url.rpartition(":")[2]
        return clean_environment(ASSAY_DATA_DIR=str(self.data), ASSAY_PORT=port, COLUMNS="200")

    def stop(self) -> int:
        """Send Ctrl-C."""
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(PATIENCE_SECONDS)


def wait_for(look, what: str):
    """Poll until a condition returns a value."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        if found := look():
            return found
        time.sleep(0.05)
    raise AssertionError(f"never happened: {what}")


def fetch(url: str) -> str | None:
    """Return the body of a 200 response."""
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return answer.read().decode()
    except OSError:
        return None


def find_child(parent: int, name: str) -> int | None:
    """Return the pid of `assay NAME` below a parent."""
    for pid in Path(f"/proc/{parent}/task/{parent}/children").read_text().split():
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        if name.encode() in words:
            return int(pid)
    return None


def clean_environment(**settings: str) -> dict[str, str]:
    """Return this environment without settings of Assay, plus these."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ASSAY_")}
    return kept | settings


@contextmanager
def an_assay(data: Path, log: Path, **settings: str) -> Iterator[Up]:
    """Start `assay up` on a free port and stop it with the block; without scan tools unless given."""
    tools = {"ASSAY_DEEP_SCAN_DIR": str(data / "no-tools")}
    environment = clean_environment(**{"ASSAY_DATA_DIR": str(data), "ASSAY_PORT": "0", **tools, **settings})
    with log.open("w") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "assay", "up"], env=environment, stdout=output, stderr=output, text=True
        )
    try:
        yield Up(process, data, log)
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
            process.wait(PATIENCE_SECONDS)
