"""The published skills, from their own keys, and the index that is made of them."""

import asyncio
from itertools import pairwise

from assay.edge.enumerate import CUTS, enumerate_published, ranges
from assay.edge.index import read_index, read_index_head, write_index
from assay.edge.keys import INDEX, INDEX_KEYS, INDEX_UNDER_WAY, part_key
from assay.edge.kv import Edge, Page, Range
from tests.support.edge_stores import THEN, put_listings


class Watched:
    """A store that tells how many pages are asked for at the same time."""

    def __init__(self, edge: Edge) -> None:
        self._edge, self._now, self.most, self.pages = edge, 0, 0, 0

    async def page(self, keys: Range, *, after: str | None = None, limit: int = 1000) -> Page:
        """Counts."""
        self._now += 1
        self.most, self.pages = max(self.most, self._now), self.pages + 1
        await asyncio.sleep(0)
        try:
            return await self._edge.page(keys, after=after, limit=limit)
        finally:
            self._now -= 1


async def test_everything_that_is_published_is_enumerated(edge: Edge) -> None:
    """G69: 5,000 keys, many pages at once, each skill once, in the order of the names."""
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


async def test_what_cannot_be_read_is_counted_and_named(edge: Edge) -> None:
    """G69: values that are no skill, or lack a field, are never passed over in silence nor filled with guesses."""
    await put_listings(edge, ["a/b/c", "d/e/f"])
    bad = {"skill:x/y/z": b"\xff", "skill:x/y/empty": b"", "skill:x/y/partial": b"\x81\xa6serial\x01"}
    assert await edge.write(bad, (), since=1, serial=1)
    found = await enumerate_published(edge, lambda skill: skill.name)
    assert found.found == ["a/b/c", "d/e/f"]
    assert (found.unreadable, found.unreadable_keys) == (3, tuple(sorted(bad)))


def test_the_pieces_are_the_whole() -> None:
    """No key is in two of them, and none in no piece."""
    pieces = ranges("skill:", CUTS)
    assert pieces[0].start == "skill:"
    assert pieces[-1].stop == "skill;"
    assert all(one.start < one.stop == other.start for one, other in pairwise(pieces))


async def test_the_index_has_what_the_enumeration_has(edge: Edge) -> None:
    """G69: made in parts; what is left of a larger one before goes away; it knows the serial it was made at."""
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


async def test_an_index_never_has_what_was_taken_down(edge: Edge) -> None:
    """G69: a listing that goes while the index is being made takes the index with it; other changes do not stop it."""
    await put_listings(edge, [f"a/b/skill-{number:04}" for number in range(1_500)])
    for strikes in (frozenset({"skill:a/b/skill-0001"}) | INDEX_KEYS, frozenset({"sub:1"})):
        striking = Striking(edge, strikes)
        head = await write_index(striking, THEN)
        assert striking.is_done
        assert (head is None) == ("skill:a/b/skill-0001" in strikes)
        assert (await read_index_head(edge)) == head
    assert await edge.get([INDEX_UNDER_WAY]) == [None]


class Striking:
    """A store in which somebody removes keys just after the first part of an index was written."""

    def __init__(self, edge: Edge, strikes: frozenset[str]) -> None:
        self._edge, self._strikes, self.is_done = edge, strikes, False

    def __getattr__(self, name: str) -> object:
        return getattr(self._edge, name)

    async def write(self, puts: dict[str, bytes], strikes: set[str], *, since: int, serial: int) -> bool:
        """Writes, and then strikes."""
        done = await self._edge.write(puts, strikes, since=since, serial=serial)
        if part_key(0) in puts and not self.is_done:
            self.is_done = await self._edge.write({}, self._strikes, since=serial, serial=serial + 1)
        return done


async def test_an_index_that_cannot_be_read_is_none(edge: Edge) -> None:
    """It is a cache: without it the enumeration is asked."""
    assert await read_index_head(edge) is None
    await edge.write({INDEX: b"nonsense"}, (), since=0, serial=1)
    assert await read_index_head(edge) is None
