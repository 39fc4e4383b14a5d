"""The hub delivers every change to every subscriber, once and in order."""

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
from assay.serve.feed.live_events import ALL_SUBMISSIONS, LiveEvents, topic_of_account, topic_of_submission
from assay.serve.feed.subscribers import Subscriber, SubscriberLimits, SubscriberOptions
from assay.store.database.database import Database
from assay.store.feed.changes import number_changes
from assay.store.feed.notifications import APPLICATION
from assay.store.submissions.transitions import Step
from assay.web.feed.json import encode_live_events
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


def a_hub(registry: Registry, encode=encode_live_events, tick_seconds: float = TICK_SECONDS, **options: Any) -> Hub:
    """Return the hub of a process."""
    return Hub(registry.app.store, registry.app.database_url, encode, SubscriberOptions(**options), tick_seconds)


@asynccontextmanager
async def listening(hub: Hub, topic: str = ALL_SUBMISSIONS, after: int | None = None) -> AsyncIterator[Subscriber]:
    """Subscribe for the duration of the block."""
    subscriber = await hub.subscribe(topic, after)
    try:
        yield subscriber
    finally:
        hub.unsubscribe(subscriber)


async def hear(subscriber: Subscriber, number: int) -> list[Event]:
    """Return the next events; none for a dropped subscriber."""
    parser = Parser()
    async with asyncio.timeout(PATIENCE_SECONDS):
        while len(parser.events) < number and not subscriber.is_ended:
            await subscriber.wait()
            for line in subscriber.take().decode().split("\n"):
                parser.feed(line)
    return parser.events


async def serials(subscriber: Subscriber, number: int) -> list[int]:
    """Return the ids of the next events."""
    return [int(event.id) for event in await hear(subscriber, number)]


async def is_true(condition: Callable[[], bool]) -> bool:
    """Return a condition for `until`."""
    return condition()


async def write(store: Database, rounds: int, name: str = "pdf") -> int:
    """Write changes and return their number."""
    before = await a_submission(store, name)
    for _ in range(rounds):
        before = await go_around(store, before)
    return 2 * rounds + 1


async def connections(url: str, at_least: int = 1) -> list[int]:
    """Return the database backends that send notifications to this process."""
    admin = await asyncpg.connect(url)
    rows = await admin.fetch(
        "SELECT pid FROM pg_stat_activity WHERE application_name = $1 AND datname = current_database()", APPLICATION
    )
    await admin.close()
    return [row["pid"] for row in rows] if len(rows) >= at_least else []


async def terminate(url: str) -> None:
    """Kill the connections used for notifications."""
    admin = await asyncpg.connect(url)
    await admin.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE application_name = $1 AND datname = current_database()",
        APPLICATION,
    )
    await admin.close()


async def test_every_subscriber_receives_every_change_in_order(registry: Registry) -> None:
    """G73: each change is encoded once."""
    store, encoded = registry.app.store, []

    def encode(serial: int, events: LiveEvents) -> bytes:
        encoded.append(serial)
        return encode_live_events(serial, events)

    hub = a_hub(registry, encode)
    async with listening(hub) as first, listening(hub) as second, listening(hub) as third:
        numbers = await asyncio.gather(*(write(store, 4, f"skill-{number}") for number in range(8)))
        heard = [await serials(each, sum(numbers)) for each in (first, second, third)]
    expected = await changes_of_the_queue(store)
    assert len(expected) == sum(numbers)
    assert heard == [expected] * 3
    assert encoded == expected


async def test_hubs_of_other_processes_receive_the_same(registry: Registry) -> None:
    """G73: whichever process assigns the serials."""
    store = registry.app.store
    hubs = [a_hub(registry) for _ in range(3)]
    async with listening(hubs[0]) as first, listening(hubs[1]) as second, listening(hubs[2]) as third:
        number = await write(store, 10)
        heard = [await serials(each, number) for each in (first, second, third)]
    assert heard == [await changes_of_the_queue(store)] * 3


async def test_subscribing_during_publishing_has_no_gap_or_duplicate(registry: Registry) -> None:
    """G74."""
    store, hub = registry.app.store, a_hub(registry)

    async def join(after: int) -> list[int]:
        async with listening(hub, after=after) as subscriber:
            return await serials(subscriber, total - after)

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


async def test_replay_does_not_query_the_database(registry: Registry) -> None:
    store, hub = registry.app.store, a_hub(registry)
    number = await write(store, 20)
    async with listening(hub, after=0) as first:
        assert await serials(first, number) == list(range(1, number + 1))
        with statements(store) as asked:
            comers = [await hub.subscribe(ALL_SUBMISSIONS, after) for after in range(number)]
            assert asked == []
        for after, comer in enumerate(comers):
            assert await serials(comer, number - after) == list(range(after + 1, number + 1))
            hub.unsubscribe(comer)


async def test_new_process_replays_earlier_changes(registry: Registry) -> None:
    """G74."""
    store = registry.app.store
    number = await write(store, 20)
    async with listening(a_hub(registry)) as somebody:
        assert somebody.start == number, "who comes for the first time starts from now"
    for after in (0, 7, number - 1):
        async with listening(a_hub(registry), after=after) as subscriber:
            assert await serials(subscriber, number - after) == list(range(after + 1, number + 1))


async def test_newer_serial_from_another_process_is_awaited(registry: Registry) -> None:
    """G74: a serial not yet read here is not reported as unknown."""
    store, quick, slow = registry.app.store, a_hub(registry), a_hub(registry)
    async with listening(quick, after=0) as subscriber:
        [first] = await serials(subscriber, await write(store, 0))
    async with listening(slow):
        # The slower process is busy when the client reconnects.
        async with slow._reading:
            assert slow.newest == first
            before = await a_submission(store, "csv")
            async with listening(quick, after=first) as subscriber:
                [second] = await serials(subscriber, 1)
            coming = asyncio.create_task(slow.subscribe(ALL_SUBMISSIONS, second))
            await asyncio.sleep(0)
        back = await coming
        assert not back.has_gap
        await go_around(store, before)
        assert await serials(back, 2) == [second + 1, second + 2]
        slow.unsubscribe(back)


@pytest.mark.parametrize("after", [0, 9, 999_999])
async def test_unavailable_serial_is_reported(registry: Registry, after: int) -> None:
    """G74: older than the buffer or newer than the feed; the subscriber continues from now."""
    store, hub = registry.app.store, a_hub(registry, replay_size=10)
    number = await write(store, 10)
    async with listening(hub, after=after) as subscriber, listening(hub, after=number - 10) as exact:
        assert (subscriber.has_gap, subscriber.start) == (True, number)
        assert not exact.has_gap
        await a_submission(store, "csv")
        assert await serials(subscriber, 1) == [number + 1]
        assert await serials(exact, 11) == list(range(number - 9, number + 2))


async def test_open_transaction_delays_but_loses_nothing(registry: Registry) -> None:
    """G73."""
    store, hub = registry.app.store, a_hub(registry)
    number = await write(store, 1)
    async with listening(hub, after=0) as subscriber:
        assert await serials(subscriber, number) == [1, 2, 3]
        async with store.begin() as slow:
            await slow.execute(text("INSERT INTO change (kind, data) VALUES ('publish', '{}')"))
            later = await a_submission(store, "later")
            await step_on(store, later, Step(State.TIER1_SCANNING, "fetched"))
            # A read that finds nothing settled must be repeated without another notification.
            async with hub._reading:
                assert hub.newest == number
        assert await serials(subscriber, 2) == [number + 2, number + 3]
    assert await changes_of_the_queue(store, number) == [number + 2, number + 3]


async def test_changes_held_back_without_a_notification_are_delivered(registry: Registry) -> None:
    """G73: a transaction without changes ends silently."""
    store, hub = registry.app.store, a_hub(registry)
    async with listening(hub) as subscriber:
        async with store.begin() as slow:
            await slow.execute(text("SELECT pg_current_xact_id()"))
            await a_submission(store)
            async with hub._reading:
                assert hub.newest == 0
        assert await serials(subscriber, 1) == [1]


async def test_lost_notification_connection_loses_nothing(registry: Registry) -> None:
    """G73: killed repeatedly during writes."""
    store, hub, url = registry.app.store, a_hub(registry), registry.app.database_url
    async with listening(hub) as subscriber:
        writing = asyncio.create_task(write(store, 60))
        for _ in range(3):
            await until(lambda: connections(url))
            await terminate(url)
        number = await writing
        assert await serials(subscriber, number) == list(range(1, number + 1))
        await until(lambda: connections(url))
        await a_submission(store, "csv")
        assert await serials(subscriber, 1) == [number + 1]


async def test_notifications_are_sufficient_without_the_timer(registry: Registry) -> None:
    """G73."""
    store, hubs = registry.app.store, [a_hub(registry, tick_seconds=10_000) for _ in range(2)]
    async with listening(hubs[0]) as here, listening(hubs[1]) as there:
        await until(lambda: connections(registry.app.database_url, 2))
        before = await a_submission(store)
        assert await serials(here, 1) == await serials(there, 1) == [1]
        for number in range(2, 22, 2):
            before = await go_around(store, before)
            assert await serials(here, 2) == await serials(there, 2) == [number, number + 1]


async def test_changes_numbered_by_another_process_are_delivered(registry: Registry) -> None:
    """G73."""
    store, hub = registry.app.store, a_hub(registry)
    async with listening(hub) as subscriber:
        async with hub._reading:
            await a_submission(store)

            async def numbered() -> bool:
                async with store.begin() as db:
                    await number_changes(db)
                return await all_numbered(store)

            await until(numbered)
        assert await serials(subscriber, 1) == [1]


async def test_batch_is_one_event(registry: Registry) -> None:
    """Subscribers of single submissions receive their own."""
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


async def test_subscriber_of_own_submissions(registry: Registry) -> None:
    """Also in the replay."""
    store, hub, account, other = registry.app.store, a_hub(registry), str(uuid4()), str(uuid4())
    await a_submission(store, "early", account)
    async with listening(hub, topic_of_account(account), after=0) as mine:
        await a_submission(store, "theirs", other)
        await a_submission(store, "nobody's")
        before = await a_submission(store, "late", account)
        await go_around(store, before)
        assert [event.data["skillName"] for event in await hear(mine, 4)] == ["early", "late", "late", "late"]


async def test_unknown_change_kind_is_skipped(registry: Registry) -> None:
    store, hub = registry.app.store, a_hub(registry)
    async with listening(hub) as subscriber:
        async with store.begin() as db:
            await db.execute(text("INSERT INTO change (kind, data) VALUES ('submission', '{\"to\": \"NOWHERE\"}')"))
        await a_submission(store)
        assert await serials(subscriber, 1) == [2]


async def test_burst_does_not_drop_active_readers(registry: Registry) -> None:
    """G75."""
    store, hub = registry.app.store, a_hub(registry, limits=SubscriberLimits(entries=100))
    before = await a_submission(store)
    async with listening(hub, after=1) as subscriber, listening(hub) as sleeper:
        hearing = asyncio.create_task(serials(subscriber, 2_000))
        statement = text(
            "INSERT INTO change (kind, submission_id, data) SELECT 'submission', :id, "
            """'{"from": "RECEIVED", "to": "TIER1_SCANNING", "trigger": "fetched"}' FROM generate_series(1, 2000)"""
        )
        async with store.begin() as db:
            await db.execute(statement, {"id": before.id})
        assert await hearing == list(range(2, 2_002))
        assert (subscriber.is_ended, sleeper.is_ended) == (False, True)
        assert hub.subscribers.stats.subscribers_dropped == 1
    async with listening(hub, after=sleeper.start) as back:
        assert await serials(back, 2_000) == list(range(2, 2_002))


async def test_hub_is_idle_without_subscribers(registry: Registry) -> None:
    """Nothing is lost meanwhile."""
    store, hub, url = registry.app.store, a_hub(registry), registry.app.database_url
    assert await connections(url) == []
    async with listening(hub) as subscriber:
        await until(lambda: connections(url))
        await a_submission(store)
        assert await serials(subscriber, 1) == [1]
        assert len(await connections(url)) == 1, "one for all listeners"

    async def none_left() -> bool:
        return not await connections(url)

    await until(none_left)
    await a_submission(store, "meanwhile")
    with statements(store) as asked:
        await asyncio.sleep(0)
        assert asked == []
    async with listening(hub, after=1) as subscriber:
        assert await serials(subscriber, 1) == [2]


async def test_number_of_subscribers_is_limited(registry: Registry) -> None:
    """G75."""
    hub = a_hub(registry, max_subscribers=2)
    async with listening(hub):
        async with listening(hub):
            with pytest.raises(Unavailable) as refused:
                await hub.subscribe(ALL_SUBMISSIONS, None)
            assert (refused.value.code, hub.subscribers.is_full) == ("too_many_listeners", True)
        async with listening(hub):
            assert len(hub.subscribers) == 2


async def test_closed_hub_ends_all_streams(registry: Registry) -> None:
    hub = a_hub(registry)
    subscriber = await hub.subscribe(ALL_SUBMISSIONS, None)
    waiting = asyncio.create_task(subscriber.wait())
    await hub.close()
    await waiting
    assert (subscriber.is_ended, len(hub.subscribers)) == (True, 0)
    with pytest.raises(Unavailable):
        await hub.subscribe(ALL_SUBMISSIONS, None)


async def test_crashed_hub_closes_streams_and_restarts(registry: Registry) -> None:
    store, mistakes = registry.app.store, [ZeroDivisionError()]

    def encode(serial: int, events: LiveEvents) -> bytes:
        if mistakes:
            raise mistakes.pop()
        return encode_live_events(serial, events)

    hub = a_hub(registry, encode)
    subscriber = await hub.subscribe(ALL_SUBMISSIONS, None)
    await a_submission(store)
    async with asyncio.timeout(PATIENCE_SECONDS):
        await subscriber.wait()
    assert subscriber.is_ended
    hub.unsubscribe(subscriber)
    async with listening(hub, after=subscriber.start) as back:
        assert await serials(back, 1) == [1]
