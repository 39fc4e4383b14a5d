"""What a tool can do in its cage: look at what it is given, and nothing else."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.cage.__main__ import main
from assay.cage.run import Command, Ended, Limits, run_caged
from tests.support.processes import is_running, until

PYTHON = str(Path(sys.executable).resolve())
QUICK = Limits(wall_seconds=60)
DATAGRAM = "import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', {port}))"


async def run(program: str, folder: Path, limits: Limits = QUICK) -> Ended:
    """A program in Python, in the cage."""
    return await run_caged(Command([PYTHON, "-I", "-c", program], folder), limits)


@pytest.fixture
def listener() -> Iterator[int]:
    """A port of this machine at which somebody listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.mark.parametrize(
    "program",
    [
        "import socket; socket.create_connection(('127.0.0.1', {port}), 5)",
        DATAGRAM,
        "import socket; socket.create_server(('127.0.0.1', 0))",
        "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import socket; socket.create_connection("
        '("127.0.0.1", {port}), 5)\'], check=True)',
    ],
    ids=["connect", "datagram", "listen", "child"],
)
async def test_a_tool_has_no_network(program: str, listener: int, tmp_path: Path) -> None:
    """G48: neither it nor what it starts reaches anybody, not even on its own machine."""
    outside = subprocess.run([PYTHON, "-I", "-c", program.format(port=listener)], capture_output=True, timeout=60)
    assert outside.returncode == 0, "the test itself must be able to do it"
    ended = await run(program.format(port=listener), tmp_path)
    assert ended.code == 1, ended.errors
    assert "PermissionError" in ended.errors or "OSError" in ended.errors or "CalledProcessError" in ended.errors


async def test_without_namespaces_there_is_still_no_network(listener: int, tmp_path: Path) -> None:
    """A kernel that refuses namespaces is named in the result, and the other means hold."""
    order = {
        "parent": os.getpid(),
        "command": [PYTHON, "-I", "-c", DATAGRAM.format(port=listener)],
        "folder": str(tmp_path),
        "environment": {},
        "told": str(tmp_path / "told.json"),
        "readable": ["/"],
        "writable": [],
        "limits": {},
    }
    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)

        def refuse() -> None:
            raise PermissionError("not here")

        main({**order, "parent": os.getppid()}, refuse)
        os._exit(0)
    _, status = await asyncio.to_thread(os.waitpid, child, 0)
    assert os.waitstatus_to_exitcode(status) == 1
    assert '"namespaces": "not here"' in (tmp_path / "told.json").read_text()
    assert "seccomp" not in (tmp_path / "told.json").read_text()


async def test_a_tool_sees_only_what_it_is_given(tmp_path: Path) -> None:
    """G48: no variable of ours, no file of ours, and nothing that can be written but a folder of its own."""
    secret = tmp_path / "secrets.json"
    secret.write_text("the key")
    given = tmp_path / "given"
    given.mkdir()
    (given / "skill.txt").write_text("look at me")
    program = f"""
import os, tempfile
print(sorted(os.environ), open("skill.txt").read(), os.getpid())
open(os.path.join(tempfile.gettempdir(), "mine"), "w").write("fine")
for path, mode in (({str(secret)!r}, "r"), ("skill.txt", "a"), ("new.txt", "w")):
    try:
        open(path, mode)
    except PermissionError:
        print("refused", mode)
"""
    ended = await run(program, given)
    assert ended.refused == {}, "this machine lets a tool have more than it should; see `assay doctor`"
    lines = ended.output.decode().splitlines()
    assert lines == ["['HOME', 'LANG', 'TMPDIR'] look at me 1", "refused r", "refused a", "refused w"], ended.errors


@pytest.mark.parametrize(
    ("program", "limits"),
    [
        ("import time; time.sleep(600)", Limits(wall_seconds=1)),
        ("while True: pass", Limits(wall_seconds=60, cpu_seconds=1)),
        ("x = bytearray(2_000_000_000)", Limits(wall_seconds=60, memory_bytes=500_000_000)),
        (
            "import os; open(os.environ['TMPDIR'] + '/big', 'wb').write(bytes(20_000_000))",
            Limits(wall_seconds=60, file_bytes=1_000_000),
        ),
        ("print('x' * 10_000_000)", Limits(wall_seconds=60, output_bytes=1_000_000)),
    ],
    ids=["wall", "cpu", "memory", "file", "output"],
)
async def test_a_tool_gets_so_much_and_no_more(program: str, limits: Limits, tmp_path: Path) -> None:
    """Time, memory, files and words all end somewhere."""
    ended = await run(program, tmp_path, limits)
    assert ended.code != 0 or ended.overflowed
    assert ended.timed_out == (limits.wall_seconds == 1)


async def test_nothing_that_a_tool_starts_outlives_it(tmp_path: Path) -> None:
    """Not even a process that has left the group: when the time is up, all of them are gone."""
    mark = f"outlives-{os.getpid()}"
    program = f"""
import os, sys, time
if os.fork() == 0:
    os.setsid()
    os.execv({PYTHON!r}, [{PYTHON!r}, "-I", "-c", "import time; time.sleep(600)", {mark!r}])
time.sleep(600)
"""
    await run(program, tmp_path, Limits(wall_seconds=2))

    async def is_gone() -> bool:
        return not _processes_with(mark)

    await until(is_gone, 20)


async def test_a_tool_dies_with_its_node(tmp_path: Path) -> None:
    """A node that is killed leaves no tool behind."""
    mark = f"orphan-{os.getpid()}"
    program = f"""
import asyncio
from pathlib import Path
from assay.cage.run import Command, Limits, run_caged
command = Command([{PYTHON!r}, "-I", "-c", "import time; time.sleep(600)", {mark!r}], Path({str(tmp_path)!r}))
asyncio.run(run_caged(command, Limits()))
"""
    node = subprocess.Popen([sys.executable, "-c", program])

    async def has_begun() -> bool:
        return any("-I" in command for command in _processes_with(mark).values())

    async def is_gone() -> bool:
        return not {pid for pid in _processes_with(mark) if is_running(pid)}

    await until(has_begun, 60)
    node.send_signal(signal.SIGKILL)
    node.wait()
    await until(is_gone, 20)


def _processes_with(mark: str) -> dict[int, str]:
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            command = (folder / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if mark.encode() in command:
            found[int(folder.name)] = b" ".join(command).decode()
    return found
