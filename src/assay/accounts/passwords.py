"""Passwords are kept as scrypt hashes that carry their own parameters."""

import base64
import hashlib
import hmac
import secrets
import unicodedata
from dataclasses import dataclass

from assay.model.errors import Invalid

SHORTEST, LONGEST = 12, 1024
SALT_BYTES = KEY_BYTES = 32


@dataclass(frozen=True, slots=True)
class Cost:
    """How hard one guess is: 32 MiB, three times over."""

    n: int = 2**15
    r: int = 8
    p: int = 3

    @property
    def memory_bytes(self) -> int:
        """What scrypt needs, with some room."""
        return 2 * 128 * self.r * (self.n + self.p)


USUAL = Cost()


def hash_password(password: str, cost: Cost = USUAL) -> str:
    """What may be stored of a password; Invalid if it is too short or too long."""
    if not SHORTEST <= len(password) <= LONGEST:
        raise Invalid(f"A password must have {SHORTEST} to {LONGEST} characters.", code="bad_password")
    salt = secrets.token_bytes(SALT_BYTES)
    return _stored(cost, salt, _key(password, salt, cost))


def is_password(password: str, stored: str | None) -> bool:
    """Whether the hash is of this password. Without a hash it is not, which takes as long to find out."""
    _, n, r, p, salt, key = (stored or NOBODYS).split("$")
    derived = _key(password[: LONGEST + 1], _bytes(salt), Cost(int(n), int(r), int(p)))
    return hmac.compare_digest(derived, _bytes(key)) and stored is not None


def _key(password: str, salt: bytes, cost: Cost) -> bytes:
    # The same characters can be typed as different code points.
    typed = unicodedata.normalize("NFKC", password).encode()
    return hashlib.scrypt(typed, salt=salt, n=cost.n, r=cost.r, p=cost.p, maxmem=cost.memory_bytes, dklen=KEY_BYTES)


def _stored(cost: Cost, salt: bytes, key: bytes) -> str:
    return f"scrypt${cost.n}${cost.r}${cost.p}${_text(salt)}${_text(key)}"


def _text(value: bytes) -> str:
    return base64.b64encode(value).decode()


def _bytes(text: str) -> bytes:
    return base64.b64decode(text)


NOBODYS = _stored(USUAL, bytes(SALT_BYTES), bytes(KEY_BYTES))
