"""Requirements of the edge copy, on every store."""

import asyncio
from pathlib import Path

import pytest

from assay.edge.keys import MAX_BYTES, skill_key
from assay.edge.kv import Edge, KeyRange, prefix_range
from assay.edge.lmdb import LmdbEdge
from assay.edge.redis import RedisEdge
from assay.model.errors import Unavailable
from tests.support.edge_stores import RedisServer, contents_of, keys_of, put_listings


async def test_put_and_remove(edge: Edge) -> None:
    """G69: a key in both is put; the serial moves too."""
    assert await edge.read_serial() == 0
    assert await edge.write({"skill:a": b"\x00\xff", "skill:b": b"b"}, {"skill:b", "skill:c"}, since=0, serial=7)
    assert await edge.read_serial() == 7
    assert await edge.get(["skill:a", "skill:b", "skill:c"]) == [b"\x00\xff", b"b", None]
    assert await edge.get([]) == []
    assert await edge.write({}, {"skill:a"}, since=7, serial=8)
    assert await edge.get(["skill:a"]) == [None]
    assert await keys_of(edge, "skill:") == ["skill:b"]


async def test_stale_writer_is_rejected(edge: Edge) -> None:
    """G68: as a whole."""
    assert await edge.write({"skill:a": b"new"}, (), since=0, serial=2)
    for serial in (1, 3):
        assert not await edge.write({"skill:a": b"old", "skill:z": b"old"}, {"skill:a"}, since=1, serial=serial)
    assert await edge.read_serial() == 2
    assert await contents_of(edge) == {"skill:a": b"new"}


async def test_concurrent_writers_are_serialised(edge: Edge) -> None:
    """G68."""

    async def add(number: int) -> None:
        while True:
            since = await edge.read_serial()
            if await edge.write({f"skill:{number:02}": b"x"}, (), since=since, serial=since + 1):
                return

    await asyncio.gather(*(add(number) for number in range(20)))
    assert await edge.read_serial() == 20
    assert await keys_of(edge, "skill:") == [f"skill:{number:02}" for number in range(20)]


async def test_pages_are_ordered_and_unlimited(edge: Edge) -> None:
    """G69."""
    names = [f"owner-{number % 7}/repo/skill-{number:05}" for number in range(2_500)]
    await put_listings(edge, names)
    seen: list[str] = []
    after = None
    while True:
        page = await edge.page(prefix_range("skill:"), after=after, limit=100)
        seen += [item.key for item in page.items]
        serial = await edge.read_serial()
        assert await edge.write({"skill:zz/last/one": b"x", "skill:0/first/one": b"x"}, (), since=serial, serial=serial)
        if page.next_cursor is None:
            break
        after = page.next_cursor
    assert seen == sorted([*map(skill_key, names), "skill:zz/last/one"])


async def test_range_bounds(edge: Edge) -> None:
    values = dict.fromkeys(("skill:a", "skill:b", "skill:é", "skill;", "skills:published-index", "sub:1"), b"x")
    await edge.write(values, (), since=0, serial=1)
    assert await keys_of(edge, "skill:") == ["skill:a", "skill:b", "skill:é"]
    page = await edge.page(KeyRange("skill:b", "skill:é"))
    assert [item.key for item in page.items] == ["skill:b"]
    assert page.next_cursor is None


async def test_names_of_any_length_have_distinct_keys(edge: Edge) -> None:
    long = "owner/" + "r" * 100 + "/" + "技" * 200
    keys = {skill_key(f"{long}{end}") for end in ("甲", "乙")}
    assert len(keys) == 2
    assert all(len(key.encode()) <= MAX_BYTES for key in keys)
    await edge.write(dict.fromkeys(keys, b"x"), (), since=0, serial=1)
    assert set(await keys_of(edge, "skill:")) == keys


async def test_clear_resets_the_serial(edge: Edge) -> None:
    await put_listings(edge, ["a/b/c"])
    await edge.clear()
    assert (await edge.read_serial(), await contents_of(edge)) == (0, {})


async def test_one_process_shares_an_open_folder(tmp_path: Path) -> None:
    """LMDB forbids opening a folder twice."""
    first, second = LmdbEdge(tmp_path / "edge"), LmdbEdge(tmp_path / "edge")
    await first.write({"skill:a": b"x"}, (), since=0, serial=1)
    assert await second.get(["skill:a"]) == [b"x"]
    await first.close()
    assert await second.read_serial() == 1


async def test_unavailable_store_is_a_typed_error(tmp_path: Path) -> None:
    """and recovers."""
    server = RedisServer()
    remote = RedisEdge(server.url)
    (tmp_path / "file").write_text("no folder")
    for away in (remote, LmdbEdge(tmp_path / "file")):
        for ask in (
            away.read_serial(),
            away.get(["a"]),
            away.page(prefix_range("a")),
            away.write({}, (), since=0, serial=1),
        ):
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


def test_identity_contains_no_password() -> None:
    assert RedisEdge("redis://me:hidden@cache:6380/2").identity == "redis:cache:6380/2"
