"""`python -m assay` without its import time: forked from a process that has imported everything.

Every call is a separate process with its own environment and standard files, and runs the program from its first line
to its exit code. Tests of start-up cost start it directly (`tests/cli/test_lazy.py`).
"""

import multiprocessing
import os
import pkgutil
import runpy
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import assay.cli
from tests.support.process_guard import STARTED

FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload([each.name for each in pkgutil.walk_packages(assay.cli.__path__, "assay.cli.")])


class Command:
    """A running command, with the interface of `subprocess.Popen`."""

    def __init__(self, arguments: Sequence[str], env: Mapping[str, str], *, given: Path, out: Path, err: Path) -> None:
        STARTED.append(" ".join(["assay", *arguments]))
        self._process = FORKS.Process(target=_become, args=(tuple(arguments), dict(env), given, out, err))
        self._process.start()
        assert self._process.pid is not None
        self.pid = self._process.pid

    def poll(self) -> int | None:
        """Return its exit code, or None while it runs."""
        return self._process.exitcode

    def wait(self, seconds: float | None = None) -> int | None:
        """Wait and return its exit code, or None on timeout."""
        self._process.join(seconds)
        return self._process.exitcode

    def send_signal(self, number: int) -> None:
        """Send a signal unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def run_assay(
    *arguments: str, env: Mapping[str, str], typed: str = "", seconds: float
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end with this standard input."""
    with tempfile.TemporaryDirectory() as folder:
        given, out, err = (Path(folder) / name for name in ("in", "out", "err"))
        given.write_text(typed)
        command = Command(arguments, env, given=given, out=out, err=err)
        code = command.wait(seconds)
        if code is None:
            command.kill()
            command.wait()
            raise subprocess.TimeoutExpired(["assay", *arguments], seconds, out.read_bytes(), err.read_bytes())
        return subprocess.CompletedProcess(["assay", *arguments], code, out.read_text(), err.read_text())


def _become(arguments: Sequence[str], environment: Mapping[str, str], given: Path, out: Path, err: Path) -> None:
    write = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    for number, (file, flags) in enumerate([(given, os.O_RDONLY), (out, write), (err, write)]):
        opened = os.open(file, flags)
        os.dup2(opened, number)
        os.close(opened)
    # As in a new process.
    encoding = environment.get("PYTHONIOENCODING")
    sys.stdin = open(0, encoding=encoding, closefd=False)  # noqa: SIM115 - open until this process ends
    sys.stdout = open(1, "w", encoding=encoding, closefd=False)  # noqa: SIM115
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["assay", *arguments]
    runpy.run_module("assay", run_name="__main__", alter_sys=True)
