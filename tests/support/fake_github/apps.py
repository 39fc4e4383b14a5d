"""GitHub Apps: who proves to be one gets tokens for its installations, each good for an hour."""

from dataclasses import dataclass, field
from datetime import UTC, datetime

import jwt

from tests.support.fake_github.answer import NOT_FOUND, Answer, json_answer, problem
from tests.support.fake_github.limits import HOUR_SECONDS, Allowance, Limits
from tests.support.fake_github.request import Request

LONGEST_STATEMENT_SECONDS = 600


@dataclass
class FakeApp:
    """Its public key, and where it is installed with which allowance; all tokens of an installation share one."""

    public_key: str
    installations: dict[int, Allowance] = field(default_factory=dict)


class Apps:
    """All Apps of the world, and the tokens that they were given."""

    def __init__(self) -> None:
        self.known: dict[str, FakeApp] = {}
        self.granted = 0
        self._ends: dict[str, float] = {}

    def grant(self, request: Request, limits: Limits, now: float) -> Answer:
        """`POST /app/installations/{id}/access_tokens`, with a statement signed by the App."""
        app = self._proved(request.token or "", now)
        if app is None:
            return problem(401, "A JSON web token could not be decoded")
        number = request.parts[3]
        allowance = app.installations.get(int(number)) if number.isdecimal() else None
        if allowance is None:
            return NOT_FOUND
        self.granted += 1
        token = f"ghs_{number}_{self.granted}"
        limits.accept(token, allowance)
        self._ends[token] = now + HOUR_SECONDS
        ends = datetime.fromtimestamp(self._ends[token], UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        return json_answer(201, {"token": token, "expires_at": ends, "permissions": {"contents": "read"}})

    def expire(self, limits: Limits, now: float) -> None:
        """Take back the tokens whose hour is over."""
        for token in [token for token, end in self._ends.items() if now >= end]:
            del self._ends[token]
            limits.revoke_token(token)

    def _proved(self, statement: str, now: float) -> FakeApp | None:
        try:
            said = jwt.decode(statement, options={"verify_signature": False})
            app = self.known.get(str(said.get("iss")))
            if app is None:
                return None
            # The clock is the world's, so the times are compared here.
            said = jwt.decode(
                statement,
                app.public_key,
                algorithms=["RS256"],
                options={"verify_exp": False, "verify_iat": False, "require": ["iat", "exp", "iss"]},
            )
        except jwt.InvalidTokenError:
            return None
        in_time = said["iat"] <= now < said["exp"] <= now + LONGEST_STATEMENT_SECONDS
        return app if in_time else None
