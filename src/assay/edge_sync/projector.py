"""The projector: applies the change feed to the edge copy, in order.

It resumes from the serial stored in the copy. Each page of changes is one atomic write that also advances the serial,
so it can be killed at any point and repeat the page. A copy that is empty, incomplete or of another schema is rebuilt.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from time import monotonic

import structlog
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.concurrency import wait_or_stop
from assay.edge.index import read_index_head, write_index
from assay.edge.keys import STATE
from assay.edge.kv import Edge
from assay.edge.state import read_state
from assay.edge.values import StateValue, encode, values_schema_digest
from assay.edge_sync.documents import changed_objects, draft_changes
from assay.edge_sync.rebuild import rebuild
from assay.model.errors import Conflict, Unavailable
from assay.runtime.loops import UnexpectedError, log_bugs
from assay.store.database.database import Database
from assay.store.feed.changes import newest_serial, number_settled, read_changes
from assay.store.feed.edge_rows import read_lag, try_lock_copy
from assay.store.feed.notifications import CHANGE, listen_for_notifications

log = structlog.get_logger()
PAGE = 500
TICK_SECONDS, MIN_PAUSE_SECONDS, OUTAGE_PAUSE_SECONDS = 5.0, 0.01, 5.0
OUTAGES = (Unavailable, Conflict, TimeoutError)
# Maximum age of the time at which the copy was last known to be complete.
FRESH = timedelta(seconds=5)
# The index is a cache: spend at most 1/50 of the time rebuilding it, but never wait more than ten minutes.
INDEX_PAUSE_SECONDS, INDEX_SHARE, MAX_INDEX_PAUSE_SECONDS = 5.0, 50, 600.0


@dataclass(frozen=True, slots=True)
class ProjectorStep:
    """The number of changes applied, and whether there may be more."""

    count: int
    has_more: bool


class Projector:
    """Applies changes to one edge copy."""

    def __init__(self, store: Database, edge: Edge, now: Callable[[], datetime]) -> None:
        self._store, self._edge, self._now = store, edge, now
        self._woken = asyncio.Event()

    async def run(self, url: str, stopping: asyncio.Event) -> None:
        """Run until `stopping` is set, surviving outages and bugs."""
        hearing = asyncio.create_task(listen_for_notifications(url, self._woken.set, self._on_notice))
        following = asyncio.create_task(self._follow())
        indexing = asyncio.create_task(self._index())
        stop_requested = asyncio.create_task(stopping.wait())
        tasks = {hearing, following, indexing, stop_requested}
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def catch_up(self) -> int:
        """Assign serials and apply all pending changes; returns their number."""
        count = 0
        while True:
            async with self._store.begin() as db:
                await number_settled(db)
            done = await self.apply_page()
            count += done.count
            if not done.has_more:
                return count

    async def apply_page(self) -> ProjectorStep:
        """Apply one page of changes, unless another process holds the lock. Rebuilds an unusable copy."""
        since = await self._edge.read_serial()
        async with self._store.snapshot() as db:
            if not await try_lock_copy(db, self._edge.identity):
                return ProjectorStep(0, has_more=False)
            newest = await newest_serial(db)
            if since > newest:
                raise Conflict(
                    f"The edge copy has changes up to serial {since}, but the database only up to {newest}: the "
                    "database was restored from an older state. Run `assay rebuild-index` to resubmit the listings "
                    "that only the copy has, and to rebuild the copy.",
                    code="database_set_back",
                )
            if await self._is_usable(newest):
                return await self._apply(db, since)
        log.warning("Rebuilding edge copy: it is empty, incomplete or of another schema")
        await rebuild(self._store, self._edge, self._now)
        return ProjectorStep(0, has_more=True)

    async def _apply(self, db: AsyncConnection, since: int) -> ProjectorStep:
        changes = await read_changes(db, since, PAGE)
        serial = changes[-1].serial if changes else since
        draft = await draft_changes(db, changed_objects(changes), serial)
        has_more = len(changes) == PAGE
        if not has_more and (changes or await self._is_stale()):
            draft.puts[STATE] = encode(StateValue(serial=serial, as_of=self._now(), form=values_schema_digest()))
        if not changes and not draft.puts:
            return ProjectorStep(0, has_more=False)
        # Still under the lock; if the lock was lost, the condition on the serial rejects the write.
        if not await self._edge.write(draft.puts, draft.effective_deletes, since=since, serial=serial):
            return ProjectorStep(0, has_more=True)
        return ProjectorStep(len(changes), has_more)

    async def refresh_index(self) -> None:
        """Rebuild the index if it is missing or stale."""
        head = await read_index_head(self._edge)
        if head is None or head.serial != await self._edge.read_serial():
            await write_index(self._edge, self._now())

    async def _index(self) -> None:
        """Refresh the index repeatedly at a bounded cost, without delaying changes."""
        while True:
            started = monotonic()
            try:
                await log_bugs(self.refresh_index(), "Unexpected error while building the edge copy index")
            except Unavailable as error:
                log.debug("Postponed building the edge copy index", error=error.message)
            except UnexpectedError:
                pass  # already logged
            pause = max(INDEX_PAUSE_SECONDS, INDEX_SHARE * (monotonic() - started))
            await asyncio.sleep(min(pause, MAX_INDEX_PAUSE_SECONDS))

    async def _is_usable(self, newest: int) -> bool:
        """Return whether the copy is complete and in the schema that this release reads."""
        state = await read_state(self._edge)
        if state is None:
            return newest == 0
        return state.form == values_schema_digest() and state.as_of is not None

    async def _is_stale(self) -> bool:
        state = await read_state(self._edge)
        return state is None or state.as_of is None or self._now() - state.as_of > FRESH

    def _on_notice(self, channel: str, _payload: str) -> None:
        if channel == CHANGE:
            self._woken.set()

    async def _follow(self) -> None:
        in_outage, pause = False, MIN_PAUSE_SECONDS
        while True:
            wait = TICK_SECONDS
            self._woken.clear()
            try:
                is_held_back = await log_bugs(
                    self._catch_up_once(), "Unexpected error while updating the edge copy", known=OUTAGES
                )
                # An open transaction holds back later serials: check again soon, then with growing pauses.
                pause = min(pause * 2, TICK_SECONDS) if is_held_back else MIN_PAUSE_SECONDS
                wait, in_outage = (pause if is_held_back else TICK_SECONDS), False
            except OUTAGES as error:
                if not in_outage:
                    log.warning("Failed to update edge copy", error=str(error))
                in_outage, wait = True, OUTAGE_PAUSE_SECONDS
            except UnexpectedError:
                wait = OUTAGE_PAUSE_SECONDS  # already logged
            await wait_or_stop(self._woken, wait)

    async def _catch_up_once(self) -> bool:
        """Apply all pending changes; returns whether changes are held back by an open transaction."""
        await self.catch_up()
        async with self._store.begin() as db:
            return (await read_lag(db, await self._edge.read_serial())).waiting > 0
