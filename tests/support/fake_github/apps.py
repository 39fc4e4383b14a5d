"""GitHub Apps: an authenticated App gets tokens for its installations, valid for one hour."""

from dataclasses import dataclass, field
from datetime import UTC, datetime

import jwt

from tests.support.fake_github.answer import NOT_FOUND, Answer, json_answer, problem
from tests.support.fake_github.limits import HOUR_SECONDS, Allowance, Limits
from tests.support.fake_github.request import Request

LONGEST_JWT_SECONDS = 600


@dataclass
class FakeApp:
    """A public key, and the allowance of each installation, shared by all its tokens."""

    public_key: str
    installations: dict[int, Allowance] = field(default_factory=dict)


class Apps:
    """All Apps, and the tokens issued to them."""

    def __init__(self) -> None:
        self.known: dict[str, FakeApp] = {}
        self.granted = 0
        self._expiry: dict[str, float] = {}

    def grant(self, request: Request, limits: Limits, now: float) -> Answer:
        """Handle `POST /app/installations/{id}/access_tokens` with a JWT signed by the App."""
        app = self._verified_app(request.token or "", now)
        if app is None:
            return problem(401, "A JSON web token could not be decoded")
        number = request.parts[3]
        allowance = app.installations.get(int(number)) if number.isdecimal() else None
        if allowance is None:
            return NOT_FOUND
        self.granted += 1
        token = f"ghs_{number}_{self.granted}"
        limits.accept(token, allowance)
        self._expiry[token] = now + HOUR_SECONDS
        ends = datetime.fromtimestamp(self._expiry[token], UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        return json_answer(201, {"token": token, "expires_at": ends, "permissions": {"contents": "read"}})

    def expire(self, limits: Limits, now: float) -> None:
        """Revoke expired tokens."""
        for token in [token for token, end in self._expiry.items() if now >= end]:
            del self._expiry[token]
            limits.revoke_token(token)

    def _verified_app(self, encoded: str, now: float) -> FakeApp | None:
        try:
            claims = jwt.decode(encoded, options={"verify_signature": False})
            app = self.known.get(str(claims.get("iss")))
            if app is None:
                return None
            # Times are compared with the clock of the world.
            claims = jwt.decode(
                encoded,
                app.public_key,
                algorithms=["RS256"],
                options={"verify_exp": False, "verify_iat": False, "require": ["iat", "exp", "iss"]},
            )
        except jwt.InvalidTokenError:
            return None
        in_time = claims["iat"] <= now < claims["exp"] <= now + LONGEST_JWT_SECONDS
        return app if in_time else None
