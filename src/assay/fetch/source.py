"""Fetch a submission's source: out of its repository at a commit, or as it was uploaded."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta

from assay.blobs.blobs import Blobs
from assay.fetch.archive_cache import ArchiveCache
from assay.fetch.checkouts import Checkouts, Resolution
from assay.fetch.limits import Limits
from assay.git.client import Git
from assay.github.client import GitHub
from assay.model.clock import Clock
from assay.model.errors import NotFound, Unavailable
from assay.model.source import Source
from assay.model.submission import Submission

__all__ = ["Fetched", "Fetcher", "Resolution"]

# A look-up made shortly before a first submission came in still answers it: a burst costs one look-up.
# Who submits again wants to see what is there now.
STILL_FRESH = timedelta(seconds=10)


@dataclass(frozen=True)
class Fetched:
    """The files, and where they came from (nothing for an upload)."""

    source: Source
    resolution: Resolution | None


class Fetcher:
    """Brings sources for one process."""

    def __init__(
        self,
        github: GitHub,
        blobs: Blobs,
        limits: Limits,
        clock: Clock,
        git: Git | None = None,
        cache: ArchiveCache | None = None,
    ) -> None:
        self.blobs = blobs
        self.limits = limits
        self.checkouts = Checkouts(github, limits, clock, git, cache)
        self.room = self.checkouts.room

    @asynccontextmanager
    async def fetch(self, submission: Submission) -> AsyncIterator[Fetched]:
        """The source of a submission, in memory for as long as the block lasts."""
        if submission.upload_digest is not None:
            async with self.room.hold(self.limits.skill_bytes):
                yield Fetched(await self._uploaded(submission.upload_digest), None)
            return
        slack = STILL_FRESH if submission.cycle == 1 else timedelta(0)
        resolution = await self.checkouts.resolve(submission.repository.name, submission.received_at - slack)
        async with self.checkouts.cut(resolution, submission.skill_path) as source:
            yield Fetched(source, resolution)

    async def _uploaded(self, digest: str) -> Source:
        try:
            return await self.blobs.load(digest)
        except NotFound as problem:
            # It was there when it was accepted, so this is our loss and no verdict on the skill.
            raise Unavailable(problem.message, code=problem.code) from problem
