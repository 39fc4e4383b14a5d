"""The hub: every change of the queue reaches everybody who listens, once and in order, whatever gets in the way."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any
from uuid import uuid4

import asyncpg
import pytest
from sqlalchemy import text

from assay.model.errors import Unavailable
from assay.model.submission import State
from assay.serve.feed.hub import TICK_SECONDS, Hub
from assay.serve.feed.live_events import EVERYBODY, Happenings, topic_of_account, topic_of_submission
from assay.serve.feed.subscriber import Listener, Patience
from assay.serve.feed.subscribers import AudienceOptions
from assay.store.database.database import Database
from assay.store.feed.changes import number_changes
from assay.store.feed.notifications import APPLICATION
from assay.store.submissions.transitions import Step
from assay.web.feed.events_json import encode_happenings
from tests.support.processes import until
from tests.support.registry import Registry
from tests.support.streams import (
    PATIENCE_SECONDS,
    Event,
    Parser,
    a_batch,
    a_submission,
    all_numbered,
    changes_of_the_queue,
    go_around,
    step_on,
)
from tests.support.web.statements import statements


def a_hub(registry: Registry, encode=encode_happenings, tick_seconds: float = TICK_SECONDS, **options: Any) -> Hub:
    """The live events of a process."""
    return Hub(registry.app.store, registry.app.database_url, encode, AudienceOptions(**options), tick_seconds)


@asynccontextmanager
async def listening(hub: Hub, topic: str = EVERYBODY, after: int | None = None) -> AsyncIterator[Listener]:
    """Somebody who listens for a while."""
    listener = await hub.listen(topic, after)
    try:
        yield listener
    finally:
        hub.leave(listener)


async def hear(listener: Listener, number: int) -> list[Event]:
    """The next events; a listener that was cut off hears none."""
    parser = Parser()
    async with asyncio.timeout(PATIENCE_SECONDS):
        while len(parser.events) < number and not listener.is_ended:
            await listener.wait()
            for line in listener.take().decode().split("\n"):
                parser.feed(line)
    return parser.events


async def serials(listener: Listener, number: int) -> list[int]:
    """The ids of the next events."""
    return [int(event.id) for event in await hear(listener, number)]


async def is_true(condition: Callable[[], bool]) -> bool:
    """For `until`."""
    return condition()


async def write(store: Database, rounds: int, name: str = "pdf") -> int:
    """Make so many times two changes and one for the beginning; the number of changes."""
    before = await a_submission(store, name)
    for _ in range(rounds):
        before = await go_around(store, before)
    return 2 * rounds + 1


async def connections(url: str, at_least: int = 1) -> list[int]:
    """The processes of the database that send notices to somebody here, if there are so many."""
    admin = await asyncpg.connect(url)
    rows = await admin.fetch(
        "SELECT pid FROM pg_stat_activity WHERE application_name = $1 AND datname = current_database()", APPLICATION
    )
    await admin.close()
    return [row["pid"] for row in rows] if len(rows) >= at_least else []


async def terminate(url: str) -> None:
    """Kill the connections on which notices are heard."""
    admin = await asyncpg.connect(url)
    await admin.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE application_name = $1 AND datname = current_database()",
        APPLICATION,
    )
    await admin.close()


async def test_everybody_hears_every_change_once_and_in_order(registry: Registry) -> None:
    """G73: many writers, many listeners; each change is encoded once, and all get the very same bytes."""
    store, encoded = registry.app.store, []

    def encode(serial: int, happenings: Happenings) -> bytes:
        encoded.append(serial)
        return encode_happenings(serial, happenings)

    hub = a_hub(registry, encode)
    async with listening(hub) as first, listening(hub) as second, listening(hub) as third:
        numbers = await asyncio.gather(*(write(store, 4, f"skill-{number}") for number in range(8)))
        heard = [await serials(each, sum(numbers)) for each in (first, second, third)]
    expected = await changes_of_the_queue(store)
    assert len(expected) == sum(numbers)
    assert heard == [expected] * 3
    assert encoded == expected


async def test_hubs_of_other_processes_hear_the_same(registry: Registry) -> None:
    """G73: whoever numbers the changes, everybody reads them."""
    store = registry.app.store
    hubs = [a_hub(registry) for _ in range(3)]
    async with listening(hubs[0]) as first, listening(hubs[1]) as second, listening(hubs[2]) as third:
        number = await write(store, 10)
        heard = [await serials(each, number) for each in (first, second, third)]
    assert heard == [await changes_of_the_queue(store)] * 3


async def test_a_listener_comes_in_at_any_moment_without_gap_or_double(registry: Registry) -> None:
    """G74: attaching races with publishing; what is replayed and what is live fit together exactly."""
    store, hub = registry.app.store, a_hub(registry)

    async def join(after: int) -> list[int]:
        async with listening(hub, after=after) as listener:
            return await serials(listener, total - after)

    total = 121
    async with listening(hub) as witness:
        writing = asyncio.create_task(write(store, 60))
        joined = []
        for after in range(0, 40, 2):
            await until(lambda after=after: is_true(lambda: hub.newest >= after))
            joined.append((after, asyncio.create_task(join(after))))
        assert await writing == total
        assert await serials(witness, total) == list(range(1, total + 1))
        for after, task in joined:
            assert await task == list(range(after + 1, total + 1))


async def test_replay_never_asks_the_database(registry: Registry) -> None:
    """However many come back at once, the ring serves them."""
    store, hub = registry.app.store, a_hub(registry)
    number = await write(store, 20)
    async with listening(hub, after=0) as first:
        assert await serials(first, number) == list(range(1, number + 1))
        with statements(store) as asked:
            comers = [await hub.listen(EVERYBODY, after) for after in range(number)]
            assert asked == []
        for after, comer in enumerate(comers):
            assert await serials(comer, number - after) == list(range(after + 1, number + 1))
            hub.leave(comer)


async def test_a_new_process_knows_what_happened_before_it(registry: Registry) -> None:
    """G74: a client may come back to a process that was not there when its connection was lost."""
    store = registry.app.store
    number = await write(store, 20)
    async with listening(a_hub(registry)) as somebody:
        assert somebody.start == number, "who comes for the first time starts from now"
    for after in (0, 7, number - 1):
        async with listening(a_hub(registry), after=after) as listener:
            assert await serials(listener, number - after) == list(range(after + 1, number + 1))


async def test_who_was_told_by_a_quicker_process_has_not_lost_track(registry: Registry) -> None:
    """G74: a serial that this process has not read yet is looked for before it is called unknown."""
    store, quick, slow = registry.app.store, a_hub(registry), a_hub(registry)
    async with listening(quick, after=0) as listener:
        [first] = await serials(listener, await write(store, 0))
    async with listening(slow):
        # The slower one is in the middle of something else while the client comes back to it.
        async with slow._reading:
            assert slow.newest == first
            before = await a_submission(store, "csv")
            async with listening(quick, after=first) as listener:
                [second] = await serials(listener, 1)
            coming = asyncio.create_task(slow.listen(EVERYBODY, second))
            await asyncio.sleep(0)
        back = await coming
        assert not back.lost_track
        await go_around(store, before)
        assert await serials(back, 2) == [second + 1, second + 2]
        slow.leave(back)


@pytest.mark.parametrize("after", [0, 9, 999_999])
async def test_what_is_not_kept_is_said_to_be_gone(registry: Registry, after: int) -> None:
    """G74: older than the ring, or newer than anything: the listener learns it, and hears what follows."""
    store, hub = registry.app.store, a_hub(registry, kept=10)
    number = await write(store, 10)
    async with listening(hub, after=after) as listener, listening(hub, after=number - 10) as exact:
        assert (listener.lost_track, listener.start) == (True, number)
        assert not exact.lost_track
        await a_submission(store, "csv")
        assert await serials(listener, 1) == [number + 1]
        assert await serials(exact, 11) == list(range(number - 9, number + 2))


async def test_a_transaction_held_open_delays_but_loses_nothing(registry: Registry) -> None:
    """G73: a change that was written first and committed last is heard, in the order of the feed."""
    store, hub = registry.app.store, a_hub(registry)
    number = await write(store, 1)
    async with listening(hub, after=0) as listener:
        assert await serials(listener, number) == [1, 2, 3]
        async with store.begin() as slow:
            await slow.execute(text("INSERT INTO change (kind, data) VALUES ('publish', '{}')"))
            later = await a_submission(store, "later")
            await step_on(store, later, Step(State.TIER1_SCANNING, "fetched"))
            # Somebody looks and finds nothing that has settled: it must look again without another notice.
            async with hub._reading:
                assert hub.newest == number
        assert await serials(listener, 2) == [number + 2, number + 3]
    assert await changes_of_the_queue(store, number) == [number + 2, number + 3]


async def test_a_transaction_that_tells_nothing_holds_back_without_a_notice(registry: Registry) -> None:
    """G73: the end of a transaction that wrote no change gives no notice; what it held back is heard all the same."""
    store, hub = registry.app.store, a_hub(registry)
    async with listening(hub) as listener:
        async with store.begin() as slow:
            await slow.execute(text("SELECT pg_current_xact_id()"))
            await a_submission(store)
            async with hub._reading:
                assert hub.newest == 0
        assert await serials(listener, 1) == [1]


async def test_nothing_is_lost_when_the_connection_for_notices_dies(registry: Registry) -> None:
    """G73: killed again and again while changes are written; listeners stay, and hear each change once."""
    store, hub, url = registry.app.store, a_hub(registry), registry.app.database_url
    async with listening(hub) as listener:
        writing = asyncio.create_task(write(store, 60))
        for _ in range(3):
            await until(lambda: connections(url))
            await terminate(url)
        number = await writing
        assert await serials(listener, number) == list(range(1, number + 1))
        await until(lambda: connections(url))
        await a_submission(store, "csv")
        assert await serials(listener, 1) == [number + 1]


async def test_nobody_waits_for_the_timer(registry: Registry) -> None:
    """G73: notices are enough, one change after the other, for the process that numbers and for the one that does not."""
    store, hubs = registry.app.store, [a_hub(registry, tick_seconds=10_000) for _ in range(2)]
    async with listening(hubs[0]) as here, listening(hubs[1]) as there:
        await until(lambda: connections(registry.app.database_url, 2))
        before = await a_submission(store)
        assert await serials(here, 1) == await serials(there, 1) == [1]
        for number in range(2, 22, 2):
            before = await go_around(store, before)
            assert await serials(here, 2) == await serials(there, 2) == [number, number + 1]


async def test_a_change_that_somebody_else_numbers_is_heard(registry: Registry) -> None:
    """G73: a worker or a reader of the feed may hand out the serials."""
    store, hub = registry.app.store, a_hub(registry)
    async with listening(hub) as listener:
        async with hub._reading:
            await a_submission(store)

            async def numbered() -> bool:
                async with store.begin() as db:
                    await number_changes(db)
                return await all_numbered(store)

            await until(numbered)
        assert await serials(listener, 1) == [1]


async def test_a_batch_is_one_event_and_each_of_it_is_heard_by_its_own(registry: Registry) -> None:
    """Hundreds created at once are one event for those who watch everything."""
    store, hub, account = registry.app.store, a_hub(registry), str(uuid4())
    names = [f"skill-{number}" for number in range(40)]
    async with listening(hub) as everything, listening(hub, topic_of_account(account)) as mine:
        numbers = await a_batch(store, *names, submitter=account)
        await a_submission(store, "after")
        batch, after = await hear(everything, 2)
        assert (batch.name, batch.data["count"], batch.data["source"]) == ("submissions_created", 40, "bulk")
        assert (after.name, after.data["skillName"]) == ("submission_created", "after")
        assert [event.name for event in await hear(mine, 1)] == ["submissions_created"]
        async with listening(hub, topic_of_submission(numbers[7]), after=0) as one:
            [created] = await hear(one, 1)
            assert (created.name, created.data["skillName"]) == ("submission_created", "skill-7")


async def test_mine_hears_only_what_i_have_submitted(registry: Registry) -> None:
    """Also in what is replayed."""
    store, hub, account, other = registry.app.store, a_hub(registry), str(uuid4()), str(uuid4())
    await a_submission(store, "early", account)
    async with listening(hub, topic_of_account(account), after=0) as mine:
        await a_submission(store, "theirs", other)
        await a_submission(store, "nobody's")
        before = await a_submission(store, "late", account)
        await go_around(store, before)
        assert [event.data["skillName"] for event in await hear(mine, 4)] == ["early", "late", "late", "late"]


async def test_what_nobody_understands_stops_nothing(registry: Registry) -> None:
    """A record of a kind that this release does not know is passed over; what follows is heard."""
    store, hub = registry.app.store, a_hub(registry)
    async with listening(hub) as listener:
        async with store.begin() as db:
            await db.execute(text("INSERT INTO change (kind, data) VALUES ('submission', '{\"to\": \"NOWHERE\"}')"))
        await a_submission(store)
        assert await serials(listener, 1) == [2]


async def test_a_burst_drops_nobody_who_reads(registry: Registry) -> None:
    """G75: far more changes in one transaction than may wait for a listener; who reads at once hears them all."""
    store, hub = registry.app.store, a_hub(registry, patience=Patience(entries=100))
    before = await a_submission(store)
    async with listening(hub, after=1) as listener, listening(hub) as sleeper:
        hearing = asyncio.create_task(serials(listener, 2_000))
        statement = text(
            "INSERT INTO change (kind, submission_id, data) SELECT 'submission', :id, "
            """'{"from": "RECEIVED", "to": "TIER1_SCANNING", "trigger": "fetched"}' FROM generate_series(1, 2000)"""
        )
        async with store.begin() as db:
            await db.execute(statement, {"id": before.id})
        assert await hearing == list(range(2, 2_002))
        assert (listener.is_ended, sleeper.is_ended) == (False, True)
        assert hub.audience.tally.listeners_dropped == 1
    async with listening(hub, after=sleeper.start) as back:
        assert await serials(back, 2_000) == list(range(2, 2_002))


async def test_nothing_runs_while_nobody_listens(registry: Registry) -> None:
    """The connection for notices is there for listeners, and what happened without them is not lost."""
    store, hub, url = registry.app.store, a_hub(registry), registry.app.database_url
    assert await connections(url) == []
    async with listening(hub) as listener:
        await until(lambda: connections(url))
        await a_submission(store)
        assert await serials(listener, 1) == [1]
        assert len(await connections(url)) == 1, "one for all listeners"

    async def none_left() -> bool:
        return not await connections(url)

    await until(none_left)
    await a_submission(store, "meanwhile")
    with statements(store) as asked:
        await asyncio.sleep(0)
        assert asked == []
    async with listening(hub, after=1) as listener:
        assert await serials(listener, 1) == [2]


async def test_more_than_may_listen_are_refused(registry: Registry) -> None:
    """G75: the number of listeners is bounded, and there is room again when one leaves."""
    hub = a_hub(registry, listeners=2)
    async with listening(hub):
        async with listening(hub):
            with pytest.raises(Unavailable) as refused:
                await hub.listen(EVERYBODY, None)
            assert (refused.value.code, hub.audience.is_full) == ("too_many_listeners", True)
        async with listening(hub):
            assert len(hub.audience) == 2


async def test_a_closed_hub_sends_everybody_home(registry: Registry) -> None:
    """A process that stops ends its streams at once and opens no more."""
    hub = a_hub(registry)
    listener = await hub.listen(EVERYBODY, None)
    waiting = asyncio.create_task(listener.wait())
    await hub.close()
    await waiting
    assert (listener.is_ended, len(hub.audience)) == (True, 0)
    with pytest.raises(Unavailable):
        await hub.listen(EVERYBODY, None)


async def test_a_mistake_of_ours_sends_everybody_home_and_back(registry: Registry) -> None:
    """Nobody is left listening to a hub that does not speak any more."""
    store, mistakes = registry.app.store, [ZeroDivisionError()]

    def encode(serial: int, happenings: Happenings) -> bytes:
        if mistakes:
            raise mistakes.pop()
        return encode_happenings(serial, happenings)

    hub = a_hub(registry, encode)
    listener = await hub.listen(EVERYBODY, None)
    await a_submission(store)
    async with asyncio.timeout(PATIENCE_SECONDS):
        await listener.wait()
    assert listener.is_ended
    hub.leave(listener)
    async with listening(hub, after=listener.start) as back:
        assert await serials(back, 1) == [1]
