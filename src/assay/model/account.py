"""Accounts and callers."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID


class Role(StrEnum):
    """The role of an account; each includes the rights of those before it."""

    USER = "USER"
    MEMBER = "MEMBER"
    """May submit if only members may."""
    REVIEWER = "REVIEWER"
    """May review submissions, answer reports and edit the blocklist."""
    SUPER_ADMIN = "SUPER_ADMIN"

    def includes(self, other: "Role") -> bool:
        order = list(Role)
        return order.index(self) >= order.index(other)


class Scope(StrEnum):
    """A use of a token. It never exceeds the role of its account."""

    READ = "read"
    SUBMIT = "submit"
    """Submit repositories, request rescans and file reports."""
    PUBLISH = "publish"
    """Upload skills, and change and remove listings in the account's namespaces."""
    MODERATE = "moderate"
    ADMIN = "admin"


DEFAULT_SCOPES = frozenset({Scope.READ, Scope.SUBMIT, Scope.PUBLISH})
# The lowest role whose accounts may have tokens with these scopes.
ROLES_OF_SCOPES = {Scope.MODERATE: Role.REVIEWER, Scope.ADMIN: Role.SUPER_ADMIN}


class SubmitPolicy(StrEnum):
    """The callers from whom a registry accepts repositories."""

    ANYONE = "anyone"
    SIGNED_IN = "signed-in"
    MEMBERS = "members"


@dataclass(frozen=True, slots=True)
class Account:
    """A person who signs in with GitHub (identified by the numeric id) or with a local password."""

    id: UUID
    login: str
    role: Role
    github_id: int | None
    created_at: datetime
    disabled_at: datetime | None = None
    # The namespace of uploads; None if the login cannot be used as one and no other was chosen.
    handle: str | None = None

    @property
    def is_disabled(self) -> bool:
        return self.disabled_at is not None

    @property
    def sign_in_method(self) -> str:
        return "password" if self.github_id is None else "github"


@dataclass(frozen=True, slots=True)
class Caller:
    """The sender of a request. History and audit show `name`; `by_token` marks requests with an API token.

    `scopes` and `namespaces` are the limits of a token; None means no limit. `is_admin` and `is_reviewer` are false for
    a token without the scope.
    """

    account_id: UUID | None
    name: str
    is_admin: bool
    by_token: bool = False
    role: Role = Role.USER
    scopes: frozenset[Scope] | None = None
    namespaces: frozenset[str] | None = None
    token_id: UUID | None = None

    @property
    def is_signed_in(self) -> bool:
        return self.account_id is not None

    @property
    def is_reviewer(self) -> bool:
        """Return whether the caller may review; administrators may."""
        return self.is_admin or (self.role.includes(Role.REVIEWER) and self.has_scope(Scope.MODERATE))

    def has_scope(self, scope: Scope) -> bool:
        return self.scopes is None or scope in self.scopes

    def covers(self, namespace: str) -> bool:
        """Return whether the credential may be used for this namespace, apart from who owns it."""
        return self.namespaces is None or namespace in self.namespaces


ANONYMOUS = Caller(account_id=None, name="anonymous", is_admin=False)
INTERNAL_KEY = Caller(account_id=None, name="internal key", is_admin=True, role=Role.SUPER_ADMIN)
