"""People with browsers and tokens, and a movable clock."""

from collections.abc import AsyncIterator, Collection, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
from litestar.types import ASGIApp

from assay.accounts.admins import change_role, create_admin
from assay.accounts.passwords import Cost, hash_password
from assay.accounts.sessions import AccessClaims, SessionTokens, start_session
from assay.accounts.sign_in import find_or_create_github_account, sign_in_with_github
from assay.accounts.signed_claims import ClaimsPurpose
from assay.accounts.tokens import TokenRequest, create_token, exchange_token
from assay.app.app import App, open_claims_signer
from assay.github.oauth import GitHubUser
from assay.model.account import DEFAULT_SCOPES, Role, Scope
from assay.model.clock import Clock
from assay.store.operations.audit import list_audit
from assay.store.people.accounts import find_local_account
from assay.web.app import create_app
from tests.support.fake_github.repository import id_of_login

CHEAP = Cost(n=2, r=1, p=1)
PASSWORD = "correct horse battery staple"
OURS = {"sec-fetch-site": "same-origin"}
PAGE = {"accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
ADDRESS = ("127.0.0.1", 123)


@dataclass
class MovableTime:
    """A clock that tests move forward."""

    ahead: timedelta = timedelta()
    clock: Clock = field(init=False)

    def __post_init__(self) -> None:
        self.clock = Clock(lambda: datetime.now(UTC) + self.ahead)

    def pass_by(self, seconds: float) -> None:
        """Move the clock forward."""
        self.ahead += timedelta(seconds=seconds)


async def an_admin(app: App, login: str = "root", password: str = PASSWORD) -> str:
    """Create an administrator with a password."""
    async with app.store.begin() as db:
        await create_admin(db, login, hash_password(password, CHEAP))
    return login


async def signed_in(
    app: App, login: str = "alice", *, admin: bool = False, github_id: int | None = None
) -> SessionTokens:
    """Sign in a GitHub account, by default the one that owns the repositories of this login."""
    user = GitHubUser(id=github_id or id_of_login(login), login=login)
    names = (login.lower(),) if admin else ()
    async with app.store.begin() as db:
        return await sign_in_with_github(db, user, names, open_claims_signer(app.settings), app.clock.now())


def cookies_of(granted: SessionTokens) -> dict[str, str]:
    """Return the cookies a browser sends for this person."""
    return {"assay_session": granted.access_token}


async def admin_signed_in(app: App, login: str = "root") -> SessionTokens:
    """Sign in an administrator with a password; the account is created if needed."""
    async with app.store.begin() as db:
        if await find_local_account(db, login) is None:
            await create_admin(db, login, hash_password(PASSWORD, CHEAP))
        account, _ = await find_local_account(db, login) or (None, None)
        assert account is not None
        return await start_session(db, account, open_claims_signer(app.settings), app.clock.now())


async def with_role(app: App, login: str, role: Role) -> SessionTokens:
    """Sign in a GitHub account to which an operator has granted a role."""
    await signed_in(app, login)
    async with app.store.begin() as db:
        await change_role(db, login, role, (), "command line")
    return await signed_in(app, login)


async def a_token(
    app: App,
    login: str = "alice",
    *,
    admin: bool = False,
    github_id: int | None = None,
    scopes: Collection[Scope] | None = None,
) -> str:
    """Return a token exchanged for a GitHub token. Administrators get one with all scopes, created by hand."""
    if admin or scopes:
        person = await signed_in(app, login, admin=admin, github_id=github_id)
        return await made_token(app, person, scopes or Scope)
    user = GitHubUser(id=github_id or id_of_login(login), login=login)
    async with app.store.begin() as db:
        return (await exchange_token(db, await find_or_create_github_account(db, user, ()), app.clock.now())).secret


async def made_token(
    app: App, person: SessionTokens, scopes: Iterable[Scope] = DEFAULT_SCOPES, namespaces: Collection[str] | None = None
) -> str:
    """Return a token that a signed-in person has created."""
    now = app.clock.now()
    claims = open_claims_signer(app.settings).read(ClaimsPurpose.SESSION, person.access_token, AccessClaims, now)
    assert claims is not None
    limits = None if namespaces is None else frozenset(namespaces)
    async with app.store.begin() as db:
        request = TokenRequest("made for a test", scopes=frozenset(scopes), namespaces=limits)
        return (await create_token(db, claims, request, now)).secret


def bearer(token: str) -> dict[str, str]:
    """Return the headers of a program with this token."""
    return {"Authorization": f"Bearer {token}"}


@asynccontextmanager
async def a_browser(app: App | ASGIApp, *, address: tuple[str, int] = ADDRESS) -> AsyncIterator[httpx.AsyncClient]:
    """Return a client that behaves like a browser: cookies by path, page requests, origin headers, no automatic
    redirects.
    """
    served = create_app(app) if isinstance(app, App) else app
    transport = httpx.ASGITransport(served, raise_app_exceptions=False, client=address)
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1", headers={**PAGE, **OURS}) as client:
        yield client


async def sign_in(browser: httpx.AsyncClient, login: str = "root", password: str = PASSWORD, onward: str = "/") -> Any:
    """Submit the sign-in form."""
    form = {"login": login, "password": password}
    return await browser.post("/sign-in", params={"next": onward}, data=form)


def with_settings(app: App, **changed: object) -> App:
    """Return the registry after a restart with other settings."""
    return replace(app, settings=app.settings.model_copy(update=changed))


async def audit_of(app: App, *actions: str) -> list[tuple[str, str, str]]:
    """Return audit events, oldest first, optionally only these actions."""
    async with app.store.begin() as db:
        events = await list_audit(db, None, 1000)
    return [(each.actor, each.action, each.subject) for each in reversed(events) if each.action in actions]
