"""Subscribers receive everything once and in order, or are dropped and can resume."""

import asyncio

import pytest

from assay.serve.feed.replay_buffer import EncodedEvents
from assay.serve.feed.subscribers import CHUNK_BYTES, Subscriber, SubscriberLimits, SubscriberOptions, Subscribers

SMALL = SubscriberOptions(max_subscribers=3, limits=SubscriberLimits(entries=4), replay_size=10)


def an_entry(serial: int, *topics: str, size: int = 1) -> EncodedEvents:
    """Return an entry whose bytes are its serial."""
    return EncodedEvents(serial, topics or ("all",), f"{serial},".encode() * size, events=1)


def told(subscribers: Subscribers, last: int, *topics: str) -> None:
    """Publish everything up to a serial."""
    for serial in range(subscribers.replay_buffer.newest + 1, last + 1):
        subscribers.publish(an_entry(serial, *topics))


def taken(subscriber: Subscriber) -> list[int]:
    """Return the serials queued for a subscriber."""
    return [int(serial) for serial in subscriber.take().decode().split(",") if serial]


def test_replay_and_live_events_have_no_gap() -> None:
    """G74."""
    for seen in range(6, 17):
        subscribers = Subscribers(SMALL)
        told(subscribers, 16)
        subscriber = subscribers.add("all", seen)
        told(subscribers, 18)
        assert (subscriber.has_gap, subscriber.start) == (False, seen)
        assert taken(subscriber) == list(range(seen + 1, 19))


@pytest.mark.parametrize("seen", [0, 5, 17, 2**63 - 1])
def test_unavailable_position_is_reported(seen: int) -> None:
    """G74: too old or never seen; the subscriber continues from now."""
    subscribers = Subscribers(SMALL)
    told(subscribers, 16)
    subscriber = subscribers.add("all", seen)
    told(subscribers, 18)
    assert (subscriber.has_gap, subscriber.start) == (True, 16)
    assert taken(subscriber) == [17, 18]


def test_new_subscriber_starts_from_now() -> None:
    subscribers = Subscribers(SMALL)
    told(subscribers, 5)
    subscriber = subscribers.add("all", None)
    told(subscribers, 6)
    assert (subscriber.has_gap, subscriber.start, taken(subscriber)) == (False, 5, [6])


def test_subscriber_receives_its_topic_only() -> None:
    """Also in the replay."""
    subscribers = Subscribers(SMALL)
    for serial in range(1, 5):
        subscribers.publish(an_entry(serial, "all", f"one:{serial % 2}"))
    odd, everything = subscribers.add("one:1", 0), subscribers.add("all", 0)
    subscribers.publish(an_entry(5, "one:1"))
    subscribers.publish(an_entry(6, "one:0"))
    subscribers.replay_buffer.skip_to(7)
    subscribers.publish(an_entry(8, "all", "one:1"))
    assert taken(odd) == [1, 3, 5, 8]
    assert taken(everything) == [1, 2, 3, 4, 8]
    assert subscribers.replay_buffer.covers(7)


def test_slow_subscriber_is_dropped_and_can_resume() -> None:
    """G75: others are unaffected."""
    subscribers = Subscribers(SMALL)
    slow, quick = subscribers.add("all", None), subscribers.add("all", None)
    heard = []
    for serial in range(1, 6):
        subscribers.publish(an_entry(serial))
        heard += taken(quick)
    assert heard == [1, 2, 3, 4, 5]
    assert (slow.is_ended, quick.is_ended, len(subscribers)) == (True, False, 1)
    assert subscribers.stats.subscribers_dropped == 1
    assert slow.take() == b"", "nothing that comes after a gap may be sent"
    assert taken(subscribers.add("all", slow.start)) == [1, 2, 3, 4, 5]


def test_long_replay_does_not_count_as_slow() -> None:
    subscribers = Subscribers(SMALL)
    told(subscribers, 10)
    subscriber = subscribers.add("all", 0)
    told(subscribers, 14)
    assert taken(subscriber) == list(range(1, 15))
    assert subscribers.stats.subscribers_dropped == 0


def test_chunks_are_bounded_and_contain_whole_entries() -> None:
    """G75."""
    subscribers = Subscribers(SubscriberOptions(replay_size=100))
    subscriber = subscribers.add("all", None)
    for serial in range(1, 51):
        subscribers.publish(an_entry(serial, size=500))
    chunks = []
    while chunk := subscriber.take():
        chunks.append(chunk)
    assert len(chunks) > 1
    assert all(len(chunk) < CHUNK_BYTES + 2_000 for chunk in chunks)
    assert all(chunk.decode().count(f"{number},") % 500 == 0 for chunk in chunks for number in (17, 33))
    assert b"".join(chunks) == b"".join(an_entry(serial, size=500).data for serial in range(1, 51))
    assert subscribers.stats.events_sent == 50


async def test_stuck_write_is_abandoned_when_the_subscriber_ends() -> None:
    subscribers = Subscribers(SMALL)
    subscriber = subscribers.add("all", None)

    async def stuck() -> None:
        async with subscriber.sending():
            await asyncio.Event().wait()

    writing = asyncio.create_task(stuck())
    await asyncio.sleep(0)
    subscribers.end()
    with pytest.raises(TimeoutError):
        await writing
    assert (subscriber.is_ended, len(subscribers), subscribers.stats.subscribers_dropped) == (True, 0, 0)


async def test_subscriber_may_end_more_than_once() -> None:
    subscriber, problems = Subscribers(SMALL).add("all", None), []

    async def stuck() -> None:
        async with subscriber.sending():
            await asyncio.Event().wait()

    def end_again() -> None:
        try:
            subscriber.end()
        except RuntimeError as problem:
            problems.append(problem)

    writing = asyncio.create_task(stuck())
    await asyncio.sleep(0)
    subscriber.end()
    asyncio.get_running_loop().call_soon(end_again)  # the write is being cancelled but has not noticed
    with pytest.raises(TimeoutError):
        await writing
    subscriber.end()
    assert problems == []


async def test_waiting_subscriber_wakes_up_at_shutdown() -> None:
    subscribers = Subscribers(SMALL)
    subscriber = subscribers.add("all", None)
    waiting = asyncio.create_task(subscriber.wait())
    await asyncio.sleep(0)
    assert not waiting.done()
    subscribers.end()
    await waiting
    assert subscriber.take() == b""


def test_number_of_streams_is_limited() -> None:
    """G75."""
    subscribers = Subscribers(SMALL)
    admitted = [subscribers.add("all", None) for _ in range(3)]
    assert subscribers.is_full
    assert subscribers.remove(admitted[0])
    assert not subscribers.remove(admitted[0])
    assert not subscribers.is_full
