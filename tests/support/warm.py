"""`python -m assay` without the second that it takes to load: forked from a process that has loaded everything.

Every call is a process of its own, with an environment and standard files of its own, and runs the same program from its
first line to its exit code. What is loaded when is for tests that start it anew (`tests/cli/test_lazy.py`).
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

FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload([each.name for each in pkgutil.walk_packages(assay.cli.__path__, "assay.cli.")])


class Command:
    """A command that runs. What it is asked for is named as in `subprocess.Popen`."""

    def __init__(self, arguments: Sequence[str], env: Mapping[str, str], *, given: Path, out: Path, err: Path) -> None:
        self._process = FORKS.Process(target=_become, args=(tuple(arguments), dict(env), given, out, err))
        self._process.start()
        assert self._process.pid is not None
        self.pid = self._process.pid

    def poll(self) -> int | None:
        """Its exit code, if it has ended."""
        return self._process.exitcode

    def wait(self, seconds: float | None = None) -> int | None:
        """Its exit code, once it has ended; None if that takes longer."""
        self._process.join(seconds)
        return self._process.exitcode

    def send_signal(self, number: int) -> None:
        """Nothing, if it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it in the midst of anything."""
        self.send_signal(signal.SIGKILL)


def run_assay(
    *arguments: str, env: Mapping[str, str], typed: str = "", seconds: float
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end, with this on its standard input."""
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
    # As a new process would have them.
    encoding = environment.get("PYTHONIOENCODING")
    sys.stdin = open(0, encoding=encoding, closefd=False)  # noqa: SIM115 - open until this process ends
    sys.stdout = open(1, "w", encoding=encoding, closefd=False)  # noqa: SIM115
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["assay", *arguments]
    runpy.run_module("assay", run_name="__main__", alter_sys=True)
