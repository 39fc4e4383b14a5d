"""Run git in isolation: without configuration, hooks, helpers or prompts, and within limits."""

import asyncio
import os
import shutil
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.model.errors import Unavailable

LARGEST_STDERR_BYTES = 4096
BLOCK_BYTES = 512
# Ignore the configuration of the machine and the user, and everything that a repository could bring along.
ISOLATION = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.askPass=",
    "credential.helper=",
    "credential.interactive=false",
    "fetch.recurseSubmodules=false",
    "submodule.recurse=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "http.proxy=",
    "http.cookieFile=",
    "http.followRedirects=false",
    "http.sslVerify=true",
    "http.lowSpeedLimit=1000",
    "http.lowSpeedTime=30",
    "protocol.version=2",
    "protocol.allow=never",
)
# `ulimit` counts blocks; a process that writes a larger file is killed.
BOUNDED = 'ulimit -f "$1" && ulimit -c 0 && shift && exec "$@"'


@dataclass(frozen=True, slots=True)
class GitExit:
    """The exit status of a git command and the end of its standard error."""

    status: int
    stderr: str

    @property
    def is_too_large(self) -> bool:
        """True if it failed because a file exceeded the size limit."""
        signs = (f"signal {int(signal.SIGXFSZ)}", "File too large")
        return self.status == -signal.SIGXFSZ or any(sign in self.stderr for sign in signs)


@dataclass(frozen=True)
class Bounds:
    """Time limit of a command and size limit of each file that it writes."""

    seconds: float
    file_bytes: int


def find_git() -> str:
    """Return the path of git; raise Unavailable with a remedy if it is not installed."""
    found = shutil.which("git")
    if found is None:
        message = "git is not installed on this machine. Repositories on hosts other than GitHub need it; install git."
        raise Unavailable(message, code="git_missing", retry_after_seconds=600)
    return found


async def run_git(
    arguments: Sequence[str],
    folder: Path,
    bounds: Bounds,
    *,
    options: Mapping[str, str] | None = None,
    read: Path | None = None,
    write: Path | None = None,
    trace: Path | None = None,
) -> GitExit:
    """Run git in a folder. Its whole process group is killed when this returns or raises.

    Response headers of servers are written to `trace`.
    """
    overrides = [f"{name}={value}" for name, value in (options or {}).items()]
    settings = [part for option in (*ISOLATION, *overrides) for part in ("-c", option)]
    blocks = str(bounds.file_bytes // BLOCK_BYTES)
    command = ["/bin/sh", "-c", BOUNDED, "sh", blocks, find_git(), *settings, *arguments]
    stderr_file = folder / "stderr"
    with (
        (read or Path(os.devnull)).open("rb") as stdin,
        (write or Path(os.devnull)).open("wb") as stdout,
        stderr_file.open("wb") as stderr,
    ):
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            cwd=folder,
            env=_environment(folder, trace),
            start_new_session=True,
        )
        try:
            async with asyncio.timeout(bounds.seconds):
                status = await process.wait()
        except TimeoutError:
            raise Unavailable(f"git took longer than {bounds.seconds:.0f} s.", code="git_timeout") from None
        finally:
            await _kill_group(process)
    return GitExit(status, _tail(stderr_file))


def _tail(stderr_file: Path) -> str:
    """Return the end of the output, where git reports its error; before it, a server may send any text."""
    with stderr_file.open("rb") as stream:
        stream.seek(max(0, os.fstat(stream.fileno()).st_size - LARGEST_STDERR_BYTES))
        return stream.read(LARGEST_STDERR_BYTES).decode(errors="replace")


def _environment(folder: Path, trace: Path | None) -> dict[str, str]:
    traced = {"GIT_TRACE_CURL": str(trace), "GIT_TRACE_CURL_NO_DATA": "1"} if trace else {}
    return {
        **traced,
        "PATH": os.defpath,
        "HOME": str(folder),
        "LC_ALL": "C",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ASKPASS": "false",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_OPTIONAL_LOCKS": "0",
    }


async def _kill_group(process: asyncio.subprocess.Process) -> None:
    """Kill git and the helpers that it started, which would outlive it."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    finally:
        await process.wait()
