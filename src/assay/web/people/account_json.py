"""The JSON of what people have: whose listings are theirs, and their tokens."""

import dataclasses
from datetime import datetime
from typing import Annotated
from uuid import UUID

import msgspec

from assay.accounts.tokens import LONGEST_LABEL, MOST_DAYS, USUAL_DAYS, Made
from assay.store.people.tokens import AccountToken
from assay.web.http.json import View
from assay.web.submissions.json import Body

SCOPES = ("read", "write")


class TenantView(View, frozen=True):
    """An owner at GitHub whose listings are yours. `id` is GitHub's number, and `tenantId` the same."""

    tenant_id: str
    id: str
    slug: str
    name: str
    role: str
    installation_id: int | None


class TenantsView(View, frozen=True):
    """All of them; none for who has not come with GitHub."""

    tenants: list[TenantView]


class TokenBody(Body, frozen=True):
    """What the token is for, and for how many days."""

    label: Annotated[str, msgspec.Meta(min_length=1, max_length=LONGEST_LABEL)]
    expires_in_days: Annotated[int, msgspec.Meta(ge=1, le=MOST_DAYS)] = USUAL_DAYS


class TokenView(View, frozen=True):
    """A token that is good, without what proves it. `label` is null if GitHub's was exchanged for it."""

    id: UUID
    label: str | None
    created_at: datetime
    expires_at: datetime
    last_used_at: datetime | None


class TokensView(View, frozen=True):
    """All of them, the oldest first."""

    tokens: list[TokenView]


class NewTokenView(TokenView, frozen=True):
    """With what proves it: `token` is shown now and never again."""

    token: str


class OkView(View, frozen=True):
    """It is done."""

    ok: bool = True


class ExchangeBody(Body, frozen=True):
    """A token that GitHub has given to this registry's app."""

    github_token: Annotated[str, msgspec.Meta(min_length=1, max_length=255)]

    def __repr__(self) -> str:
        return "ExchangeBody(***)"


class ExchangedView(View, frozen=True):
    """`token` is shown now and never again; `userId` is the account."""

    token: str
    expires_at: datetime
    scopes: list[str]
    user_id: UUID


def present_token(token: AccountToken) -> TokenView:
    """A token as its owner sees it."""
    return TokenView(**dataclasses.asdict(token))


def present_new_token(made: Made) -> NewTokenView:
    """The one time that it is shown."""
    return NewTokenView(token=made.secret, **dataclasses.asdict(made.token))


def present_exchanged(made: Made) -> ExchangedView:
    """The one time that it is shown, as the command line of vskill reads it."""
    return ExchangedView(
        token=made.secret, expires_at=made.token.expires_at, scopes=list(SCOPES), user_id=made.account.id
    )
