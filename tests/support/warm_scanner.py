"""Scan processes without their import time: forked from a process that has imported everything.

Each is a separate process that runs the program from its first line, with the pipes of its parent. The command that is
started is a stand-in (`tests/support/stand_in.py`), which passes on its pipes and exits like the scan process. Tests in
`tests/scan_pool` and `tests/faults` start scan processes directly.

    python -m tests.support.warm_scanner SOCKET      fork scan processes until standard input ends
"""

import atexit
import os
import selectors
import shutil
import socket
import subprocess
import sys
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from signal import SIGKILL
from typing import NoReturn

from assay.scan.ruleset import load_ruleset
from assay.scan_pool import process

STAND_IN = Path(__file__).parent / "stand_in.py"


@cache
def warm_command() -> tuple[str, ...]:
    """Return the command that replaces a scan process; the first call starts the forking process."""
    folder = tempfile.mkdtemp(prefix="assay-scanners-")
    door = f"{folder}/door"
    forker = subprocess.Popen(
        [sys.executable, "-m", "tests.support.warm_scanner", door],
        cwd=STAND_IN.parents[2],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert forker.stdout is not None
    assert forker.stdout.readline(), "no process to fork from"

    @atexit.register
    def leave() -> None:
        forker.communicate()
        shutil.rmtree(folder)

    return (sys.executable, "-I", "-S", str(STAND_IN), door)


@dataclass(frozen=True)
class Running:
    """A scan process, its stand-in, and a pipe that closes when it ends."""

    pid: int
    stand_in: socket.socket
    life: int


def fork_scanners(door: socket.socket) -> None:
    """Fork scan processes until standard input ends."""
    with selectors.DefaultSelector() as waiting:
        waiting.register(door, selectors.EVENT_READ)
        waiting.register(sys.stdin, selectors.EVENT_READ)
        while True:
            ready = [(key.fileobj, key.data) for key, _ in waiting.select()]
            ended = {running.pid: running for _, running in ready if running}
            for running in ended.values():
                waiting.unregister(running.stand_in)
                waiting.unregister(running.life)
                _end(running)
            if any(where is sys.stdin for where, _ in ready):
                return
            if any(where is door for where, _ in ready):
                running = _start(door)
                waiting.register(running.stand_in, selectors.EVENT_READ, running)
                waiting.register(running.life, selectors.EVENT_READ, running)


def _start(door: socket.socket) -> Running:
    stand_in, _ = door.accept()
    given, pipes, _, _ = socket.recv_fds(stand_in, 4096, 3)
    life, held = os.pipe()
    pid = os.fork()
    if pid == 0:
        door.close()
        stand_in.close()
        _become(given.decode().split("\0"), pipes)
    for number in (held, *pipes):
        os.close(number)
    return Running(pid, stand_in, life)


def _become(arguments: list[str], pipes: list[int]) -> NoReturn:
    code = 1
    try:
        for number, pipe in enumerate(pipes):
            os.dup2(pipe, number)
            os.close(pipe)
        *given, cpu_seconds, cache_folder = arguments
        process.main(float(cpu_seconds), Path(cache_folder), custom_rules=given == [process.CUSTOM_RULES])
        code = 0
    finally:
        os._exit(code)


def _end(running: Running) -> None:
    """End the other of the two when one is gone."""
    os.kill(running.pid, SIGKILL)  # it has ended but is not reaped yet
    _, status = os.waitpid(running.pid, 0)
    with suppress(BrokenPipeError):  # the stand-in ended first
        running.stand_in.sendall(str(os.waitstatus_to_exitcode(status)).encode())
    running.stand_in.close()
    os.close(running.life)


if __name__ == "__main__":
    load_ruleset()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(sys.argv[1])
        listening.listen(128)
        print("ready", flush=True)
        fork_scanners(listening)
