"""Repositories at a commit: resolved once, downloaded once for all who want a folder of it."""

import asyncio
import io
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime

from assay.fetch.archive import Archive, Entry, add_file, leave_out, unpack_tar
from assay.fetch.archive_cache import ArchiveCache
from assay.fetch.cut import cut_skill, paths_of_skill
from assay.fetch.flight import SingleFlight
from assay.fetch.git_archive import fetch_commit
from assay.fetch.limits import Limits
from assay.fetch.listing import list_files
from assay.fetch.paths import folder_of, problem_with
from assay.fetch.room import Room
from assay.git.client import Git
from assay.github.client import GitHub
from assay.model.clock import Clock
from assay.model.errors import Invalid, Unavailable
from assay.model.repository import Host, RepositoryFacts, RepositoryName, TreeEntry
from assay.model.settle import settle
from assay.model.source import Source

REMEMBERED_RESOLUTIONS = 10_000
RAW_FILES_AT_ONCE = 8


@dataclass(frozen=True)
class Resolution:
    """What a repository was at a moment: its facts and the newest commit."""

    facts: RepositoryFacts
    commit: str
    resolved_at: datetime


@dataclass(frozen=True)
class TooLarge:
    """Stands for an archive beyond the limits, so that it is not downloaded again for every skill of its commit."""

    weight: int = 64 * 1024


class Checkouts:
    """Those of one process; all who want the same commit share one download."""

    def __init__(
        self, github: GitHub, limits: Limits, clock: Clock, git: Git | None = None, cache: ArchiveCache | None = None
    ) -> None:
        self.github = github
        self.git = git or Git()
        self.cache = cache
        self.limits = limits
        self.clock = clock
        self.room = Room(limits.in_memory_bytes)
        self._resolutions = SingleFlight[Resolution](weigh=lambda _: 1, at_most=REMEMBERED_RESOLUTIONS)
        self._archives = SingleFlight[Archive | TooLarge](
            weigh=lambda kept: kept.weight, at_most=limits.kept_archive_bytes
        )

    async def resolve(self, name: RepositoryName, not_before: datetime) -> Resolution:
        """The repository and its newest commit, as they were at this moment or later."""

        async def look_up() -> Resolution:
            asked_at = self.clock.now()
            if name.host is Host.GIT:
                return Resolution(*await self.git.resolve(name), asked_at)
            facts, commit = await asyncio.gather(self.github.get_repository(name), self.github.get_head_commit(name))
            return Resolution(facts, commit, asked_at)

        return await self._resolutions.get(name.key, look_up, fresh=lambda known: known.resolved_at >= not_before)

    @asynccontextmanager
    async def cut(self, resolution: Resolution, skill_path: str) -> AsyncIterator[Source]:
        """The files of one skill, in memory for as long as the block lasts."""
        archive = await self._archive(resolution, skill_path)
        paths = paths_of_skill(archive, skill_path, self.limits)
        async with self.room.hold(sum(archive.files[path].size for path in paths)):
            yield cut_skill(archive, paths, skill_path, resolution.commit)

    async def _archive(self, resolution: Resolution, skill_path: str) -> Archive:
        facts = resolution.facts
        if facts.name.host is Host.GIT:
            key = (*facts.name.key, resolution.commit)
            kept = await self._archives.get(key, lambda: self._kept(key, lambda: self._fetch(resolution)))
            assert isinstance(kept, Archive)
            return kept
        commit = (Host.GITHUB.value, str(facts.host_id), resolution.commit)
        kept = await self._archives.get(commit, lambda: self._kept(commit, lambda: self._download(resolution)))
        if isinstance(kept, TooLarge):
            kept = await self._archives.get((*commit, skill_path), lambda: self._collect(resolution, skill_path))
        assert isinstance(kept, Archive)
        return kept

    async def _kept(
        self, key: tuple[str, ...], bring: Callable[[], Awaitable[Archive | TooLarge]]
    ) -> Archive | TooLarge:
        """From the disk of this machine if some process has brought it before."""
        if self.cache is None:
            return await bring()
        if (known := await asyncio.to_thread(self.cache.load, "/".join(key))) is not None:
            return known
        brought = await bring()
        if isinstance(brought, Archive):
            await asyncio.to_thread(self.cache.save, "/".join(key), brought)
        return brought

    async def _fetch(self, resolution: Resolution) -> Archive:
        return await fetch_commit(self.git, resolution.facts.name, resolution.commit, self.limits)

    async def _download(self, resolution: Resolution) -> Archive | TooLarge:
        """The archive of a commit goes through a file: its bytes never fill the memory."""
        try:
            with tempfile.TemporaryFile() as spool:
                async with self.github.open_archive(resolution.facts.name, resolution.commit) as stream:
                    async for part in stream.iter_chunked(262_144):
                        spool.write(part)
                        if spool.tell() > self.limits.archive_bytes:
                            return TooLarge()
                spool.seek(0)
                return await asyncio.to_thread(unpack_tar, spool, self.limits, strip_root=True)
        except Invalid as problem:
            if problem.code == "archive_too_large":
                return TooLarge()
            # GitHub makes the archive, not the author: a broken one is a broken download.
            raise Unavailable(f"GitHub sent a broken archive. {problem.message}", code="bad_archive") from problem

    async def _collect(self, resolution: Resolution, skill_path: str) -> Archive:
        """Of a repository too large for one archive, only the files of the skill, one by one."""
        name, commit = resolution.facts.name, resolution.commit
        tree = await list_files(self.github, self.git, name, commit, folder_of(skill_path))
        sizes = await asyncio.to_thread(_sizes_of_skill, tree, skill_path, self.limits)
        archive, gate = Archive(), asyncio.Semaphore(RAW_FILES_AT_ONCE)

        async def take(path: str, size: int) -> None:
            async with gate:
                content = await self.github.get_raw_file(name, commit, path, at_most=size)
            if len(content) != size:
                # The tree says how long it is, so this is a broken download and nothing that the author has done.
                raise Unavailable(f"GitHub sent {len(content)} of {size} bytes of {path}.", code="github_unavailable")
            add_file(archive, path, size, io.BytesIO(content).read, self.limits)

        await settle(take(path, size) for path, size in sizes.items())
        archive.pack.flush()
        return archive


def _sizes_of_skill(tree: list[TreeEntry], skill_path: str, limits: Limits) -> dict[str, int]:
    """The files of a skill by what the tree says of them; the same refusals as with an archive at hand."""
    listing = Archive()
    for entry in tree:
        if problem := problem_with(entry.path, limits):
            leave_out(listing, entry.path, f"its path {problem}", limits)
        elif not entry.is_regular:
            leave_out(listing, entry.path, "it is a link", limits)
        else:
            listing.files[entry.path] = Entry(entry.size, 0 if entry.size <= limits.file_bytes else None)
    return {path: listing.files[path].size for path in paths_of_skill(listing, skill_path, limits)}
