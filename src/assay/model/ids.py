"""UUID version 7: sortable by time, not guessable."""

import secrets
import time
from uuid import UUID


def new_id() -> UUID:
    """Return 48 bits of milliseconds followed by 74 random bits."""
    milliseconds = time.time_ns() // 1_000_000
    random_bits = secrets.randbits(74)
    value = milliseconds << 80 | 0x7 << 76 | (random_bits >> 62) << 64 | 0b10 << 62 | random_bits & (1 << 62) - 1
    return UUID(int=value)
