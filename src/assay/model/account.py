"""Accounts and callers."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID


class Role(StrEnum):
    """The role of an account."""

    USER = "USER"
    SUPER_ADMIN = "SUPER_ADMIN"


@dataclass(frozen=True, slots=True)
class Account:
    """A person who signs in with GitHub (identified by the numeric id) or with a local password."""

    id: UUID
    login: str
    role: Role
    github_id: int | None
    created_at: datetime
    disabled_at: datetime | None = None

    @property
    def is_disabled(self) -> bool:
        return self.disabled_at is not None


@dataclass(frozen=True, slots=True)
class Caller:
    """The sender of a request. History and audit show `name`; `by_token` marks requests with an API token."""

    account_id: UUID | None
    name: str
    is_admin: bool
    by_token: bool = False

    @property
    def is_signed_in(self) -> bool:
        return self.account_id is not None


ANONYMOUS = Caller(account_id=None, name="anonymous", is_admin=False)
INTERNAL_KEY = Caller(account_id=None, name="internal key", is_admin=True)
