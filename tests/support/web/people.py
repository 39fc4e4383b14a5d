"""People with browsers and tokens, and a movable clock."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import httpx
from litestar.types import ASGIApp

from assay.accounts.admins import create_admin
from assay.accounts.passwords import Cost, hash_password
from assay.accounts.sessions import SessionTokens
from assay.accounts.sign_in import find_or_create_github_account, sign_in_with_github
from assay.accounts.tokens import exchange_token
from assay.app.app import App, open_claims_signer
from assay.github.oauth import GitHubUser
from assay.model.clock import Clock
from assay.store.operations.audit import list_audit
from assay.web.app import create_app

CHEAP = Cost(n=2, r=1, p=1)
PASSWORD = "correct horse battery staple"
OURS = {"sec-fetch-site": "same-origin"}
PAGE = {"accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
ADDRESS = ("127.0.0.1", 123)
numbers = count(1000)


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
    """Sign in a GitHub account."""
    user = GitHubUser(id=github_id or next(numbers), login=login)
    names = (login.lower(),) if admin else ()
    async with app.store.begin() as db:
        return await sign_in_with_github(db, user, names, open_claims_signer(app.settings), app.clock.now())


def cookies_of(granted: SessionTokens) -> dict[str, str]:
    """Return the cookies a browser sends for this person."""
    return {"assay_session": granted.access_token}


async def a_token(app: App, login: str = "alice", *, admin: bool = False, github_id: int | None = None) -> str:
    """Return a token exchanged for a GitHub token."""
    user = GitHubUser(id=github_id or next(numbers), login=login)
    names = (login.lower(),) if admin else ()
    async with app.store.begin() as db:
        return (await exchange_token(db, await find_or_create_github_account(db, user, names), app.clock.now())).secret


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
