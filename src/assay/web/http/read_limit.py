"""The limit on anonymous reads: a token bucket per address, in the memory of one web process."""

from collections import OrderedDict
from dataclasses import dataclass, field

from assay.accounts.rate_limit import network_of

SECONDS = 60
# About 10 MB. Beyond it, the address that has not been seen for longest is forgotten.
MAX_ADDRESSES = 50_000


@dataclass(slots=True)
class _Bucket:
    tokens: float
    filled_at: float


@dataclass
class ReadLimit:
    """Allows each address `per_minute` reads at once, and as many in each minute; any number if it is 0."""

    per_minute: int
    max_addresses: int = MAX_ADDRESSES
    _buckets: OrderedDict[str, _Bucket] = field(default_factory=OrderedDict)

    def take(self, address: str, now: float) -> float:
        """Count a read and return 0, or return the seconds until the next one is allowed. `now` is in seconds."""
        if not self.per_minute:
            return 0
        bucket = self._bucket(network_of(address), now)
        elapsed = max(0.0, now - bucket.filled_at)
        bucket.tokens = min(self.per_minute, bucket.tokens + elapsed * self.per_minute / SECONDS)
        bucket.filled_at = now
        if bucket.tokens < 1:
            return (1 - bucket.tokens) * SECONDS / self.per_minute
        bucket.tokens -= 1
        return 0

    def __len__(self) -> int:
        return len(self._buckets)

    def _bucket(self, network: str, now: float) -> _Bucket:
        bucket = self._buckets.get(network)
        if bucket is not None:
            self._buckets.move_to_end(network)
            return bucket
        if len(self._buckets) >= self.max_addresses:
            self._buckets.popitem(last=False)
        bucket = self._buckets[network] = _Bucket(self.per_minute, now)
        return bucket
