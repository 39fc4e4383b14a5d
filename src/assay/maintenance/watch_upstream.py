"""Watching the sources: every listing is compared with the repository it came from, again and again.

The cheapest question comes first: whether the newest commit is still the one we know, which costs nothing if it is.
Only where it is not, or once a day, the repository is asked what it is called and how many stars it has. What has
changed goes through the pipeline like any other submission, behind those who wait, while the last good version stays
live.
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
from assay.model.errors import Conflict, NotFound, Unavailable
from assay.model.listing_status import Remark, Standing
from assay.model.repository import Host
from assay.moderation.withdraw import restore, tombstone
from assay.operations.requeue import requeue_quietly
from assay.runtime.loops import do_each, keep_going
from assay.store.database.database import Database
from assay.store.moderation.blocklist import hold_blocklist
from assay.store.repositories.identity import record_identity
from assay.store.repositories.repositories import replaced
from assay.store.repositories.upstream import Due, list_outdated, note_failure, note_missing, note_seen, take_due
from assay.store.versions.status import names_in, update_stars

log = structlog.get_logger()
BY = "watch"
CODE = "source_not_found"
# So many are asked about at once, and as many as wait for that.
AT_ONCE, BATCH = 4, 20
IDLE_SECONDS = 5.0
HELD_SECONDS = 300.0
DESCRIBED_EVERY = timedelta(days=1)
# A repository that was only renamed, made private by mistake or hit by an outage is back by then.
GRACE = timedelta(hours=1)
LONGEST_PAUSE = timedelta(days=1)


@dataclass(frozen=True)
class Watch:
    """What watching needs."""

    store: Database
    github: GitHub
    clock: Clock
    every: timedelta
    grace: timedelta = GRACE
    git: Git = field(default_factory=Git)

    async def run(self, stopping: asyncio.Event) -> None:
        """Look at what is due until `stopping`; any number of processes may do so."""
        await keep_going(self._turn, stopping, "Sources are not watched for now", after_seconds=IDLE_SECONDS)

    async def look(self) -> int:
        """Look at a batch of what is due. Returns how many. What cannot be written down is looked at again."""
        async with self.store.begin() as db:
            due = await take_due(db, limit=BATCH, held_seconds=HELD_SECONDS)
        await do_each(due, self._look_at, "A look at a source is lost", at_once=AT_ONCE, name=_name_of)
        return len(due)

    async def _turn(self) -> float:
        return 0.0 if await self.look() else IDLE_SECONDS

    async def _look_at(self, due: Due) -> None:
        """Whatever the host says becomes a row; that it says nothing says nothing about the skill."""
        known = due.repository
        if known.name.host is Host.UPLOAD:
            # What was uploaded has no source to look at.
            async with self.store.begin() as db:
                await note_seen(db, known.id, again=self.every)
            return
        try:
            resolution = await self._ask(due)
        except NotFound as missing:
            await self._note_missing(due, missing)
        except Unavailable as problem:
            log.info("A source could not be looked at", repository=str(known.name), problem=problem.message)
            pause = min(timedelta(seconds=problem.retry_after_seconds) * 2**due.failures, LONGEST_PAUSE)
            async with self.store.begin() as db:
                await note_failure(db, known.id, problem.message, again=pause)
        else:
            await self._note_seen(due, resolution)

    async def _ask(self, due: Due) -> Resolution | None:
        """What the repository is now; None if nothing is new."""
        known, asked_at = due.repository, self.clock.now()
        if known.name.host is Host.GIT:
            facts, commit = await self.git.resolve(known.name)
            is_new = commit != due.commit or due.missing_since is not None
            return Resolution(facts, commit, asked_at) if is_new else None
        is_described = due.described_at is not None and asked_at - due.described_at < DESCRIBED_EVERY
        if is_described and due.missing_since is None and due.commit is not None:
            is_moved = await self.github.has_moved(known.name, due.commit)
            if not is_moved:
                return None
        facts = await self.github.get_repository(known.name)
        if known.host_id not in (None, facts.host_id):
            # Its name is another's now. What it is called itself, nobody knows.
            raise replaced(known.name)
        return Resolution(facts, await self.github.get_head_commit(facts.name), asked_at)

    async def _note_seen(self, due: Due, resolution: Resolution | None) -> None:
        known = due.repository
        async with self.store.begin() as db:
            if resolution is None:
                await note_seen(db, known.id, again=self.every)
                return
            await hold_blocklist(db)
            await note_seen(db, known.id, again=self.every, commit=resolution.commit)
            canonical = await record_identity(
                db, known, resolution.facts, commit=resolution.commit, resolved_at=resolution.resolved_at
            )
            await update_stars(db, canonical.id, resolution.facts.stars)
            for name in await names_in(db, canonical.id, Standing.GONE, CODE):
                await bring_back(db, name)
            if resolution.commit != due.commit:
                ids = await list_outdated(db, canonical.id, resolution.commit)
                await requeue_quietly(db, ids, by=BY, reason=f"the source is at {resolution.commit[:12]}")
                log.info("A source has changed", repository=str(canonical.name), submissions=len(ids))

    async def _note_missing(self, due: Due, missing: NotFound) -> None:
        """Not at once: only what is still missing when the grace is over is taken down."""
        known = due.repository
        async with self.store.begin() as db:
            again = self.grace if due.missing_since is None else self.every
            since = await note_missing(db, known.id, missing.message, again=again)
            if self.clock.now() - since >= self.grace:
                why = Remark(CODE, missing.message, self.clock.now(), BY)
                await take_down(db, known.id, why)


def _name_of(due: Due) -> str:
    return str(due.repository.name)


async def bring_back(db: AsyncConnection, name: str) -> None:
    """A listing whose source is there again. If something else keeps it down, the next day asks again."""
    try:
        await restore(db, name, of=Standing.GONE, by=BY)
    except Conflict as problem:
        log.info("A source is back, its listing is not", skill=name, problem=problem.message)


async def take_down(db: AsyncConnection, repository_id: int, why: Remark) -> None:
    """All live listings of a repository, because it is gone."""
    for name in await names_in(db, repository_id, Standing.LIVE):
        try:
            await tombstone(db, name, why)
        except Conflict:
            log.info("A listing was taken down by somebody else meanwhile", skill=name)
