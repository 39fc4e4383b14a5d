"""Signed claims (JWT) that the registry gives to a browser and reads back: sessions and pending GitHub sign-ins."""

import base64
import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import TypeVar

import jwt
import msgspec

ALGORITHM = "HS256"
ISSUER = "assay"
REQUIRED = ("iss", "aud", "iat", "exp")
# Tolerated difference between the clocks of two machines.
SKEW_SECONDS = 60
# Longer ones are not ours, and are not parsed.
MAX_LENGTH = 4096


class ClaimsPurpose(StrEnum):
    """The audience of a token; a token is accepted only for its own purpose."""

    SESSION = "assay:session"
    GITHUB = "assay:github-sign-in"


class Claims(msgspec.Struct, frozen=True, kw_only=True):
    """The claims common to all tokens, as Unix seconds."""

    iat: int
    exp: int


T = TypeVar("T", bound=Claims)


@dataclass(frozen=True, slots=True)
class ClaimsSigner:
    """Signs and verifies claims with one secret, which its repr omits."""

    secret: str = field(repr=False)

    def sign(self, purpose: ClaimsPurpose, claims: Mapping[str, object], now: datetime, lifetime_seconds: int) -> str:
        issued = int(now.timestamp())
        standard = {"iss": ISSUER, "aud": purpose.value, "iat": issued, "exp": issued + lifetime_seconds}
        return jwt.encode({**claims, **standard}, self.secret, algorithm=ALGORITHM)

    def read(self, purpose: ClaimsPurpose, token: str, kind: type[T], now: datetime) -> T | None:
        """Return the claims of a valid or expired token (see `is_expired`); None for any other."""
        if len(token) > MAX_LENGTH:
            return None
        try:
            # Times are compared below, with the clock of this process.
            options = jwt.types.Options(require=list(REQUIRED), verify_exp=False, verify_iat=False)
            decoded = jwt.decode(
                token, self.secret, algorithms=[ALGORITHM], audience=purpose.value, issuer=ISSUER, options=options
            )
            claims = msgspec.convert(decoded, kind)
        except (jwt.InvalidTokenError, msgspec.ValidationError, RecursionError):
            return None
        return claims if claims.iat <= now.timestamp() + SKEW_SECONDS else None

    def derive(self, salt: bytes, token: str) -> str:
        """Return 256 bits that depend on the secret, the salt and the token, as URL-safe text."""
        digest = hmac.digest(self.secret.encode(), salt + token.encode(), "sha256")
        return base64.urlsafe_b64encode(digest).decode().rstrip("=")


def is_expired(claims: Claims, now: datetime) -> bool:
    return claims.exp <= now.timestamp()
