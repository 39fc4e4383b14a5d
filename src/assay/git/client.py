"""Repositories of any git server: what their newest commit is, and the files of one commit, without their history."""

import asyncio
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from assay.git.address import Address, find_address
from assay.git.command import Bounds, Ended, run_git
from assay.git.objects import BARE, GitCommit, list_tree
from assay.model.errors import AssayError, Invalid, NotFound, RateLimited, Refused, Unavailable
from assay.model.repository import RepositoryFacts, RepositoryName, TreeEntry
from assay.scratch import scratch_folder

MIB = 1024 * 1024
COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
VERSION = re.compile(r"git version (\d+)\.(\d+)")
# The first that can be told to which address a name leads (`http.curloptResolve`).
OLDEST = (2, 37)
HTTP_STATUS = re.compile(r"returned error: (\d{3})")
LOOK_UP = Bounds(seconds=30, file_bytes=MIB)
FETCH = Bounds(seconds=180, file_bytes=256 * MIB)
READ = Bounds(seconds=120, file_bytes=512 * MIB)
# The one commit, not its history, and none of what else a server might offer.
SHALLOW = ("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--depth=1")
# How a server shows that it is one of git's.
ADVERTISEMENT = b"application/x-git-upload-pack-advertisement"
PAUSE_SECONDS = 60
REFUSED_SECONDS = 600


@dataclass(frozen=True)
class GitOptions:
    """How much git may do: at once, for how long, and how much it may write."""

    at_once: int = 4
    look_up: Bounds = LOOK_UP
    fetch: Bounds = FETCH
    read: Bounds = READ


class Git:
    """A client for one process. Every command runs in an empty folder that is gone afterwards."""

    def __init__(self, options: GitOptions | None = None) -> None:
        self.options = options or GitOptions()
        self._gate = asyncio.Semaphore(self.options.at_once)
        self._is_checked = False

    async def resolve(self, name: RepositoryName) -> tuple[RepositoryFacts, str]:
        """What the server says of a repository: its default branch and the newest commit of it."""
        async with self._gate, _empty_folder() as folder:
            heads, trace = folder / "heads", folder / "trace"
            asked = ("ls-remote", "--symref", "--", name.clone_url, "HEAD")
            await self._run(asked, name, folder, self.options.look_up, write=heads, trace=trace)
            branch, commit = _head_of(await asyncio.to_thread(heads.read_text, errors="replace"))
            # An empty answer of whatever stands there is an empty repository to git, but says nothing to us.
            is_git = ADVERTISEMENT in await asyncio.to_thread(trace.read_bytes)
        if commit is None and is_git:
            raise NotFound(f"{name.clone_url} is empty.", code="source_empty")
        if commit is None:
            raise Unavailable(f"{name.server} does not answer as a git server does.", code="git_unavailable")
        return RepositoryFacts(name, None, branch, None), commit

    async def list_files(self, name: RepositoryName, commit: str) -> list[TreeEntry]:
        """All files of a commit; their sizes are not known."""
        async with self._fetched(name, commit, "blob:none") as folder:
            entries = await list_tree(folder, commit, self.options.read)
        return [TreeEntry(each.path, 0, each.is_regular) for each in entries if each.is_file]

    @asynccontextmanager
    async def open_commit(self, name: RepositoryName, commit: str, *, file_bytes: int) -> AsyncIterator[GitCommit]:
        """The files of a commit as long as the block lasts; larger ones than asked for are not fetched."""
        async with self._fetched(name, commit, f"blob:limit={file_bytes + 1}") as folder:
            yield GitCommit(folder, await list_tree(folder, commit, self.options.read), self.options.read)

    @asynccontextmanager
    async def _fetched(self, name: RepositoryName, commit: str, kept: str) -> AsyncIterator[Path]:
        if not COMMIT.fullmatch(commit):
            raise Invalid(f"{commit[:100]!r} is no commit.", code="bad_commit")
        async with self._gate, _empty_folder() as folder:
            await run_git(("init", "--quiet", "--bare", "--template=", "."), folder, self.options.look_up)
            asked = (*SHALLOW, f"--filter={kept}", "--", name.clone_url, commit)
            await self._run(asked, name, folder, self.options.fetch)
            # What git noted about the server would have it fetch what is missing as soon as somebody looks at it.
            await asyncio.to_thread((folder / "config").write_text, BARE)
            yield folder

    async def _check_version(self, folder: Path) -> None:
        """Once: an older git would take no notice of where it is told to connect to."""
        if self._is_checked:
            return
        said = folder / "version"
        await run_git(("version",), folder, self.options.look_up, write=said)
        found = VERSION.search(await asyncio.to_thread(said.read_text, errors="replace"))
        if found is None or (int(found[1]), int(found[2])) < OLDEST:
            oldest = ".".join(map(str, OLDEST))
            message = f"Repositories of other hosts than GitHub need git {oldest} or newer on this machine."
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
        """One command that may talk to this server, at the addresses that were just looked up, and to no other."""
        await self._check_version(folder)
        address = await find_address(name.server)
        ended = await run_git(arguments, folder, bounds, options=_only(address, name), write=write, trace=trace)
        if ended.status != 0:
            raise _error_of(ended, name)


def _only(address: Address, name: RepositoryName) -> dict[str, str]:
    scheme = name.clone_url.partition(":")[0]
    return {f"protocol.{scheme}.allow": "always", "http.curloptResolve": address.pin}


@asynccontextmanager
async def _empty_folder() -> AsyncIterator[Path]:
    made = scratch_folder("git")
    folder = await asyncio.to_thread(made.__enter__)
    try:
        yield folder
    finally:
        await asyncio.to_thread(made.__exit__, None, None, None)


def _head_of(listed: str) -> tuple[str, str | None]:
    branch, commit = "HEAD", None
    for line in listed.splitlines():
        value, _, ref = line.partition("\t")
        if ref == "HEAD" and value.startswith("ref: refs/heads/"):
            branch = value.removeprefix("ref: refs/heads/")[:200]
        elif ref == "HEAD" and COMMIT.fullmatch(value):
            commit = value
    return branch, commit


def _error_of(ended: Ended, name: RepositoryName) -> AssayError:
    """What git's end means. Its words are not passed on: they are partly the server's."""
    if ended.is_too_large:
        return Invalid(f"{name.clone_url} is too large to be fetched.", code="archive_too_large")
    found = HTTP_STATUS.search(ended.remark)
    status = int(found.group(1)) if found else 0
    wants_login = "could not read Username" in ended.remark or "Authentication failed" in ended.remark
    match status:
        case 301 | 302 | 303 | 307 | 308:
            message = f"{name.clone_url} leads elsewhere: submit the address that it leads to."
            return Refused(message, code="git_redirect", retry_after_seconds=REFUSED_SECONDS)
        case 429:
            message = f"{name.server} wants us to go slower."
            return RateLimited(message, retry_after_seconds=PAUSE_SECONDS)
        case 410:
            return NotFound(f"{name.clone_url} is gone for good.", code="source_gone")
        case 401 | 404:
            return _missing(name)
        case 403:
            message = f"{name.server} does not let us read {name.clone_url}."
            return Refused(message, code="git_forbidden", retry_after_seconds=REFUSED_SECONDS)
        case 0 if wants_login or " not found" in ended.remark:
            return _missing(name)
        case _:
            said = f"it answered {status}" if status else f"git ended with {ended.status}"
            return Unavailable(f"{name.server} does not answer: {said}.", code="git_unavailable")


def _missing(name: RepositoryName) -> NotFound:
    return NotFound(f"There is no {name.clone_url}: deleted, private or never there.", code="source_not_found")
