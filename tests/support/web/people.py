"""Those who come to a registry: people with a browser, with and without rights, and a time that can be moved."""

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
from assay.accounts.sessions import Granted
from assay.accounts.sign_in import know_by_github, sign_in_with_github
from assay.accounts.tokens import exchange_token
from assay.app.app import App
from assay.app.sign_in import open_seal
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
    """A clock that tests push forward instead of sleeping."""

    ahead: timedelta = timedelta()
    clock: Clock = field(init=False)

    def __post_init__(self) -> None:
        self.clock = Clock(lambda: datetime.now(UTC) + self.ahead)

    def pass_by(self, seconds: float) -> None:
        """So much later."""
        self.ahead += timedelta(seconds=seconds)


async def an_admin(app: App, login: str = "root", password: str = PASSWORD) -> str:
    """An administrator with a password."""
    async with app.store.begin() as db:
        await create_admin(db, login, hash_password(password, CHEAP))
    return login


async def signed_in(app: App, login: str = "alice", *, admin: bool = False, github_id: int | None = None) -> Granted:
    """Somebody who came with GitHub."""
    user = GitHubUser(id=github_id or next(numbers), login=login)
    names = (login.lower(),) if admin else ()
    async with app.store.begin() as db:
        return await sign_in_with_github(db, user, names, open_seal(app.settings), app.clock.now())


def cookies_of(granted: Granted) -> dict[str, str]:
    """What the browser of this person sends with every request."""
    return {"assay_session": granted.access_token}


async def a_token(app: App, login: str = "alice", *, admin: bool = False, github_id: int | None = None) -> str:
    """A token of somebody who came with one of GitHub's."""
    user = GitHubUser(id=github_id or next(numbers), login=login)
    names = (login.lower(),) if admin else ()
    async with app.store.begin() as db:
        return (await exchange_token(db, await know_by_github(db, user, names), app.clock.now())).secret


def bearer(token: str) -> dict[str, str]:
    """What a program of this person sends with every request."""
    return {"Authorization": f"Bearer {token}"}


@asynccontextmanager
async def a_browser(app: App | ASGIApp, *, address: tuple[str, int] = ADDRESS) -> AsyncIterator[httpx.AsyncClient]:
    """A browser: keeps cookies by path, asks for pages, says where its requests come from, follows nothing by itself."""
    served = create_app(app) if isinstance(app, App) else app
    transport = httpx.ASGITransport(served, raise_app_exceptions=False, client=address)
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1", headers={**PAGE, **OURS}) as client:
        yield client


async def sign_in(browser: httpx.AsyncClient, login: str = "root", password: str = PASSWORD, onward: str = "/") -> Any:
    """Fill in the form."""
    form = {"login": login, "password": password}
    return await browser.post("/sign-in", params={"next": onward}, data=form)


def with_settings(app: App, **changed: object) -> App:
    """The same registry after a restart with other settings."""
    return replace(app, settings=app.settings.model_copy(update=changed))


async def audit_of(app: App, *actions: str) -> list[tuple[str, str, str]]:
    """Who did what to whom, oldest first; only these actions."""
    async with app.store.begin() as db:
        events = await list_audit(db, None, 1000)
    return [(each.actor, each.action, each.subject) for each in reversed(events) if each.action in actions]
