"""The edge copy on a Redis or Valkey server, for registries of several machines."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import cast
from urllib.parse import urlsplit

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from assay.edge.kv import PAGE, Item, KeyPage, KeyRange, edge_unavailable

# The braces put all keys into one slot of a cluster.
PREFIX = "{assay}:"
# Redis keys are unordered; this sorted set holds them in order.
KEYS, SERIAL = f"{PREFIX}keys", f"{PREFIX}serial"
WAIT_SECONDS = 5
# A script runs atomically.
WRITE = """
if (redis.call('GET', KEYS[1]) or '0') ~= ARGV[1] then return 0 end
local puts = tonumber(ARGV[4])
for i = 5 + 2 * puts, #ARGV do
    redis.call('DEL', ARGV[3] .. ARGV[i])
    redis.call('ZREM', KEYS[2], ARGV[i])
end
for i = 5, 3 + 2 * puts, 2 do
    redis.call('SET', ARGV[3] .. ARGV[i], ARGV[i + 1])
    redis.call('ZADD', KEYS[2], 0, ARGV[i])
end
redis.call('SET', KEYS[1], ARGV[2])
return 1
"""
CLEAR_BATCH = 1_000


class RedisEdge:
    """A copy in one database of a server."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._redis = Redis.from_url(
            url, socket_timeout=WAIT_SECONDS, socket_connect_timeout=WAIT_SECONDS, retry=Retry(NoBackoff(), 1)
        )

    @property
    def identity(self) -> str:
        """Server and database, without user and password."""
        parts = urlsplit(self._url)
        return f"redis:{parts.hostname}:{parts.port or 6379}{parts.path}"

    async def read_serial(self) -> int:
        with _typed_outage():
            return int(await self._redis.get(SERIAL) or 0)

    async def get(self, keys: Sequence[str]) -> list[bytes | None]:
        if not keys:
            return []
        with _typed_outage():
            values = await self._redis.mget([f"{PREFIX}{key}" for key in keys])
        return [value if value is None else _bytes(value) for value in values]

    async def write(self, puts: Mapping[str, bytes], deletes: Collection[str], *, since: int, serial: int) -> bool:
        pairs = [part for pair in puts.items() for part in pair]
        arguments = [str(since), str(serial), PREFIX, str(len(puts)), *pairs, *deletes]
        with _typed_outage():
            done = await self._redis.eval(WRITE, 2, SERIAL, KEYS, *cast("list[str]", arguments))
        return bool(done)

    async def page(self, keys: KeyRange, *, after: str | None = None, limit: int = PAGE) -> KeyPage:
        start = f"[{keys.start}" if after is None else f"({after}"
        with _typed_outage():
            raw = await self._redis.zrangebylex(KEYS, start, f"({keys.stop}", start=0, num=limit + 1)
        found = [_bytes(key).decode() for key in raw]
        listed = found[:limit]
        values = await self.get(listed)
        items = [Item(key, value) for key, value in zip(listed, values, strict=True)]
        return KeyPage(items, listed[-1] if len(found) > limit else None)

    async def clear(self) -> None:
        """Delete the keys of the copy; other keys on the server stay."""
        with _typed_outage():
            found = [key async for key in self._redis.scan_iter(match="{assay}:*", count=CLEAR_BATCH)]
            for start in range(0, len(found), CLEAR_BATCH):
                await self._redis.delete(*found[start : start + CLEAR_BATCH])

    async def close(self) -> None:
        await self._redis.aclose()


@contextmanager
def _typed_outage() -> Iterator[None]:
    try:
        yield
    except (RedisError, OSError) as error:
        raise edge_unavailable(error) from error


def _bytes(value: bytes | str) -> bytes:
    """Narrow the client's type; it is configured to return bytes."""
    return value.encode() if isinstance(value, str) else value
