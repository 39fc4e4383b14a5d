"""The projector: takes over every change into the copy, in order, as soon as it has a serial.

It goes on from the serial that is in the copy itself, and each page of changes is one write that moves that serial on:
it may be killed anywhere and done again. A copy that is empty, unfinished or of another form is made anew.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from time import monotonic

import structlog
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.edge.index import read_index_head, write_index
from assay.edge.keys import STATE
from assay.edge.kv import Edge
from assay.edge.state import read_state
from assay.edge.values import StateValue, encode, form_of_values
from assay.edge_sync.documents import concerned_by, draft_changes
from assay.edge_sync.rebuild import rebuild
from assay.model.errors import Conflict, Unavailable
from assay.runtime.loops import Bug, expecting
from assay.store.database.database import Database
from assay.store.feed.changes import newest_serial, number_settled, read_changes
from assay.store.feed.edge_rows import lock_copy, read_lag
from assay.store.feed.notifications import CHANGE, hear_notices

log = structlog.get_logger()
PAGE = 500
TICK_SECONDS, SHORTEST_PAUSE_SECONDS, AWAY_SECONDS = 5.0, 0.01, 5.0
AWAY = (Unavailable, Conflict, TimeoutError)
# How old the moment may be until which the copy is said to be complete.
FRESH = timedelta(seconds=5)
# The index is a cache, so making it may take one part in fifty of the time, but never waits longer than this.
INDEX_PAUSE_SECONDS, INDEX_SHARE, LONGEST_INDEX_PAUSE_SECONDS = 5.0, 50, 600.0


@dataclass(frozen=True, slots=True)
class Pass:
    """One look: how many changes were taken over, and whether there may be more."""

    count: int
    has_more: bool


class Projector:
    """Follows the changes for one copy."""

    def __init__(self, store: Database, edge: Edge, now: Callable[[], datetime]) -> None:
        self._store, self._edge, self._now = store, edge, now
        self._woken = asyncio.Event()

    async def run(self, url: str, stopping: asyncio.Event) -> None:
        """Until `stopping`, whatever happens."""
        hearing = asyncio.create_task(hear_notices(url, self._woken.set, self._on_notice))
        following = asyncio.create_task(self._follow())
        indexing = asyncio.create_task(self._index())
        asked = asyncio.create_task(stopping.wait())
        tasks = {hearing, following, indexing, asked}
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def catch_up(self) -> int:
        """Take over everything that may have a serial by now; how many changes that were."""
        count = 0
        while True:
            async with self._store.begin() as db:
                await number_settled(db)
            done = await self.take_over()
            count += done.count
            if not done.has_more:
                return count

    async def take_over(self) -> Pass:
        """One page of changes, if nobody else is at it."""
        since = await self._edge.read_serial()
        async with self._store.snapshot() as db:
            if not await lock_copy(db, self._edge.identity):
                return Pass(0, has_more=False)
            newest = await newest_serial(db)
            if since > newest:
                raise Conflict(
                    f"The edge copy knows changes up to {since}, the database only up to {newest}: it was set back. "
                    "`assay rebuild-index` submits again what only the copy has, and makes the two agree.",
                    code="database_set_back",
                )
            if await self._is_of_use(newest):
                return await self._take_page(db, since)
        log.warning("The edge copy is empty, unfinished or of another form: it is made anew")
        await rebuild(self._store, self._edge, self._now)
        return Pass(0, has_more=True)

    async def _take_page(self, db: AsyncConnection, since: int) -> Pass:
        changes = await read_changes(db, since, PAGE)
        serial = changes[-1].serial if changes else since
        draft = await draft_changes(db, concerned_by(changes), serial)
        has_more = len(changes) == PAGE
        if not has_more and (changes or await self._is_stale()):
            draft.puts[STATE] = encode(StateValue(serial=serial, as_of=self._now(), form=form_of_values()))
        if not changes and not draft.puts:
            return Pass(0, has_more=False)
        # Still under the lock; and if that was lost, the copy itself refuses what comes too late.
        if not await self._edge.write(draft.puts, draft.removals, since=since, serial=serial):
            return Pass(0, has_more=True)
        return Pass(len(changes), has_more)

    async def keep_index(self) -> None:
        """Make the index anew if it lacks something."""
        head = await read_index_head(self._edge)
        if head is None or head.serial != await self._edge.read_serial():
            await write_index(self._edge, self._now())

    async def _index(self) -> None:
        """Beside the changes, which do not wait for it, at a bounded cost."""
        while True:
            started = monotonic()
            try:
                await expecting(self.keep_index(), "A bug keeps the index of the edge copy from being made")
            except Unavailable as problem:
                log.debug("The index of the edge copy waits", problem=problem.message)
            except Bug:
                pass  # it is in the log
            pause = max(INDEX_PAUSE_SECONDS, INDEX_SHARE * (monotonic() - started))
            await asyncio.sleep(min(pause, LONGEST_INDEX_PAUSE_SECONDS))

    async def _is_of_use(self, newest: int) -> bool:
        """Whether there is a whole copy to go on from, in the form that this release reads."""
        state = await read_state(self._edge)
        if state is None:
            return newest == 0
        return state.form == form_of_values() and state.as_of is not None

    async def _is_stale(self) -> bool:
        state = await read_state(self._edge)
        return state is None or state.as_of is None or self._now() - state.as_of > FRESH

    def _on_notice(self, channel: str, _payload: str) -> None:
        if channel == CHANGE:
            self._woken.set()

    async def _follow(self) -> None:
        is_away, pause = False, SHORTEST_PAUSE_SECONDS
        while True:
            wait = TICK_SECONDS
            self._woken.clear()
            try:
                is_waiting = await expecting(
                    self._keep_up(), "A bug keeps the edge copy from being kept up to date", known=AWAY
                )
                # A transaction that is still open holds others back: look again soon, and then less and less often.
                pause = min(pause * 2, TICK_SECONDS) if is_waiting else SHORTEST_PAUSE_SECONDS
                wait, is_away = (pause if is_waiting else TICK_SECONDS), False
            except AWAY as problem:
                if not is_away:
                    log.warning("The edge copy is not kept up to date at the moment", problem=str(problem))
                is_away, wait = True, AWAY_SECONDS
            except Bug:
                wait = AWAY_SECONDS  # it is in the log
            await self._wait(wait)

    async def _keep_up(self) -> bool:
        """Take over what there is; whether something is held back."""
        await self.catch_up()
        async with self._store.begin() as db:
            return (await read_lag(db, await self._edge.read_serial())).waiting > 0

    async def _wait(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._woken.wait()
        except TimeoutError:
            return
