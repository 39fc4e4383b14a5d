"""JSON of sessions, tokens and owned GitHub logins."""

import dataclasses
from datetime import datetime
from typing import Annotated
from uuid import UUID

import msgspec

from assay.accounts.sessions import SessionTokens
from assay.accounts.tokens import DEFAULT_DAYS, MAX_DAYS, MAX_LABEL, CreatedToken
from assay.model.account import Role
from assay.store.people.tokens import AccountToken
from assay.web.http.json import Body, View


class SignInBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The login and password of a local account."""

    login: str = ""
    password: str = ""

    def __repr__(self) -> str:
        return f"SignInBody(login={self.login!r})"


class MeView(View, frozen=True):
    """The caller's login and role; both are null if `signedIn` is false."""

    signed_in: bool
    login: str | None
    role: Role | None


SIGNED_OUT = MeView(signed_in=False, login=None, role=None)


def present_me(session: SessionTokens) -> MeView:
    return MeView(signed_in=True, login=session.account.login, role=session.account.role)


SCOPES = ("read", "write")


class TenantView(View, frozen=True):
    """A GitHub owner whose listings you control. `id` and `tenantId` are both GitHub's numeric id."""

    tenant_id: str
    id: str
    slug: str
    name: str
    role: str
    installation_id: int | None


class TenantsView(View, frozen=True):
    """The GitHub owners you control; empty if you did not sign in with GitHub."""

    tenants: list[TenantView]


class TokenBody(Body, frozen=True):
    """The purpose of the token, and its lifetime in days."""

    label: Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_LABEL)]
    expires_in_days: Annotated[int, msgspec.Meta(ge=1, le=MAX_DAYS)] = DEFAULT_DAYS


class TokenView(View, frozen=True):
    """An active token, without its secret. `label` is null if it was created by exchanging a GitHub token."""

    id: UUID
    label: str | None
    created_at: datetime
    expires_at: datetime
    last_used_at: datetime | None


class TokensView(View, frozen=True):
    """Active tokens, oldest first."""

    tokens: list[TokenView]


class NewTokenView(TokenView, frozen=True):
    """A new token with its secret. `token` is shown only once."""

    token: str


class OkView(View, frozen=True):
    """Confirms that the request succeeded."""

    ok: bool = True


class ExchangeBody(Body, frozen=True):
    """A token that GitHub issued to this registry's app."""

    github_token: Annotated[str, msgspec.Meta(min_length=1, max_length=255)]

    def __repr__(self) -> str:
        return "ExchangeBody(***)"


class ExchangedView(View, frozen=True):
    """A new token for the account `userId`. `token` is shown only once."""

    token: str
    expires_at: datetime
    scopes: list[str]
    user_id: UUID


def present_token(token: AccountToken) -> TokenView:
    return msgspec.convert(token, TokenView, from_attributes=True)


def present_new_token(created: CreatedToken) -> NewTokenView:
    return NewTokenView(token=created.secret, **dataclasses.asdict(created.token))


def present_exchanged(created: CreatedToken) -> ExchangedView:
    """Present a new token in the format that the vskill command line reads."""
    return ExchangedView(
        token=created.secret, expires_at=created.token.expires_at, scopes=list(SCOPES), user_id=created.account.id
    )
