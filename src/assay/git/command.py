"""Run git so that it does what we ask and nothing else: no configuration, hooks, helpers or prompts, within limits."""

import asyncio
import os
import shutil
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.model.errors import Unavailable

LARGEST_REMARK_BYTES = 4096
BLOCK_BYTES = 512
# Nothing of the machine's or the user's configuration, and nothing of what a repository could bring along.
QUIET = (
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
# `ulimit` counts blocks; a file beyond it ends the process that writes it.
BOUNDED = 'ulimit -f "$1" && ulimit -c 0 && shift && exec "$@"'


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended, and what it said about it."""

    status: int
    remark: str

    @property
    def is_too_large(self) -> bool:
        """Whether it was ended because of what it wrote."""
        signs = (f"signal {int(signal.SIGXFSZ)}", "File too large")
        return self.status == -signal.SIGXFSZ or any(sign in self.remark for sign in signs)


@dataclass(frozen=True)
class Bounds:
    """How long a command may take and how large a file it may write."""

    seconds: float
    file_bytes: int


def find_git() -> str:
    """Where git is; Unavailable with what to do if it is nowhere."""
    found = shutil.which("git")
    if found is None:
        message = "There is no git on this machine: repositories of other hosts than GitHub need it. Install git."
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
) -> Ended:
    """Run git in a folder of its own. It and all it started are ended when this returns, however it returns.

    What servers answer beside their content is written to `trace`.
    """
    given = [f"{name}={value}" for name, value in (options or {}).items()]
    settings = [part for option in (*QUIET, *given) for part in ("-c", option)]
    blocks = str(bounds.file_bytes // BLOCK_BYTES)
    command = ["/bin/sh", "-c", BOUNDED, "sh", blocks, find_git(), *settings, *arguments]
    remarks = folder / "remarks"
    with (
        (read or Path(os.devnull)).open("rb") as stdin,
        (write or Path(os.devnull)).open("wb") as stdout,
        remarks.open("wb") as stderr,
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
            await _end(process)
    return Ended(status, _end_of(remarks))


def _end_of(remarks: Path) -> str:
    """The end says why git ended; before it, a server may say what it likes."""
    with remarks.open("rb") as said:
        said.seek(max(0, os.fstat(said.fileno()).st_size - LARGEST_REMARK_BYTES))
        return said.read(LARGEST_REMARK_BYTES).decode(errors="replace")


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


async def _end(process: asyncio.subprocess.Process) -> None:
    """The whole group: git starts others, which would go on without it."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    finally:
        await process.wait()
