"""Fetches the source of a submission: from its repository at a commit, or from its upload."""

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

__all__ = ["FetchedSource", "Fetcher", "Resolution"]

# A resolution made shortly before a first submission arrived still answers it, so that a burst costs one lookup.
# A resubmission always resolves again.
FRESH_FOR = timedelta(seconds=10)


@dataclass(frozen=True)
class FetchedSource:
    """The files, and the repository and commit they came from (None for an upload)."""

    source: Source
    resolution: Resolution | None


class Fetcher:
    """Fetches sources for one process."""

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
        self.memory = self.checkouts.memory

    @asynccontextmanager
    async def fetch(self, submission: Submission) -> AsyncIterator[FetchedSource]:
        """Yield the source of a submission; it is in memory for the duration of the block."""
        if submission.upload_digest is not None:
            async with self.memory.reserve(self.limits.skill_bytes):
                yield FetchedSource(await self._uploaded(submission.upload_digest), None)
            return
        slack = FRESH_FOR if submission.cycle == 1 else timedelta(0)
        resolution = await self.checkouts.resolve(submission.repository.name, submission.received_at - slack)
        async with self.checkouts.open_skill(resolution, submission.skill_path) as source:
            yield FetchedSource(source, resolution)

    async def _uploaded(self, digest: str) -> Source:
        try:
            return await self.blobs.load(digest)
        except NotFound as error:
            # The upload existed when it was accepted, so its absence is a failure of the registry, not of the skill.
            raise Unavailable(error.message, code=error.code) from error
