"""Repositories on any git server: their newest commit, and the files of one commit without its history."""

import asyncio
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from assay.git.address import ServerAddress, resolve_server
from assay.git.command import Bounds, GitExit, run_git
from assay.git.objects import BARE, GitCommit, list_tree
from assay.model.errors import AssayError, Invalid, NotFound, RateLimited, Refused, Unavailable
from assay.model.repository import RepositoryFacts, RepositoryName, TreeEntry
from assay.scratch import scratch_folder

MIB = 1024 * 1024
COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
VERSION = re.compile(r"git version (\d+)\.(\d+)")
# The first version with `http.curloptResolve`, which pins the address of a server.
OLDEST_VERSION = (2, 37)
HTTP_STATUS = re.compile(r"returned error: (\d{3})")
LOOK_UP = Bounds(seconds=30, file_bytes=MIB)
FETCH = Bounds(seconds=180, file_bytes=256 * MIB)
READ = Bounds(seconds=120, file_bytes=512 * MIB)
# Fetch one commit without its history, tags or submodules.
SHALLOW = ("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--depth=1")
# Content type that identifies a git server.
ADVERTISEMENT = b"application/x-git-upload-pack-advertisement"
RATE_LIMITED_SECONDS = 60
REFUSED_SECONDS = 600


@dataclass(frozen=True)
class GitOptions:
    """Concurrency, time and size limits of git commands."""

    concurrency: int = 4
    look_up: Bounds = LOOK_UP
    fetch: Bounds = FETCH
    read: Bounds = READ


class Git:
    """The client of one process. Every command runs in an empty folder that is deleted afterwards."""

    def __init__(self, options: GitOptions | None = None) -> None:
        self.options = options or GitOptions()
        self._gate = asyncio.Semaphore(self.options.concurrency)
        self._is_checked = False

    async def resolve(self, name: RepositoryName) -> tuple[RepositoryFacts, str]:
        """Return the default branch of a repository and its newest commit."""
        async with self._gate, _empty_folder() as folder:
            heads, trace = folder / "heads", folder / "trace"
            arguments = ("ls-remote", "--symref", "--", name.clone_url, "HEAD")
            await self._run(arguments, name, folder, self.options.look_up, write=heads, trace=trace)
            branch, commit = _parse_head(await asyncio.to_thread(heads.read_text, errors="replace"))
            # git reports an empty response of any HTTP server as an empty repository, so check that it is a git server.
            is_git = ADVERTISEMENT in await asyncio.to_thread(trace.read_bytes)
        if commit is None and is_git:
            raise NotFound(f"{name.clone_url} is empty.", code="source_empty")
        if commit is None:
            raise Unavailable(f"{name.server} does not respond like a git server.", code="git_unavailable")
        return RepositoryFacts(name, None, branch, None), commit

    async def list_files(self, name: RepositoryName, commit: str) -> list[TreeEntry]:
        """Return all files of a commit; their sizes are unknown and reported as 0."""
        async with self._fetched(name, commit, "blob:none") as folder:
            entries = await list_tree(folder, commit, self.options.read)
        return [TreeEntry(each.path, 0, each.is_regular) for each in entries if each.is_file]

    @asynccontextmanager
    async def open_commit(self, name: RepositoryName, commit: str, *, file_bytes: int) -> AsyncIterator[GitCommit]:
        """Yield the files of a commit for the duration of the block; files larger than `file_bytes` are not fetched."""
        async with self._fetched(name, commit, f"blob:limit={file_bytes + 1}") as folder:
            yield GitCommit(folder, await list_tree(folder, commit, self.options.read), self.options.read)

    @asynccontextmanager
    async def _fetched(self, name: RepositoryName, commit: str, object_filter: str) -> AsyncIterator[Path]:
        if not COMMIT.fullmatch(commit):
            raise Invalid(f"{commit[:100]!r} is not a commit id.", code="bad_commit")
        async with self._gate, _empty_folder() as folder:
            await run_git(("init", "--quiet", "--bare", "--template=", "."), folder, self.options.look_up)
            arguments = (*SHALLOW, f"--filter={object_filter}", "--", name.clone_url, commit)
            await self._run(arguments, name, folder, self.options.fetch)
            # Drop the remote that git recorded: it would fetch missing objects from it as soon as they are read.
            await asyncio.to_thread((folder / "config").write_text, BARE)
            yield folder

    async def _check_version(self, folder: Path) -> None:
        """Check once that git supports pinning: an older version would silently ignore the option."""
        if self._is_checked:
            return
        output = folder / "version"
        await run_git(("version",), folder, self.options.look_up, write=output)
        found = VERSION.search(await asyncio.to_thread(output.read_text, errors="replace"))
        if found is None or (int(found[1]), int(found[2])) < OLDEST_VERSION:
            oldest = ".".join(map(str, OLDEST_VERSION))
            message = f"Repositories on hosts other than GitHub need git {oldest} or newer on this machine."
            raise Unavailable(message, code="git_missing", retry_after_seconds=REFUSED_SECONDS)
        self._is_checked = True

    async def _run(
        self,
        arguments: Sequence[str],
        name: RepositoryName,
        folder: Path,
        bounds: Bounds,
        write: Path | None = None,
        trace: Path | None = None,
    ) -> None:
        """Run a command that can connect to this server only, at addresses resolved just before."""
        await self._check_version(folder)
        address = await resolve_server(name.server)
        exit_ = await run_git(arguments, folder, bounds, options=_pinned(address, name), write=write, trace=trace)
        if exit_.status != 0:
            raise _error_for(exit_, name)


def _pinned(address: ServerAddress, name: RepositoryName) -> dict[str, str]:
    scheme = name.clone_url.partition(":")[0]
    return {f"protocol.{scheme}.allow": "always", "http.curloptResolve": address.pin}


@asynccontextmanager
async def _empty_folder() -> AsyncIterator[Path]:
    scratch = scratch_folder("git")
    folder = await asyncio.to_thread(scratch.__enter__)
    try:
        yield folder
    finally:
        await asyncio.to_thread(scratch.__exit__, None, None, None)


def _parse_head(listed: str) -> tuple[str, str | None]:
    branch, commit = "HEAD", None
    for line in listed.splitlines():
        value, _, ref = line.partition("\t")
        if ref == "HEAD" and value.startswith("ref: refs/heads/"):
            branch = value.removeprefix("ref: refs/heads/")[:200]
        elif ref == "HEAD" and COMMIT.fullmatch(value):
            commit = value
    return branch, commit


def _error_for(exit_: GitExit, name: RepositoryName) -> AssayError:
    """Map a failed command to an error. git's output is not quoted: part of it comes from the server."""
    if exit_.is_too_large:
        return Invalid(f"{name.clone_url} is too large to be fetched.", code="archive_too_large")
    found = HTTP_STATUS.search(exit_.stderr)
    status = int(found.group(1)) if found else 0
    wants_login = "could not read Username" in exit_.stderr or "Authentication failed" in exit_.stderr
    match status:
        case 301 | 302 | 303 | 307 | 308:
            message = f"{name.clone_url} redirects elsewhere; submit the URL that it redirects to."
            return Refused(message, code="git_redirect", retry_after_seconds=REFUSED_SECONDS)
        case 429:
            message = f"{name.server} asks for fewer requests."
            return RateLimited(message, retry_after_seconds=RATE_LIMITED_SECONDS)
        case 410:
            return NotFound(f"{name.clone_url} is permanently gone.", code="source_gone")
        case 401 | 404:
            return _not_found(name)
        case 403:
            message = f"{name.server} denied access to {name.clone_url}."
            return Refused(message, code="git_forbidden", retry_after_seconds=REFUSED_SECONDS)
        case 0 if wants_login or " not found" in exit_.stderr:
            return _not_found(name)
        case _:
            reason = f"it answered with status {status}" if status else f"git exited with {exit_.status}"
            return Unavailable(f"{name.server} is unavailable: {reason}.", code="git_unavailable")


def _not_found(name: RepositoryName) -> NotFound:
    return NotFound(
        f"{name.clone_url} was not found: it was deleted, is private, or never existed.", code="source_not_found"
    )
