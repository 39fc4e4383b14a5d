"""Run a tool where it can do no harm: no network, few folders, little of everything, and an end."""

import asyncio
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

import assay
from assay.cage.__main__ import UNCAGED
from assay.scratch import scratch_folder

MEGABYTE = 1024 * 1024
# What every program reads: libraries, certificates, the clock. Not the homes, not the data directory.
SYSTEM = tuple(map(Path, ("/usr", "/lib", "/lib64", "/bin", "/sbin", "/etc", "/opt", "/proc", "/sys")))
DEVICES = tuple(map(Path, ("/dev/null", "/dev/zero", "/dev/urandom", "/dev/random", "/dev/tty")))
LARGEST_ERROR_OUTPUT = 64 * 1024


@dataclass(frozen=True)
class Limits:
    """The most that one start of a tool may use."""

    wall_seconds: float = 300
    cpu_seconds: int = 600
    memory_bytes: int = 8 * 1024 * MEGABYTE
    file_bytes: int = 256 * MEGABYTE
    processes: int = 4096
    open_files: int = 1024
    output_bytes: int = 32 * MEGABYTE


@dataclass(frozen=True)
class Command:
    """What to run: a program by its full path, with everything it may see."""

    program: Sequence[str]
    folder: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    readable: Sequence[Path] = ()
    writable: Sequence[Path] = ()


@dataclass(frozen=True)
class Ended:
    """How a run ended. `refused` says what the kernel did not let us give up, and why."""

    code: int
    output: bytes
    errors: str
    timed_out: bool
    overflowed: bool
    refused: Mapping[str, str]

    @property
    def was_caged(self) -> bool:
        """Whether the tool began at all: without a cage that keeps it off the network, it does not."""
        return self.code != UNCAGED


async def run_caged(command: Command, limits: Limits) -> Ended:
    """Run it to its end, or to the end of its time; whatever it started is gone afterwards."""
    with scratch_folder("cage") as private:
        told = private / "cage.json"
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "assay.cage",
            msgspec.json.encode(_order(command, limits, private, told)).decode(),
            stdin=DEVNULL,
            stdout=PIPE,
            stderr=PIPE,
            # Only what the interpreter needs to find the cage; the tool gets the environment of the order.
            env={"PYTHONPATH": str(Path(assay.__file__).parents[1]), "PYTHONDONTWRITEBYTECODE": "1"},
            start_new_session=True,
        )
        assert process.stdout is not None
        assert process.stderr is not None
        output, errors = _Collected(limits.output_bytes, process), _Collected(LARGEST_ERROR_OUTPUT, None)
        timed_out = False
        try:
            async with asyncio.timeout(limits.wall_seconds):
                await asyncio.gather(output.read(process.stdout), errors.read(process.stderr))
                await process.wait()
        except TimeoutError:
            timed_out = True
        finally:
            await _end(process)
        refused = _refusals(told)
    said = errors.content.decode(errors="replace")
    return Ended(process.returncode or 0, bytes(output.content), said, timed_out, output.overflowed, refused)


class _Collected:
    """What comes out of a pipe, up to a limit. Beyond it the process is ended, or the rest is dropped."""

    def __init__(self, at_most: int, process: Process | None) -> None:
        self.content = bytearray()
        self.overflowed = False
        self._at_most = at_most
        self._process = process

    async def read(self, pipe: asyncio.StreamReader) -> None:
        while chunk := await pipe.read(MEGABYTE):
            if len(self.content) + len(chunk) > self._at_most:
                self.overflowed = True
                if self._process is not None:
                    _kill(self._process)
                    return
            else:
                self.content += chunk


def _order(command: Command, limits: Limits, private: Path, told: Path) -> dict[str, object]:
    temporary = private / "tmp"
    temporary.mkdir()
    environment = {"HOME": str(temporary), "TMPDIR": str(temporary), "LANG": "C.UTF-8", **command.environment}
    return {
        "parent": os.getpid(),
        "command": list(map(str, command.program)),
        "folder": str(command.folder),
        "environment": environment,
        "told": str(told),
        "readable": [str(each) for each in (*SYSTEM, *_interpreter(), command.folder, *command.readable)],
        "writable": [str(each) for each in (*DEVICES, temporary, *command.writable)],
        "limits": {
            "RLIMIT_CPU": limits.cpu_seconds,
            "RLIMIT_AS": limits.memory_bytes,
            "RLIMIT_FSIZE": limits.file_bytes,
            "RLIMIT_NPROC": limits.processes,
            "RLIMIT_NOFILE": limits.open_files,
            "RLIMIT_CORE": 0,
        },
    }


def _interpreter() -> tuple[Path, ...]:
    """Where the Python is that the tools' own environment is made from."""
    return Path(sys.base_prefix), Path(sys.executable).resolve().parent.parent


async def _end(process: Process) -> None:
    """All of its group, also what was left behind by a tool that ended by itself."""
    _kill(process)
    await process.wait()


def _kill(process: Process) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def _refusals(told: Path) -> dict[str, str]:
    try:
        return msgspec.json.decode(told.read_bytes(), type=dict[str, str])
    except (OSError, msgspec.DecodeError):
        return {"cage": "it did not say what it gave up"}
