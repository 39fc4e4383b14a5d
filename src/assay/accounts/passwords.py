"""Password hashes: scrypt, stored together with its parameters."""

import base64
import hashlib
import hmac
import secrets
import unicodedata
from dataclasses import dataclass

from assay.model.errors import Invalid

MIN_LENGTH, MAX_LENGTH = 12, 1024
SALT_BYTES = KEY_BYTES = 32


@dataclass(frozen=True, slots=True)
class Cost:
    """The parameters of scrypt; the default uses 32 MiB three times."""

    n: int = 2**15
    r: int = 8
    p: int = 3

    @property
    def memory_bytes(self) -> int:
        """Memory limit for OpenSSL: twice what scrypt needs."""
        return 2 * 128 * self.r * (self.n + self.p)


DEFAULT_COST = Cost()


def hash_password(password: str, cost: Cost = DEFAULT_COST) -> str:
    """Return the hash to store; raises Invalid if the password is too short or too long."""
    if not MIN_LENGTH <= len(password) <= MAX_LENGTH:
        raise Invalid(f"A password must have {MIN_LENGTH} to {MAX_LENGTH} characters.", code="bad_password")
    salt = secrets.token_bytes(SALT_BYTES)
    return _stored(cost, salt, _key(password, salt, cost))


def verify_password(password: str, stored: str | None) -> bool:
    """Compare in constant time. Without a stored hash, compare with a dummy so that both cases take as long."""
    _, n, r, p, salt, key = (stored or DUMMY_HASH).split("$")
    derived = _key(password[: MAX_LENGTH + 1], _bytes(salt), Cost(int(n), int(r), int(p)))
    return hmac.compare_digest(derived, _bytes(key)) and stored is not None


def _key(password: str, salt: bytes, cost: Cost) -> bytes:
    # The same characters can be typed as different code points.
    normalised = unicodedata.normalize("NFKC", password).encode()
    return hashlib.scrypt(
        normalised, salt=salt, n=cost.n, r=cost.r, p=cost.p, maxmem=cost.memory_bytes, dklen=KEY_BYTES
    )


def _stored(cost: Cost, salt: bytes, key: bytes) -> str:
    return f"scrypt${cost.n}${cost.r}${cost.p}${_text(salt)}${_text(key)}"


def _text(value: bytes) -> str:
    return base64.b64encode(value).decode()


def _bytes(text: str) -> bytes:
    return base64.b64decode(text)


DUMMY_HASH = _stored(DEFAULT_COST, bytes(SALT_BYTES), bytes(KEY_BYTES))
