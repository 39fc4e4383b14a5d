"""JSON of accounts, sessions, tokens and owned GitHub logins."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

import msgspec

from assay.accounts.sessions import SessionTokens
from assay.accounts.tokens import DEFAULT_DAYS, MAX_DAYS, MAX_LABEL, MAX_NAMESPACES, CreatedToken
from assay.model.account import Account, Role, Scope
from assay.model.namespace import NamespaceKind
from assay.model.text import WITHOUT_NUL
from assay.store.people.tokens import AccountToken
from assay.web.http.json import Body, View

NamespaceName = Annotated[str, msgspec.Meta(min_length=1, max_length=300, pattern=WITHOUT_NUL)]


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


class OwnedNamespaceView(View, frozen=True):
    """A namespace for which the account may act."""

    name: str
    kind: NamespaceKind


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
    """The purpose of the token, its lifetime in days, and its limits.

    Without `scopes` it may `read`, `submit` and `publish`; without `namespaces` it is valid for all that you own.
    """

    label: Annotated[str, msgspec.Meta(min_length=1, max_length=MAX_LABEL)]
    expires_in_days: Annotated[int, msgspec.Meta(ge=1, le=MAX_DAYS)] = DEFAULT_DAYS
    scopes: Annotated[list[Scope], msgspec.Meta(min_length=1, max_length=len(Scope))] | None = None
    namespaces: Annotated[list[NamespaceName], msgspec.Meta(min_length=1, max_length=MAX_NAMESPACES)] | None = None


class TokenView(View, frozen=True):
    """An active token, without its secret.

    `label` is null if it was created by exchanging a GitHub token, `namespaces` if it is valid for all of the account.
    """

    id: UUID
    label: str | None
    created_at: datetime
    expires_at: datetime
    last_used_at: datetime | None
    scopes: list[Scope]
    namespaces: list[str] | None


class TokensView(View, frozen=True):
    """Active tokens, oldest first."""

    tokens: list[TokenView]


class NewTokenView(TokenView, frozen=True):
    """A new token with its secret. `token` is shown only once."""

    token: str


class AccountView(View, frozen=True):
    """The caller's account. `token` is null unless the request was made with a token."""

    login: str
    handle: str | None
    role: Role
    namespaces: list[OwnedNamespaceView]
    token: TokenView | None


class SessionView(View, frozen=True):
    """A browser in which you are signed in. `lastUsedAt` is accurate to 15 minutes."""

    id: UUID
    created_at: datetime
    last_used_at: datetime
    user_agent: str | None
    is_current: bool


class SessionsView(View, frozen=True):
    """Open sessions, the last used first."""

    sessions: list[SessionView]


class RoleBody(Body, frozen=True):
    """The new role. Each role includes those before it: USER, MEMBER, REVIEWER, SUPER_ADMIN."""

    role: Role


class AccountWithRoleView(View, frozen=True):
    """An account and its role. `signsInWith` is `github` or `password`."""

    id: UUID
    login: str
    handle: str | None
    role: Role
    signs_in_with: str
    created_at: datetime
    disabled_at: datetime | None


class AccountsView(View, frozen=True):
    """Accounts, oldest first. `nextCursor` is null on the last page."""

    accounts: list[AccountWithRoleView]
    next_cursor: UUID | None


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
    scopes: list[Scope]
    user_id: UUID


def present_token(token: AccountToken) -> TokenView:
    return TokenView.of(token, **_limits(token))


def present_new_token(created: CreatedToken) -> NewTokenView:
    return NewTokenView.of(created.token, token=created.secret, **_limits(created.token))


def present_account(account: Account) -> AccountWithRoleView:
    return AccountWithRoleView.of(account, signs_in_with=account.sign_in_method)


def _limits(token: AccountToken) -> dict[str, list[str] | None]:
    namespaces = None if token.namespaces is None else sorted(token.namespaces)
    return {"scopes": [each for each in Scope if each in token.scopes], "namespaces": namespaces}


def present_exchanged(created: CreatedToken) -> ExchangedView:
    """Present a new token in the format that the vskill command line reads."""
    scopes = [each for each in Scope if each in created.token.scopes]
    return ExchangedView(
        token=created.secret, expires_at=created.token.expires_at, scopes=scopes, user_id=created.account.id
    )
