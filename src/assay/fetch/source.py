"""Fetch a skill's source: resolve the commit, take the archive once, cut the folder out."""

import asyncio
import io
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta

from assay.blobs.blobs import Blobs, load_source
from assay.fetch.archive import Archive, add_file, unpack_tar
from assay.fetch.cut import cut_skill, paths_of_skill
from assay.fetch.flight import SingleFlight
from assay.fetch.limits import Limits
from assay.fetch.paths import folder_of
from assay.fetch.room import Room
from assay.github.client import GitHub, RepositoryFacts, TreeEntry
from assay.model.clock import Clock
from assay.model.errors import Invalid
from assay.model.repository import RepositoryName
from assay.model.settle import settle
from assay.model.source import Source
from assay.model.submission import Submission

# A look-up made shortly before a first submission came in still answers it: a burst costs one look-up.
# Who submits again wants to see what is there now.
STILL_FRESH = timedelta(seconds=10)
REMEMBERED_RESOLUTIONS = 10_000
RAW_FILES_AT_ONCE = 8


@dataclass(frozen=True)
class Resolution:
    """What a repository was at a moment: its facts and the newest commit."""

    facts: RepositoryFacts
    commit: str
    resolved_at: datetime


@dataclass(frozen=True)
class Fetched:
    """The files, and where they came from (nothing for an upload)."""

    source: Source
    resolution: Resolution | None


class Fetcher:
    """Brings sources for one process; all who want the same commit share one download."""

    def __init__(self, github: GitHub, blobs: Blobs, limits: Limits, clock: Clock) -> None:
        self.github = github
        self.blobs = blobs
        self.limits = limits
        self.clock = clock
        self.room = Room(limits.in_memory_bytes)
        self._resolutions = SingleFlight[Resolution](weigh=lambda _: 1, at_most=REMEMBERED_RESOLUTIONS)
        self._archives = SingleFlight[Archive](
            weigh=lambda archive: archive.size_bytes, at_most=limits.kept_archive_bytes
        )

    @asynccontextmanager
    async def fetch(self, submission: Submission) -> AsyncIterator[Fetched]:
        """The source of a submission, in memory for as long as the block lasts."""
        if submission.upload_digest is not None:
            async with self.room.hold(self.limits.skill_bytes):
                yield Fetched(await load_source(self.blobs, submission.upload_digest), None)
            return
        slack = STILL_FRESH if submission.cycle == 1 else timedelta(0)
        resolution = await self._resolve(submission.repository.name, submission.received_at - slack)
        archive = await self._archive(resolution, submission.skill_path)
        paths = paths_of_skill(archive, submission.skill_path, self.limits)
        async with self.room.hold(sum(archive.files[path].size for path in paths)):
            yield Fetched(cut_skill(archive, paths, submission.skill_path, resolution.commit), resolution)

    async def _resolve(self, name: RepositoryName, not_before: datetime) -> Resolution:
        async def look_up() -> Resolution:
            asked_at = self.clock.now()
            facts, commit = await asyncio.gather(self.github.get_repository(name), self.github.get_head_commit(name))
            return Resolution(facts, commit, asked_at)

        return await self._resolutions.get(
            name.key, look_up, fresh=lambda known: known.resolved_at >= not_before
        )

    async def _archive(self, resolution: Resolution, skill_path: str) -> Archive:
        whole = (resolution.facts.host_id, resolution.commit)
        try:
            return await self._archives.get(whole, lambda: self._download(resolution))
        except Invalid as problem:
            if problem.code != "archive_too_large":
                raise
        folder = folder_of(skill_path)
        return await self._archives.get((*whole, folder), lambda: self._collect(resolution, folder))

    async def _download(self, resolution: Resolution) -> Archive:
        """The archive of a commit goes through a file: its bytes never fill the memory."""
        with tempfile.TemporaryFile() as spool:
            async with self.github.open_archive(resolution.facts.name, resolution.commit) as stream:
                async for part in stream.iter_chunked(262_144):
                    spool.write(part)
                    if spool.tell() > self.limits.archive_bytes:
                        raise Invalid("The archive is too large.", code="archive_too_large")
            spool.seek(0)
            return await asyncio.to_thread(unpack_tar, spool, self.limits, strip_root=True)

    async def _collect(self, resolution: Resolution, folder: str) -> Archive:
        """Of a repository too large for one archive, only the files of the folder, one by one."""
        name, commit = resolution.facts.name, resolution.commit
        prefix = f"{folder}/" if folder else ""
        tree = await self.github.get_tree(name, commit)
        wanted = [entry for entry in tree if entry.path.startswith(prefix)]
        if len(wanted) > self.limits.skill_files:
            raise Invalid(f"The skill has more than {self.limits.skill_files} files.", code="skill_too_large")
        archive, gate = Archive(), asyncio.Semaphore(RAW_FILES_AT_ONCE)

        async def take(entry: TreeEntry) -> None:
            content = b""
            if entry.size <= self.limits.file_bytes:
                async with gate:
                    content = await self.github.get_raw_file(name, commit, entry.path, at_most=entry.size)
            add_file(archive, entry.path, entry.size, io.BytesIO(content), self.limits)

        await settle(take(entry) for entry in wanted)
        archive.pack.flush()
        return archive
