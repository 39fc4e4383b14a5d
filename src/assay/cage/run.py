"""Run an untrusted tool in the cage: without network, with few folders, and within limits of time and resources."""

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
# Libraries, certificates and time zones; no home folders and no data directory.
SYSTEM = tuple(map(Path, ("/usr", "/lib", "/lib64", "/bin", "/sbin", "/etc", "/opt", "/proc", "/sys")))
DEVICES = tuple(map(Path, ("/dev/null", "/dev/zero", "/dev/urandom", "/dev/random", "/dev/tty")))
LARGEST_ERROR_OUTPUT = 64 * 1024


@dataclass(frozen=True)
class CageLimits:
    """Limits of one run of a tool."""

    wall_seconds: float = 300
    cpu_seconds: int = 600
    memory_bytes: int = 8 * 1024 * MEGABYTE
    file_bytes: int = 256 * MEGABYTE
    processes: int = 4096
    open_files: int = 1024
    output_bytes: int = 32 * MEGABYTE


@dataclass(frozen=True)
class CagedCommand:
    """A program given by its full path, and everything it may access."""

    program: Sequence[str]
    folder: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    readable: Sequence[Path] = ()
    writable: Sequence[Path] = ()


@dataclass(frozen=True)
class CagedExit:
    """The exit of a caged run. `refused` maps each restriction that the kernel refused to its error."""

    code: int
    output: bytes
    errors: str
    timed_out: bool
    overflowed: bool
    refused: Mapping[str, str]

    @property
    def was_caged(self) -> bool:
        """False if the tool was not started because it could not be kept off the network."""
        return self.code != UNCAGED


async def run_caged(command: CagedCommand, limits: CageLimits) -> CagedExit:
    """Run a command until it exits or its time is up, then kill every process that it started."""
    with scratch_folder("cage") as private:
        refusals_file = private / "cage.json"
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "assay.cage",
            msgspec.json.encode(_order(command, limits, private, refusals_file)).decode(),
            stdin=DEVNULL,
            stdout=PIPE,
            stderr=PIPE,
            # Only what the interpreter needs to find the cage; the tool gets its environment from the order.
            env={"PYTHONPATH": str(Path(assay.__file__).parents[1]), "PYTHONDONTWRITEBYTECODE": "1"},
            start_new_session=True,
        )
        assert process.stdout is not None
        assert process.stderr is not None
        output, errors = _BoundedOutput(limits.output_bytes, process), _BoundedOutput(LARGEST_ERROR_OUTPUT, None)
        timed_out = False
        try:
            async with asyncio.timeout(limits.wall_seconds):
                await asyncio.gather(output.read(process.stdout), errors.read(process.stderr))
                await process.wait()
        except TimeoutError:
            timed_out = True
        finally:
            await _kill_and_wait(process)
        refused = _read_refusals(refusals_file)
    stderr = errors.content.decode(errors="replace")
    return CagedExit(process.returncode or 0, bytes(output.content), stderr, timed_out, output.overflowed, refused)


class _BoundedOutput:
    """Output of a pipe up to a limit. Beyond it the process is killed, or, without a process, the rest is dropped."""

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


def _order(command: CagedCommand, limits: CageLimits, private: Path, refusals_file: Path) -> dict[str, object]:
    temporary = private / "tmp"
    temporary.mkdir()
    environment = {"HOME": str(temporary), "TMPDIR": str(temporary), "LANG": "C.UTF-8", **command.environment}
    return {
        "parent": os.getpid(),
        "command": list(map(str, command.program)),
        "folder": str(command.folder),
        "environment": environment,
        "refusals_file": str(refusals_file),
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
    """Return the folders of the Python installation that the tools' virtual environment is based on."""
    return Path(sys.base_prefix), Path(sys.executable).resolve().parent.parent


async def _kill_and_wait(process: Process) -> None:
    """Kill the whole process group, including processes left behind by a tool that has exited."""
    _kill(process)
    await process.wait()


def _kill(process: Process) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def _read_refusals(file: Path) -> dict[str, str]:
    try:
        return msgspec.json.decode(file.read_bytes(), type=dict[str, str])
    except (OSError, msgspec.DecodeError):
        return {"cage": "the caged process did not report its restrictions"}
