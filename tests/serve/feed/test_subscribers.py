"""Who listens hears everything once and in order, or is cut off and can come back; nobody waits for anybody."""

import asyncio

import pytest

from assay.serve.feed.replay_buffer import Entry
from assay.serve.feed.subscriber import CHUNK_BYTES, Listener, Patience
from assay.serve.feed.subscribers import Audience, AudienceOptions

SMALL = AudienceOptions(listeners=3, patience=Patience(entries=4), kept=10)


def an_entry(serial: int, *topics: str, size: int = 1) -> Entry:
    """Something that happened, whose bytes are its serial."""
    return Entry(serial, topics or ("all",), f"{serial},".encode() * size, events=1)


def told(audience: Audience, last: int, *topics: str) -> None:
    """Tell everything up to a serial."""
    for serial in range(audience.ring.newest + 1, last + 1):
        audience.tell(an_entry(serial, *topics))


def taken(listener: Listener) -> list[int]:
    """The serials that wait for a listener."""
    return [int(serial) for serial in listener.take().decode().split(",") if serial]


def test_what_was_missed_and_what_follows_leave_no_gap() -> None:
    """G74: wherever a listener comes in, it hears exactly what is newer than what it has seen."""
    for seen in range(6, 17):
        audience = Audience(SMALL)
        told(audience, 16)
        listener = audience.admit("all", seen)
        told(audience, 18)
        assert (listener.lost_track, listener.start) == (False, seen)
        assert taken(listener) == list(range(seen + 1, 19))


@pytest.mark.parametrize("seen", [0, 5, 17, 2**63 - 1])
def test_who_has_seen_what_is_not_kept_has_lost_track(seen: int) -> None:
    """G74: too old or never told here; the listener learns that there is a gap and goes on from now."""
    audience = Audience(SMALL)
    told(audience, 16)
    listener = audience.admit("all", seen)
    told(audience, 18)
    assert (listener.lost_track, listener.start) == (True, 16)
    assert taken(listener) == [17, 18]


def test_who_comes_for_the_first_time_starts_from_now() -> None:
    """No history is replayed to those who have not asked for it."""
    audience = Audience(SMALL)
    told(audience, 5)
    listener = audience.admit("all", None)
    told(audience, 6)
    assert (listener.lost_track, listener.start, taken(listener)) == (False, 5, [6])


def test_each_hears_its_own_topic_only() -> None:
    """Also from what is replayed."""
    audience = Audience(SMALL)
    for serial in range(1, 5):
        audience.tell(an_entry(serial, "all", f"one:{serial % 2}"))
    odd, everything = audience.admit("one:1", 0), audience.admit("all", 0)
    audience.tell(an_entry(5, "one:1"))
    audience.tell(an_entry(6, "one:0"))
    audience.ring.pass_over(7)
    audience.tell(an_entry(8, "all", "one:1"))
    assert taken(odd) == [1, 3, 5, 8]
    assert taken(everything) == [1, 2, 3, 4, 8]
    assert audience.ring.covers(7)


def test_a_listener_that_does_not_keep_up_is_dropped_and_can_come_back() -> None:
    """G75: what waits for each is bounded; the others notice nothing, and what was dropped loses nothing."""
    audience = Audience(SMALL)
    slow, quick = audience.admit("all", None), audience.admit("all", None)
    heard = []
    for serial in range(1, 6):
        audience.tell(an_entry(serial))
        heard += taken(quick)
    assert heard == [1, 2, 3, 4, 5]
    assert (slow.is_ended, quick.is_ended, len(audience)) == (True, False, 1)
    assert audience.tally.listeners_dropped == 1
    assert slow.take() == b"", "nothing that comes after a gap may be sent"
    assert taken(audience.admit("all", slow.start)) == [1, 2, 3, 4, 5]


def test_a_long_replay_is_no_reason_to_be_dropped() -> None:
    """The bound counts what happens while one listens, not what one has missed before."""
    audience = Audience(SMALL)
    told(audience, 10)
    listener = audience.admit("all", 0)
    told(audience, 14)
    assert taken(listener) == list(range(1, 15))
    assert audience.tally.listeners_dropped == 0


def test_chunks_are_bounded_and_split_no_entry() -> None:
    """G75: however much waits, little of it is copied at once."""
    audience = Audience(AudienceOptions(kept=100))
    listener = audience.admit("all", None)
    for serial in range(1, 51):
        audience.tell(an_entry(serial, size=500))
    chunks = []
    while chunk := listener.take():
        chunks.append(chunk)
    assert len(chunks) > 1
    assert all(len(chunk) < CHUNK_BYTES + 2_000 for chunk in chunks)
    assert all(chunk.decode().count(f"{number},") % 500 == 0 for chunk in chunks for number in (17, 33))
    assert b"".join(chunks) == b"".join(an_entry(serial, size=500).data for serial in range(1, 51))
    assert audience.tally.events_sent == 50


async def test_a_write_that_is_stuck_is_given_up_when_the_listener_ends() -> None:
    """Stopping and dropping wait for nobody who does not read."""
    audience = Audience(SMALL)
    listener = audience.admit("all", None)

    async def stuck() -> None:
        async with listener.sending():
            await asyncio.Event().wait()

    writing = asyncio.create_task(stuck())
    await asyncio.sleep(0)
    audience.end()
    with pytest.raises(TimeoutError):
        await writing
    assert (listener.is_ended, len(audience), audience.tally.listeners_dropped) == (True, 0, 0)


async def test_a_listener_may_end_more_than_once() -> None:
    """Dropped for two reasons at the same moment: neither disturbs whoever notices."""
    listener, problems = Audience(SMALL).admit("all", None), []

    async def stuck() -> None:
        async with listener.sending():
            await asyncio.Event().wait()

    def end_again() -> None:
        try:
            listener.end()
        except RuntimeError as problem:
            problems.append(problem)

    writing = asyncio.create_task(stuck())
    await asyncio.sleep(0)
    listener.end()
    asyncio.get_running_loop().call_soon(end_again)  # the write is being given up, but does not know it yet
    with pytest.raises(TimeoutError):
        await writing
    listener.end()
    assert problems == []


async def test_a_quiet_listener_wakes_up_at_the_end() -> None:
    """Somebody who waits for something to happen leaves when the process stops."""
    audience = Audience(SMALL)
    listener = audience.admit("all", None)
    waiting = asyncio.create_task(listener.wait())
    await asyncio.sleep(0)
    assert not waiting.done()
    audience.end()
    await waiting
    assert listener.take() == b""


def test_no_more_than_so_many_listen() -> None:
    """G75: the number of streams of a process is bounded; who leaves makes room."""
    audience = Audience(SMALL)
    listeners = [audience.admit("all", None) for _ in range(3)]
    assert audience.is_full
    assert audience.dismiss(listeners[0])
    assert not audience.dismiss(listeners[0])
    assert not audience.is_full
