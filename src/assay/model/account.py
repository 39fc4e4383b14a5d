"""People who may sign in, and who is asking."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID


class Role(StrEnum):
    """What an account may do."""

    USER = "USER"
    SUPER_ADMIN = "SUPER_ADMIN"


@dataclass(frozen=True, slots=True)
class Account:
    """Somebody who may sign in: with GitHub, known by its numeric id, or with a password kept here."""

    id: UUID
    login: str
    role: Role
    github_id: int | None
    created_at: datetime
    disabled_at: datetime | None = None

    @property
    def is_disabled(self) -> bool:
        """Whether nobody can sign in with it any more."""
        return self.disabled_at is not None


@dataclass(frozen=True, slots=True)
class Caller:
    """Who is asking; `name` is what history and audit show. `by_token`: a program that a person gave a token to."""

    account_id: UUID | None
    name: str
    is_admin: bool
    by_token: bool = False

    @property
    def is_signed_in(self) -> bool:
        """Whether a person with an account is asking."""
        return self.account_id is not None


ANONYMOUS = Caller(account_id=None, name="anonymous", is_admin=False)
INTERNAL_KEY = Caller(account_id=None, name="internal key", is_admin=True)
