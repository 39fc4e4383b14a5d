"""What this registry says to itself through a browser, signed: who has signed in, and how a sign-in began."""

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
# Clocks of two machines may differ by so much.
SKEW_SECONDS = 60


class Purpose(StrEnum):
    """What a token is for; one for another purpose is no token."""

    SESSION = "assay:session"
    GITHUB = "assay:github-sign-in"


class Claims(msgspec.Struct, frozen=True, kw_only=True):
    """What every token says."""

    iat: int
    exp: int


T = TypeVar("T", bound=Claims)


@dataclass(frozen=True, slots=True)
class Seal:
    """Signs and checks with one secret, which it never shows."""

    secret: str = field(repr=False)

    def sign(self, purpose: Purpose, claims: Mapping[str, object], now: datetime, lifetime_seconds: int) -> str:
        """A token that is good for so long."""
        issued = int(now.timestamp())
        said = {"iss": ISSUER, "aud": purpose.value, "iat": issued, "exp": issued + lifetime_seconds}
        return jwt.encode({**claims, **said}, self.secret, algorithm=ALGORITHM)

    def read(self, purpose: Purpose, token: str, kind: type[T], now: datetime) -> T | None:
        """What a token of ours says, also when it is over (see `is_over`); None for any other."""
        try:
            # The time is compared below, with the clock of this process.
            options = jwt.types.Options(require=list(REQUIRED), verify_exp=False, verify_iat=False)
            said = jwt.decode(
                token, self.secret, algorithms=[ALGORITHM], audience=purpose.value, issuer=ISSUER, options=options
            )
            claims = msgspec.convert(said, kind)
        except (jwt.InvalidTokenError, msgspec.ValidationError):
            return None
        return claims if claims.iat <= now.timestamp() + SKEW_SECONDS else None

    def derive(self, salt: bytes, token: str) -> str:
        """256 bits that only who has the secret, the salt and the token can know."""
        digest = hmac.digest(self.secret.encode(), salt + token.encode(), "sha256")
        return base64.urlsafe_b64encode(digest).decode().rstrip("=")


def is_over(claims: Claims, now: datetime) -> bool:
    """Whether the time of a token is up."""
    return claims.exp <= now.timestamp()
