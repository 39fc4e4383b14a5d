"""The access table of the documentation, checked by calling every route as every kind of caller."""

import json
import re
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode
from uuid import uuid4

import pytest
from docs.access_table import ALLOWED, KINDS, all_routes, decision
from litestar.types import ASGIApp
from pydantic import SecretStr

from assay.accounts.admins import disable_account
from assay.accounts.claims import grant_claim
from assay.accounts.sessions import ACCESS_SECONDS, SessionTokens
from assay.app.app import App
from assay.model.account import Role, Scope
from assay.model.clock import Clock
from assay.settings import Settings
from assay.store.people.accounts import find_accounts
from assay.store.people.namespaces import list_claims
from assay.web.app import build_routes, create_app
from assay.web.http.access import RouteAccess
from tests.support.catalogue import publish
from tests.support.fake_github import FakeGitHub
from tests.support.registry import SECRET, Registry, open_registry
from tests.support.review_cases import refused_skill
from tests.support.web.people import OURS, admin_signed_in, bearer, cookies_of, made_token, signed_in, with_role
from tests.support.web.raw import RawAnswer, send_raw

pytestmark = pytest.mark.process

Headers = list[tuple[bytes, bytes]]
OWNER, OTHER, HELPER, REVIEWER, GONE = "acme", "other", "helper", "judge", "gone"
# Bodies that the routes of owners accept, by the last part of the path; all other routes get a body that they refuse.
OWNER_BODIES: dict[str, Any] = {
    "appeal": {"text": "The refusal is a mistake."},
    "{tag:str}": {"version": "1.0.0"},
    "rename": {"name": "salute"},
    "move": {"namespace": OWNER},
}
REASON = {"reason": "Called by a test."}
NAMES = {"owner": OWNER, "repo": "tools", "skill": "greet", "version": "1.0.0", "tag": "stable", "path": "SKILL.md"}
GITHUB_EVENT = [(b"x-github-event", b"push"), (b"x-github-delivery", b"1")]
NAMESPACES = ("/api/v1/namespaces/", "/api/v1/admin/namespaces/")


@dataclass(frozen=True)
class Call:
    """A route with a caller of one kind, and the decision in the table."""

    method: str
    path: str
    access: RouteAccess
    kind: str
    expected: str


@pytest.fixture
async def registry(settings: Settings, github: FakeGitHub) -> AsyncIterator[Registry]:
    secret = {"github_webhook_secret": SecretStr(SECRET)}
    async with open_registry(settings.model_copy(update=secret), github) as opened:
        yield opened


def header_lines(headers: dict[str, str], session: SessionTokens | None = None) -> Headers:
    cookies = "; ".join(f"{name}={value}" for name, value in cookies_of(session).items()) if session else ""
    sent = {**OURS, **headers, **({"cookie": cookies} if session else {})}
    return [(name.lower().encode(), value.encode()) for name, value in sent.items()]


async def credentials(app: App) -> dict[str, list[Headers]]:
    """Return one or more valid credentials of each kind; those of earlier calls are removed."""
    async with app.store.begin() as db:
        await db.exec_driver_sql("DELETE FROM account_token WHERE revoked_at IS NULL AND expires_at > now()")
        await db.exec_driver_sql("DELETE FROM account_session WHERE revoked_at IS NULL")
    owner, reviewer, admin = (
        await signed_in(app, OWNER),
        await with_role(app, REVIEWER, Role.REVIEWER),
        await admin_signed_in(app),
    )
    tokens = {scope.value: await made_token(app, owner, [scope]) for scope in (Scope.READ, Scope.SUBMIT, Scope.PUBLISH)}
    tokens["moderate"] = await made_token(app, reviewer, [Scope.MODERATE])
    tokens["admin"] = await made_token(app, admin, [Scope.ADMIN])
    sessions = {"owner": owner, "other": await signed_in(app, OTHER), "reviewer": reviewer, "administrator": admin}
    return {
        "anonymous": [header_lines({})],
        "key": [header_lines({"X-Internal-Key": SECRET})],
        **{name: [header_lines(bearer(token))] for name, token in tokens.items()},
        **{name: [header_lines({}, session)] for name, session in sessions.items()},
    }


async def stale_credentials(app: App) -> dict[str, list[Headers]]:
    """Return credentials that were valid once: expired, revoked, and of a disabled account."""
    long_ago, now = app.clock.now() - timedelta(days=100), app.clock.now()
    before = replace(app, clock=Clock(lambda: long_ago))
    lapsed = await signed_in(replace(app, clock=Clock(lambda: now - timedelta(seconds=ACCESS_SECONDS))), OWNER)
    expired = await made_token(before, await signed_in(before, OWNER))
    ended, gone = await signed_in(app, OWNER), await signed_in(app, GONE)
    tokens = [expired, await made_token(app, ended), await made_token(app, gone)]
    async with app.store.begin() as db:
        await db.exec_driver_sql("UPDATE account_token SET revoked_at = now() WHERE expires_at > now()")
        await db.exec_driver_sql("UPDATE account_session SET revoked_at = now() WHERE expires_at > now()")
        await disable_account(db, GONE, now)
    return {
        "stale token": [header_lines(bearer(token)) for token in tokens],
        "stale session": [header_lines({}, session) for session in (lapsed, ended, gone)],
    }


def all_calls() -> Iterator[Call]:
    for method, path, access in all_routes(build_routes()):
        for kind, caller in KINDS.items():
            yield Call(method, path, access, kind, decision(method, access, caller))


def filled(path: str, ids: dict[str, str]) -> str:
    """Return the path with the names of objects that exist, if their owner matters."""

    def value(found: re.Match[str]) -> str:
        name = found[1]
        if name == "name":
            return OWNER if path.startswith(NAMESPACES) else "greet"
        return (NAMES | ids).get(name, str(uuid4()))

    return re.sub(r"{(\w+):\w+}", value, path)


def body_of(call: Call) -> tuple[Headers, bytes]:
    """Return a body: valid for the routes of owners, which check the owner last, and invalid for all others."""
    if call.method in ("GET", "HEAD"):
        return [], b""
    valid = (
        OWNER_BODIES.get(call.path.rpartition("/")[2], REASON) if call.access.is_for_owners else {"no such": "field"}
    )
    is_form = not call.path.startswith(("/api/", "/auth/"))
    kind = b"application/x-www-form-urlencoded" if is_form else b"application/json"
    body = urlencode(valid) if is_form else json.dumps(valid)
    return [(b"content-type", kind)], body.encode()


async def answer_to(served: ASGIApp, call: Call, sent: Headers, ids: dict[str, str]) -> RawAnswer:
    headers, body = body_of(call)
    return await send_raw(served, call.method, filled(call.path, ids), [*sent, *headers, *GITHUB_EVENT], body)


async def a_claim(app: App) -> str:
    """Return the id of a claim on the owner's namespace by an account that is not among the callers."""
    await signed_in(app, HELPER)
    async with app.store.begin() as db:
        (account,) = await find_accounts(db, HELPER)
        await grant_claim(db, OWNER, None, account, "For a test.", by="root", now=app.clock.now())
        ((claim, _),) = await list_claims(db, OWNER)
    return str(claim.id)


def seen(answer: RawAnswer) -> str:
    """Return the decision that a response shows."""
    return str(answer.status) if answer.status in (401, 403) else ALLOWED


async def test_every_route_for_every_kind_of_caller(registry: Registry) -> None:
    """G77: the table of docs/access.md is complete and true, and no credential causes an error of the server.

    Refusals are tried first, because the calls that are allowed change what the others would find.
    """
    await publish(registry, f"{OWNER}/tools", "Says hello.")
    ids = {"submission_id": await refused_skill(registry, f"{OWNER}/kit"), "claim_id": await a_claim(registry.app)}
    served, wrong = create_app(registry.app), []
    stale, valid = await stale_credentials(registry.app), await credentials(registry.app)
    calls = sorted(all_calls(), key=lambda call: call.expected == ALLOWED)
    assert {call.kind for call in calls} == {*valid, *stale}
    for call in calls:
        for sent in (valid | stale)[call.kind]:
            answer = await answer_to(served, call, sent, ids)
            if seen(answer) != call.expected or answer.status >= 500:
                wrong.append((call.kind, call.method, call.path, answer.status, call.expected, answer.body[:200]))
            if call.expected == ALLOWED and is_about_credentials(call):
                valid = await credentials(registry.app)
    assert wrong == [], "\n".join(map(str, wrong))


def is_about_credentials(call: Call) -> bool:
    """Return whether a call may have ended the credentials of this test."""
    is_ours = call.path.startswith(("/auth/", "/api/v1/auth/", "/api/v1/account/"))
    return is_ours and call.method not in ("GET", "HEAD") and not call.kind.startswith("stale")
