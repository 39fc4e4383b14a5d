"""What the copy relies on, shown on every store that it may be kept in."""

import asyncio
from pathlib import Path

import pytest

from assay.edge.keys import LONGEST, skill_key
from assay.edge.kv import Edge, Range, below
from assay.edge.lmdb import LmdbEdge
from assay.edge.redis import RedisEdge
from assay.model.errors import Unavailable
from tests.support.edge_stores import RedisServer, contents_of, keys_of, put_listings


async def test_what_is_put_is_there_until_it_is_removed(edge: Edge) -> None:
    """G69: on LMDB and on a real Redis. Values are bytes of any kind; a key that is both put and removed is put; the serial moves with them."""
    assert await edge.read_serial() == 0
    assert await edge.write({"skill:a": b"\x00\xff", "skill:b": b"b"}, {"skill:b", "skill:c"}, since=0, serial=7)
    assert await edge.read_serial() == 7
    assert await edge.get(["skill:a", "skill:b", "skill:c"]) == [b"\x00\xff", b"b", None]
    assert await edge.get([]) == []
    assert await edge.write({}, {"skill:a"}, since=7, serial=8)
    assert await edge.get(["skill:a"]) == [None]
    assert await keys_of(edge, "skill:") == ["skill:b"]


async def test_whoever_was_overtaken_changes_nothing(edge: Edge) -> None:
    """G68: a writer that has read an older serial is refused as a whole, so nothing older lies over something newer."""
    assert await edge.write({"skill:a": b"new"}, (), since=0, serial=2)
    for serial in (1, 3):
        assert not await edge.write({"skill:a": b"old", "skill:z": b"old"}, {"skill:a"}, since=1, serial=serial)
    assert await edge.read_serial() == 2
    assert await contents_of(edge) == {"skill:a": b"new"}


async def test_of_many_writers_at_once_each_step_has_one(edge: Edge) -> None:
    """G68: writers that race for the same serial do not lose each other's values."""

    async def add(number: int) -> None:
        while True:
            since = await edge.read_serial()
            if await edge.write({f"skill:{number:02}": b"x"}, (), since=since, serial=since + 1):
                return

    await asyncio.gather(*(add(number) for number in range(20)))
    assert await edge.read_serial() == 20
    assert await keys_of(edge, "skill:") == [f"skill:{number:02}" for number in range(20)]


async def test_pages_are_in_order_and_have_no_ceiling(edge: Edge) -> None:
    """G69: a cursor leads through more keys than any page holds, while others are put before and behind it."""
    names = [f"owner-{number % 7}/repo/skill-{number:05}" for number in range(2_500)]
    await put_listings(edge, names)
    seen: list[str] = []
    after = None
    while True:
        page = await edge.page(below("skill:"), after=after, limit=100)
        seen += [item.key for item in page.items]
        serial = await edge.read_serial()
        assert await edge.write({"skill:zz/last/one": b"x", "skill:0/first/one": b"x"}, (), since=serial, serial=serial)
        if page.next_cursor is None:
            break
        after = page.next_cursor
    assert seen == sorted([*map(skill_key, names), "skill:zz/last/one"])


async def test_a_range_ends_where_it_says(edge: Edge) -> None:
    """Neighbouring prefixes do not run into each other, and a start is part of its range."""
    values = dict.fromkeys(("skill:a", "skill:b", "skill:é", "skill;", "skills:published-index", "sub:1"), b"x")
    await edge.write(values, (), since=0, serial=1)
    assert await keys_of(edge, "skill:") == ["skill:a", "skill:b", "skill:é"]
    page = await edge.page(Range("skill:b", "skill:é"))
    assert [item.key for item in page.items] == ["skill:b"]
    assert page.next_cursor is None


async def test_names_of_any_length_and_alphabet_have_a_key(edge: Edge) -> None:
    """Two names that differ only at their end do not share a key, however long they are."""
    long = "owner/" + "r" * 100 + "/" + "技" * 200
    keys = {skill_key(f"{long}{end}") for end in ("甲", "乙")}
    assert len(keys) == 2
    assert all(len(key.encode()) <= LONGEST for key in keys)
    await edge.write(dict.fromkeys(keys, b"x"), (), since=0, serial=1)
    assert set(await keys_of(edge, "skill:")) == keys


async def test_clearing_forgets_everything(edge: Edge) -> None:
    """The serial, too: an empty store is a new one."""
    await put_listings(edge, ["a/b/c"])
    await edge.clear()
    assert (await edge.read_serial(), await contents_of(edge)) == (0, {})


async def test_two_copies_of_one_process_share_a_folder(tmp_path: Path) -> None:
    """LMDB forbids to open a folder twice in a process; whoever asks for it gets the one that is open."""
    first, second = LmdbEdge(tmp_path / "edge"), LmdbEdge(tmp_path / "edge")
    await first.write({"skill:a": b"x"}, (), since=0, serial=1)
    assert await second.get(["skill:a"]) == [b"x"]
    await first.close()
    assert await second.read_serial() == 1


async def test_a_store_that_is_away_is_a_typed_error(tmp_path: Path) -> None:
    """A dead server, or a folder that cannot be: Unavailable with the cause, whatever is asked; it recovers by itself."""
    server = RedisServer()
    remote = RedisEdge(server.url)
    (tmp_path / "file").write_text("no folder")
    for away in (remote, LmdbEdge(tmp_path / "file")):
        for ask in (away.read_serial(), away.get(["a"]), away.page(below("a")), away.write({}, (), since=0, serial=1)):
            with pytest.raises(Unavailable) as caught:
                await ask
            assert caught.value.code == "edge_unavailable"
            assert caught.value.details["cause"]
    server.start()
    try:
        assert await remote.read_serial() == 0
    finally:
        server.stop()
    await remote.close()


def test_no_password_is_part_of_an_identity() -> None:
    """It goes into locks and logs."""
    assert RedisEdge("redis://me:hidden@cache:6380/2").identity == "redis:cache:6380/2"
