"""Repositories at a commit: resolved once, and downloaded once for all skills of that commit."""

import asyncio
import io
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime

from assay.concurrency import settle
from assay.fetch.archive import Archive, ArchiveEntry, add_file, leave_out, unpack_tar
from assay.fetch.archive_cache import ArchiveCache
from assay.fetch.git_archive import fetch_commit
from assay.fetch.limits import Limits
from assay.fetch.listing import list_files
from assay.fetch.paths import folder_of, path_problem
from assay.fetch.single_flight import SingleFlight
from assay.fetch.skill_files import extract_skill, paths_of_skill
from assay.git.client import Git
from assay.github.client import GitHub
from assay.model.clock import Clock
from assay.model.errors import Invalid, Unavailable
from assay.model.repository import Host, RepositoryFacts, RepositoryName, TreeEntry
from assay.model.source import Source

MAX_CACHED_RESOLUTIONS = 10_000
CONCURRENT_RAW_FILES = 8


@dataclass(frozen=True)
class Resolution:
    """The facts and newest commit of a repository at one time."""

    facts: RepositoryFacts
    commit: str
    resolved_at: datetime


@dataclass(frozen=True)
class OversizedArchive:
    """Marks a commit whose archive exceeds the limits, so that it is not downloaded again for each of its skills."""

    weight: int = 64 * 1024


class MemoryBudget:
    """A number of bytes shared by many tasks, granted in order of request so that large requests are not starved."""

    def __init__(self, size_bytes: int) -> None:
        self.size_bytes = size_bytes
        self.free_bytes = size_bytes
        self._queue = asyncio.Lock()
        self._changed = asyncio.Event()

    @asynccontextmanager
    async def reserve(self, requested_bytes: int) -> AsyncIterator[None]:
        """Wait until the bytes are free and hold them for the block; a request is capped at the whole budget."""
        requested_bytes = min(requested_bytes, self.size_bytes)
        async with self._queue:
            while self.free_bytes < requested_bytes:
                self._changed.clear()
                await self._changed.wait()
            self.free_bytes -= requested_bytes
        try:
            yield
        finally:
            self.free_bytes += requested_bytes
            self._changed.set()


class Checkouts:
    """Repository checkouts of one process; concurrent requests for a commit share one download."""

    def __init__(
        self, github: GitHub, limits: Limits, clock: Clock, git: Git | None = None, cache: ArchiveCache | None = None
    ) -> None:
        self.github = github
        self.git = git or Git()
        self.cache = cache
        self.limits = limits
        self.clock = clock
        self.memory = MemoryBudget(limits.in_memory_bytes)
        self._resolutions = SingleFlight[Resolution](weigh=lambda _: 1, at_most=MAX_CACHED_RESOLUTIONS)
        self._archives = SingleFlight[Archive | OversizedArchive](
            weigh=lambda archive: archive.weight, at_most=limits.cached_archive_bytes
        )

    async def resolve(self, name: RepositoryName, not_before: datetime) -> Resolution:
        """Return the repository and its newest commit, as of `not_before` or later."""

        async def look_up() -> Resolution:
            resolved_at = self.clock.now()
            if name.host is Host.GIT:
                return Resolution(*await self.git.resolve(name), resolved_at)
            facts, commit = await asyncio.gather(self.github.get_repository(name), self.github.get_head_commit(name))
            return Resolution(facts, commit, resolved_at)

        return await self._resolutions.get(name.key, look_up, fresh=lambda known: known.resolved_at >= not_before)

    @asynccontextmanager
    async def open_skill(self, resolution: Resolution, skill_path: str) -> AsyncIterator[Source]:
        """Yield the files of one skill; they are in memory for the duration of the block."""
        archive = await self._archive(resolution, skill_path)
        paths = paths_of_skill(archive, skill_path, self.limits)
        async with self.memory.reserve(sum(archive.files[path].size for path in paths)):
            yield extract_skill(archive, paths, skill_path, resolution.commit)

    async def _archive(self, resolution: Resolution, skill_path: str) -> Archive:
        facts = resolution.facts
        if facts.name.host is Host.GIT:
            key = (*facts.name.key, resolution.commit)
            archive = await self._archives.get(key, lambda: self._cached(key, lambda: self._fetch(resolution)))
            assert isinstance(archive, Archive)
            return archive
        commit = (Host.GITHUB.value, str(facts.host_id), resolution.commit)
        archive = await self._archives.get(commit, lambda: self._cached(commit, lambda: self._download(resolution)))
        if isinstance(archive, OversizedArchive):
            archive = await self._archives.get((*commit, skill_path), lambda: self._collect(resolution, skill_path))
        assert isinstance(archive, Archive)
        return archive

    async def _cached(
        self, key: tuple[str, ...], fetch: Callable[[], Awaitable[Archive | OversizedArchive]]
    ) -> Archive | OversizedArchive:
        """Load an archive from the cache of this machine, or fetch and add it."""
        if self.cache is None:
            return await fetch()
        if (cached := await asyncio.to_thread(self.cache.load, "/".join(key))) is not None:
            return cached
        fetched = await fetch()
        if isinstance(fetched, Archive):
            await asyncio.to_thread(self.cache.save, "/".join(key), fetched)
        return fetched

    async def _fetch(self, resolution: Resolution) -> Archive:
        return await fetch_commit(self.git, resolution.facts.name, resolution.commit, self.limits)

    async def _download(self, resolution: Resolution) -> Archive | OversizedArchive:
        """Download and unpack the archive of a commit through a temporary file, not in memory."""
        try:
            with tempfile.TemporaryFile() as spool:
                async with self.github.open_archive(resolution.facts.name, resolution.commit) as stream:
                    async for part in stream.iter_chunked(262_144):
                        spool.write(part)
                        if spool.tell() > self.limits.archive_bytes:
                            return OversizedArchive()
                spool.seek(0)
                return await asyncio.to_thread(unpack_tar, spool, self.limits, strip_root=True)
        except Invalid as error:
            if error.code == "archive_too_large":
                return OversizedArchive()
            # GitHub generates the archive, so a malformed one is a failed download and not the author's fault.
            raise Unavailable(f"GitHub sent a malformed archive. {error.message}", code="bad_archive") from error

    async def _collect(self, resolution: Resolution, skill_path: str) -> Archive:
        """Download the files of one skill individually, for a repository too large for one archive."""
        name, commit = resolution.facts.name, resolution.commit
        tree = await list_files(self.github, self.git, name, commit, folder_of(skill_path))
        sizes = await asyncio.to_thread(_sizes_of_skill, tree, skill_path, self.limits)
        archive, gate = Archive(), asyncio.Semaphore(CONCURRENT_RAW_FILES)

        async def download(path: str, size: int) -> None:
            async with gate:
                content = await self.github.get_raw_file(name, commit, path, at_most=size)
            if len(content) != size:
                # The tree states the size, so a different one is a failed download and not the author's fault.
                raise Unavailable(f"GitHub sent {len(content)} of {size} bytes of {path}.", code="github_unavailable")
            add_file(archive, path, size, io.BytesIO(content).read, self.limits)

        await settle(download(path, size) for path, size in sizes.items())
        archive.pack.flush()
        return archive


def _sizes_of_skill(tree: list[TreeEntry], skill_path: str, limits: Limits) -> dict[str, int]:
    """Return path and size of each file of a skill as the tree lists them, with the same refusals as for an archive."""
    listing = Archive()
    for entry in tree:
        if problem := path_problem(entry.path, limits):
            leave_out(listing, entry.path, f"its path {problem}", limits)
        elif not entry.is_regular:
            leave_out(listing, entry.path, "it is a link", limits)
        else:
            listing.files[entry.path] = ArchiveEntry(entry.size, 0 if entry.size <= limits.file_bytes else None)
    return {path: listing.files[path].size for path in paths_of_skill(listing, skill_path, limits)}
