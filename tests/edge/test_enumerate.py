"""Enumeration of published skills, and the index."""

import asyncio
from itertools import pairwise

from assay.edge.enumerate import CUTS, enumerate_published, ranges
from assay.edge.index import read_index, read_index_head, write_index
from assay.edge.keys import INDEX, INDEX_BUILDING, INDEX_KEYS, part_key
from assay.edge.kv import Edge, KeyPage, KeyRange
from tests.support.edge_stores import THEN, put_listings


class Watched:
    """A store that records concurrent page requests."""

    def __init__(self, edge: Edge) -> None:
        self._edge, self._now, self.most, self.pages = edge, 0, 0, 0

    async def page(self, keys: KeyRange, *, after: str | None = None, limit: int = 1000) -> KeyPage:
        self._now += 1
        self.most, self.pages = max(self.most, self._now), self.pages + 1
        await asyncio.sleep(0)
        try:
            return await self._edge.page(keys, after=after, limit=limit)
        finally:
            self._now -= 1


async def test_enumeration_is_complete(edge: Edge) -> None:
    """G69: 5,000 keys, concurrent pages, in name order."""
    names = sorted(f"{chr(97 + n % 26)}{n % 10}/repo-{n % 5}/skill-{n}" for n in range(4_990))
    names += [
        "äther/repo/skill",
        "愛/repo/skill",
        "0/0/0",
        "A/b/c",
        "~/b/c",
        "_x/b/c",
        "zzz/b/c",
        "9/9/9",
        "m/m/m",
        "-/-/-",
    ]
    await put_listings(edge, names)
    watched = Watched(edge)
    found = await enumerate_published(watched, lambda skill: skill.name, limit=200)
    assert found.found == sorted(names, key=str.encode)
    assert found.unreadable == 0
    assert watched.most > 4, "pages are asked for in parallel"
    assert watched.pages > 25


async def test_unreadable_values_are_counted_and_named(edge: Edge) -> None:
    """G69."""
    await put_listings(edge, ["a/b/c", "d/e/f"])
    bad = {"skill:x/y/z": b"\xff", "skill:x/y/empty": b"", "skill:x/y/partial": b"\x81\xa6serial\x01"}
    assert await edge.write(bad, (), since=1, serial=1)
    found = await enumerate_published(edge, lambda skill: skill.name)
    assert found.found == ["a/b/c", "d/e/f"]
    assert (found.unreadable, found.unreadable_keys) == (3, tuple(sorted(bad)))


def test_ranges_cover_every_key_once() -> None:
    pieces = ranges("skill:", CUTS)
    assert pieces[0].start == "skill:"
    assert pieces[-1].stop == "skill;"
    assert all(one.start < one.stop == other.start for one, other in pairwise(pieces))


async def test_index_equals_the_enumeration(edge: Edge) -> None:
    """G69: with its serial; parts of a larger index are removed."""
    await put_listings(edge, [f"a/b/skill-{number:04}" for number in range(2_100)])
    head = await write_index(edge, THEN)
    assert head is not None
    assert (head.count, head.parts, head.serial) == (2_100, 3, 1)
    assert [skill.name async for part in read_index(edge, head) for skill in part] == [
        f"a/b/skill-{number:04}" for number in range(2_100)
    ]
    await edge.clear()
    await put_listings(edge, ["a/b/c"])
    await edge.write({part_key(5): b"old"}, (), since=1, serial=1)
    head = await write_index(edge, THEN)
    assert head is not None
    assert (head.count, head.parts) == (1, 1)
    assert await edge.get([part_key(5)]) == [None]


async def test_index_never_contains_removed_listings(edge: Edge) -> None:
    """G69."""
    await put_listings(edge, [f"a/b/skill-{number:04}" for number in range(1_500)])
    for deletes in (frozenset({"skill:a/b/skill-0001"}) | INDEX_KEYS, frozenset({"sub:1"})):
        striking = Striking(edge, deletes)
        head = await write_index(striking, THEN)
        assert striking.is_done
        assert (head is None) == ("skill:a/b/skill-0001" in deletes)
        assert (await read_index_head(edge)) == head
    assert await edge.get([INDEX_BUILDING]) == [None]


class Striking:
    """A store in which keys are removed after the first part of an index."""

    def __init__(self, edge: Edge, deletes: frozenset[str]) -> None:
        self._edge, self._strikes, self.is_done = edge, deletes, False

    def __getattr__(self, name: str) -> object:
        return getattr(self._edge, name)

    async def write(self, puts: dict[str, bytes], deletes: set[str], *, since: int, serial: int) -> bool:
        done = await self._edge.write(puts, deletes, since=since, serial=serial)
        if part_key(0) in puts and not self.is_done:
            self.is_done = await self._edge.write({}, self._strikes, since=serial, serial=serial + 1)
        return done


async def test_unreadable_index_is_ignored(edge: Edge) -> None:
    assert await read_index_head(edge) is None
    await edge.write({INDEX: b"nonsense"}, (), since=0, serial=1)
    assert await read_index_head(edge) is None
