"""Periodic checks of upstream repositories.

The first request asks whether the known commit is still the newest, which is free on GitHub if it is. Name and stars
are read only if it is not, or once a day. Changed skills go through the pipeline behind new submissions, while the
current version stays live.
"""

import asyncio
from dataclasses import dataclass, field
from datetime import timedelta

import structlog
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.fetch.checkouts import Resolution
from assay.git.client import Git
from assay.github.client import GitHub
from assay.model.clock import Clock
from assay.model.errors import Conflict, Invalid, NotFound, Unavailable
from assay.model.repository import Host
from assay.model.skill import ListingStatus, StatusReason
from assay.moderation.withdraw import restore, tombstone
from assay.operations.requeue import requeue_behind_new
from assay.runtime.loops import for_each_bounded, run_until_stopped
from assay.store.database.database import Database
from assay.store.moderation.blocklist import lock_blocklist_shared
from assay.store.repositories.identity import list_names_with_status, record_identity, update_stars
from assay.store.repositories.repositories import source_replaced_error
from assay.store.repositories.upstream import (
    DueCheck,
    claim_due_checks,
    list_outdated,
    record_check_failure,
    record_missing,
    record_seen,
)

log = structlog.get_logger()
BY = "watch"
CODE = "source_not_found"
# Concurrent checks, and checks claimed per batch.
AT_ONCE, BATCH = 4, 20
IDLE_SECONDS = 5.0
LEASE_SECONDS = 300.0
DESCRIBED_EVERY = timedelta(days=1)
# Time for a repository to reappear that was renamed, made private by mistake or affected by an outage.
GRACE = timedelta(hours=1)
MAX_PAUSE = timedelta(days=1)


@dataclass(frozen=True)
class UpstreamWatcher:
    store: Database
    github: GitHub
    clock: Clock
    every: timedelta
    grace: timedelta = GRACE
    git: Git = field(default_factory=Git)

    async def run(self, stopping: asyncio.Event) -> None:
        """Check due repositories until `stopping` is set. Any number of processes may run this."""
        await run_until_stopped(self._run_once, stopping, "Failed to check upstream", after_seconds=IDLE_SECONDS)

    async def run_batch(self) -> int:
        """Check a batch of due repositories; return their number. Failed checks are due when their lease expires."""
        async with self.store.begin() as db:
            due = await claim_due_checks(db, limit=BATCH, held_seconds=LEASE_SECONDS)
        await for_each_bounded(due, self._check, "Failed to check a repository", at_once=AT_ONCE, name=_name_of)
        return len(due)

    async def _run_once(self) -> float:
        return 0.0 if await self.run_batch() else IDLE_SECONDS

    async def _check(self, due: DueCheck) -> None:
        known = due.repository
        if known.name.host is Host.UPLOAD:
            # Uploads have no upstream.
            async with self.store.begin() as db:
                await record_seen(db, known.id, again=self.every)
            return
        try:
            resolution = await self._resolve(due)
        except NotFound as missing:
            await self._record_missing(due, missing)
        except Unavailable as error:
            log.info("Postponed the check of a repository", repository=str(known.name), error=error.message)
            pause = min(timedelta(seconds=error.retry_after_seconds) * 2**due.failures, MAX_PAUSE)
            async with self.store.begin() as db:
                await record_check_failure(db, known.id, error.message, again=pause)
        else:
            await self._record_resolution(due, resolution)

    async def _resolve(self, due: DueCheck) -> Resolution | None:
        """Return the current state of the repository; None if nothing has changed."""
        known, resolved_at = due.repository, self.clock.now()
        if known.name.host is Host.GIT:
            facts, commit = await self.git.resolve(known.name)
            is_new = commit != due.commit or due.missing_since is not None
            return Resolution(facts, commit, resolved_at) if is_new else None
        is_described = due.described_at is not None and resolved_at - due.described_at < DESCRIBED_EVERY
        # Repositories that were last described before owners were recorded are described again.
        is_known = is_described and known.owner_id is not None
        if is_known and due.missing_since is None and due.commit is not None:
            is_moved = await self.github.has_moved(known.name, due.commit)
            if not is_moved:
                return None
        facts = await self.github.get_repository(known.name)
        if known.host_id not in (None, facts.host_id):
            # Another repository has taken the name; the present name of the known one is unknown.
            raise source_replaced_error(known.name)
        return Resolution(facts, await self.github.get_head_commit(facts.name), resolved_at)

    async def _record_resolution(self, due: DueCheck, resolution: Resolution | None) -> None:
        try:
            await self._record_seen(due, resolution)
        except Invalid as error:
            # Another owner has the namespace: the listings stay as they are until an operator decides.
            log.warning("Failed to record a repository", repository=str(due.repository.name), error=error.message)
            async with self.store.begin() as db:
                await record_check_failure(db, due.repository.id, error.message, again=self.every)

    async def _record_seen(self, due: DueCheck, resolution: Resolution | None) -> None:
        known = due.repository
        async with self.store.begin() as db:
            if resolution is None:
                await record_seen(db, known.id, again=self.every)
                return
            await lock_blocklist_shared(db)
            await record_seen(db, known.id, again=self.every, commit=resolution.commit)
            canonical = await record_identity(
                db, known, resolution.facts, commit=resolution.commit, resolved_at=resolution.resolved_at
            )
            await update_stars(db, canonical.id, resolution.facts.stars)
            for name in await list_names_with_status(db, canonical.id, ListingStatus.GONE, CODE):
                await restore_listing(db, name)
            if resolution.commit != due.commit:
                ids = await list_outdated(db, canonical.id, resolution.commit)
                await requeue_behind_new(db, ids, by=BY, reason=f"the source is at {resolution.commit[:12]}")
                log.info("Upstream repository has changed", repository=str(canonical.name), submissions=len(ids))

    async def _record_missing(self, due: DueCheck, missing: NotFound) -> None:
        """Record that the repository is missing; tombstone its listings once it was missing for the grace period."""
        known = due.repository
        async with self.store.begin() as db:
            again = self.grace if due.missing_since is None else self.every
            since = await record_missing(db, known.id, missing.message, again=again)
            if self.clock.now() - since >= self.grace:
                why = StatusReason(CODE, missing.message, self.clock.now(), BY)
                await tombstone_listings(db, known.id, why)


def _name_of(due: DueCheck) -> str:
    return str(due.repository.name)


async def restore_listing(db: AsyncConnection, name: str) -> None:
    """Restore a listing whose source has reappeared; on a conflict, the next check tries again."""
    try:
        await restore(db, name, of=ListingStatus.GONE, by=BY)
    except Conflict as error:
        log.info("Failed to restore a listing whose source has reappeared", skill=name, error=error.message)


async def tombstone_listings(db: AsyncConnection, repository_id: int, why: StatusReason) -> None:
    """Tombstone all live listings of a repository."""
    for name in await list_names_with_status(db, repository_id, ListingStatus.LIVE):
        try:
            await tombstone(db, name, why)
        except Conflict:
            log.info("Skipped a listing that is no longer live", skill=name)
