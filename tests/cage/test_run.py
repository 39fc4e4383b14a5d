"""The cage restricts tools to their input."""

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
from assay.cage.run import CagedCommand, CagedExit, CageLimits, run_caged
from tests.support.processes import is_running, until

pytestmark = pytest.mark.process

PYTHON = str(Path(sys.executable).resolve())
QUICK = CageLimits(wall_seconds=60)
DATAGRAM = "import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', {port}))"


async def run(program: str, folder: Path, limits: CageLimits = QUICK) -> CagedExit:
    """Run a Python program in the cage."""
    return await run_caged(CagedCommand([PYTHON, "-I", "-c", program], folder), limits)


@pytest.fixture
def listener() -> Iterator[int]:
    """Open a listening port on this machine."""
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
async def test_no_network(program: str, listener: int, tmp_path: Path) -> None:
    """G48: neither for the tool nor its children, not even loopback."""
    outside = subprocess.run([PYTHON, "-I", "-c", program.format(port=listener)], capture_output=True, timeout=60)
    assert outside.returncode == 0, "the test itself must be able to do it"
    ended = await run(program.format(port=listener), tmp_path)
    assert ended.code == 1, ended.errors
    assert "PermissionError" in ended.errors or "OSError" in ended.errors or "CalledProcessError" in ended.errors


async def test_no_network_without_namespaces(listener: int, tmp_path: Path) -> None:
    """the missing kernel feature is named."""
    order = {
        "parent": os.getpid(),
        "command": [PYTHON, "-I", "-c", DATAGRAM.format(port=listener)],
        "folder": str(tmp_path),
        "environment": {},
        "refusals_file": str(tmp_path / "refusals.json"),
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
    assert '"namespaces": "not here"' in (tmp_path / "refusals.json").read_text()
    assert "seccomp" not in (tmp_path / "refusals.json").read_text()


async def test_only_given_files_and_variables_are_visible(tmp_path: Path) -> None:
    """G48: only its own folder is writable."""
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
        ("import time; time.sleep(600)", CageLimits(wall_seconds=1)),
        ("while True: pass", CageLimits(wall_seconds=60, cpu_seconds=1)),
        ("x = bytearray(2_000_000_000)", CageLimits(wall_seconds=60, memory_bytes=500_000_000)),
        (
            "import os; open(os.environ['TMPDIR'] + '/big', 'wb').write(bytes(20_000_000))",
            CageLimits(wall_seconds=60, file_bytes=1_000_000),
        ),
        ("print('x' * 10_000_000)", CageLimits(wall_seconds=60, output_bytes=1_000_000)),
    ],
    ids=["wall", "cpu", "memory", "file", "output"],
)
async def test_resource_limits(program: str, limits: CageLimits, tmp_path: Path) -> None:
    """time, memory, files and output."""
    ended = await run(program, tmp_path, limits)
    assert ended.code != 0 or ended.overflowed
    assert ended.timed_out == (limits.wall_seconds == 1)


async def test_no_child_outlives_the_tool(tmp_path: Path) -> None:
    mark = f"outlives-{os.getpid()}"
    program = f"""
import os, sys, time
if os.fork() == 0:
    os.setsid()
    os.execv({PYTHON!r}, [{PYTHON!r}, "-I", "-c", "import time; time.sleep(600)", {mark!r}])
time.sleep(600)
"""
    await run(program, tmp_path, CageLimits(wall_seconds=2))

    async def is_gone() -> bool:
        return not _processes_with(mark)

    await until(is_gone, 20)


async def test_tool_dies_with_its_node(tmp_path: Path) -> None:
    mark = f"orphan-{os.getpid()}"
    program = f"""
import asyncio
from pathlib import Path
from assay.cage.run import CagedCommand, CageLimits, run_caged
command = CagedCommand([{PYTHON!r}, "-I", "-c", "import time; time.sleep(600)", {mark!r}], Path({str(tmp_path)!r}))
asyncio.run(run_caged(command, CageLimits()))
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
