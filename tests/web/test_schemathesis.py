"""Generated requests of every kind of caller: no 5xx, and no undocumented status or body."""

import asyncio
import json
import re
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import asyncpg
import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, given, seed, settings
from schemathesis import Case, GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from assay.accounts.sign_in import find_or_create_github_account
from assay.accounts.tokens import exchange_token
from assay.app.app import database_url
from assay.github.oauth import GitHubUser
from assay.settings import Settings
from assay.store.database.database import open_database
from tests.support.fake_github import FakeGitHub, serve
from tests.support.fake_github.repository import id_of_login
from tests.support.limits import HIGH_LIMITS
from tests.support.processes import a_process
from tests.support.registry import SECRET
from tests.support.skills import a_repository

pytestmark = [pytest.mark.process, pytest.mark.slow]

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
# `test_openapi.py` checks that this document is the served one.
DOCUMENT: dict[str, Any] = json.loads((Path(__file__).parents[2] / "docs" / "openapi.json").read_text())
SCHEMA = schemathesis.openapi.from_dict(DOCUMENT)
# Streams do not end; they have their own tests.
OPERATIONS = [
    (method, path)
    for path, item in sorted(DOCUMENT["paths"].items())
    for method in sorted(item)
    if "/stream" not in path
]
EXAMPLES = 6
# These would revoke the token of the test.
ENDING = ("/api/v1/auth/sign-out-all", "/api/v1/account/tokens/current")


def can_be_asked_wrongly(operation: dict[str, Any]) -> bool:
    """Return whether a route has parameters; path segments accept any text."""
    taken = [
        each for each in operation.get("parameters", []) if each["in"] != "path" or not is_any_word(each["schema"])
    ]
    return bool(taken) or "requestBody" in operation


def is_any_word(schema: dict[str, Any]) -> bool:
    return schema.get("type") == "string" and schema.keys().isdisjoint({"format", "pattern", "enum"})


ASKED = [(*operation, GenerationMode.POSITIVE) for operation in OPERATIONS] + [
    (method, path, GenerationMode.NEGATIVE)
    for method, path in OPERATIONS
    if can_be_asked_wrongly(DOCUMENT["paths"][path][method])
]


# Parameters with a fixed set of values.
WORDS = frozenset(re.findall(r'"([\w-]+)"', " ".join(re.findall(r'"enum": \[[^\]]*\]', json.dumps(DOCUMENT)))))
WITH_BODIES = [
    (method, path)
    for method, path in OPERATIONS
    if "application/json" in DOCUMENT["paths"][path][method].get("requestBody", {}).get("content", {})
]


async def _database(postgres_url: str, statement: str) -> None:
    admin = await asyncpg.connect(postgres_url.replace("/assay?", "/postgres?"))
    await admin.execute(statement)
    await admin.close()


@dataclass(frozen=True)
class Served:
    """A web process, and the token of an account with the default scopes."""

    url: str
    token: str


@pytest.fixture(scope="module")
def registry_url(served: Served) -> str:
    return served.url


@pytest.fixture(scope="module")
def served(postgres_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Start a web process with a few submissions."""
    name = f"test_{uuid4().hex}"
    asyncio.run(_database(postgres_url, f"CREATE DATABASE {name} TEMPLATE assay"))
    world, folder = (
        FakeGitHub(anonymous_limit=100_000, anonymous_search_limit=100_000),
        tmp_path_factory.mktemp("schemathesis"),
    )
    world.add_repository("acme/tools", files=a_repository("pdf", "csv"))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with serve(world) as github:
        chosen = Settings.from_mapping(
            {
                "ASSAY_DATA_DIR": str(folder / "data"),
                "ASSAY_DATABASE_URL": postgres_url.replace("/assay?", f"/{name}?"),
                "ASSAY_INTERNAL_KEY": SECRET,
                "ASSAY_JWT_SECRET": SECRET,
                "ASSAY_WEBHOOK_SECRET": SECRET,
                "ASSAY_GITHUB_WEBHOOK_SECRET": SECRET,
                "ASSAY_PORT": str(port),
                **HIGH_LIMITS,
                **github.urls(),
            }
        )
        with a_process("web", chosen, folder / "web.log"):
            url = f"http://127.0.0.1:{port}"
            _until_it_answers(url, folder / "web.log")
            body = {"repoUrl": f"{chosen.github_web_url}/acme/tools"}
            assert httpx.post(f"{url}/api/v1/submissions", json=body, timeout=60).status_code == 201
            yield Served(url, asyncio.run(_token(chosen)))
    asyncio.run(_database(postgres_url, f"DROP DATABASE {name} WITH (FORCE)"))


async def _token(settings: Settings) -> str:
    now = datetime.now(UTC)
    async with open_database(database_url(settings)) as store, store.begin() as db:
        owner = await find_or_create_github_account(db, GitHubUser(id=id_of_login("acme"), login="acme"), ())
        return (await exchange_token(db, owner, now)).secret


def _until_it_answers(url: str, log: Path) -> None:
    transport = httpx.HTTPTransport(retries=12)  # with increasing delays, about a minute in total
    try:
        httpx.Client(transport=transport).get(f"{url}/healthz", timeout=60)
    except httpx.HTTPError:
        pytest.fail(log.read_text()[-2000:])


@pytest.mark.parametrize(("method", "path", "mode"), ASKED, ids=lambda each: getattr(each, "value", each))
@pytest.mark.filterwarnings("ignore")
def test_generated_requests_get_documented_responses(
    registry_url: str, method: str, path: str, mode: GenerationMode
) -> None:
    """G9, G59, G63: valid and invalid requests, with an administrator's key."""
    operation = SCHEMA[path][method.upper()]

    @seed(20_261_116)
    @settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck), database=None)
    @given(case=operation.as_strategy(generation_mode=mode))
    def ask(case: Case) -> None:
        case.call_and_validate(
            base_url=registry_url, headers={"X-Internal-Key": SECRET}, checks=CHECKS, timeout=60, verify=False
        )

    ask()


@pytest.mark.parametrize(
    ("method", "path", "is_signed_in"),
    [(*each, False) for each in OPERATIONS] + [(*each, True) for each in OPERATIONS if each[1] not in ENDING],
)
@pytest.mark.filterwarnings("ignore")
def test_other_callers_get_documented_responses(served: Served, method: str, path: str, is_signed_in: bool) -> None:
    """G63, G77: without credentials, and with a token of the default scopes."""
    headers = {"Authorization": f"Bearer {served.token}"} if is_signed_in else {}

    @seed(20_261_119)
    @settings(max_examples=3, deadline=None, suppress_health_check=list(HealthCheck), database=None)
    @given(case=SCHEMA[path][method.upper()].as_strategy(generation_mode=GenerationMode.POSITIVE))
    def ask(case: Case) -> None:
        # Credentials that the schema generates would take the place of these.
        case.headers.pop("X-Internal-Key", None)
        case.cookies.clear()
        case.call_and_validate(base_url=served.url, headers=headers, checks=CHECKS, timeout=60, verify=False)

    ask()
    if is_signed_in:
        account = httpx.get(f"{served.url}/api/v1/account", headers=headers)
        assert (account.status_code, account.json()["login"]) == (200, "acme")


@pytest.mark.parametrize(("method", "path"), WITH_BODIES)
@pytest.mark.filterwarnings("ignore")
def test_nul_in_a_body_is_handled(registry_url: str, method: str, path: str) -> None:
    """G9, G59: PostgreSQL cannot store NUL; it is rejected or removed."""

    @seed(20_261_118)
    @settings(max_examples=5, deadline=None, suppress_health_check=list(HealthCheck), database=None)
    @given(case=SCHEMA[path][method.upper()].as_strategy(generation_mode=GenerationMode.POSITIVE))
    def ask(case: Case) -> None:
        case.body = with_nul(case.body)
        answer = case.call(base_url=registry_url, headers={"X-Internal-Key": SECRET}, timeout=60, verify=False)
        assert answer.status_code < 500, case.as_curl_command()

    ask()


def with_nul(value: Any) -> Any:
    """Return the body with a NUL in every text that is not a date, an id or an enum."""
    if isinstance(value, dict):
        return {key: with_nul(each) for key, each in value.items()}
    if isinstance(value, list):
        return [with_nul(each) for each in value]
    return f"{value}\x00" if isinstance(value, str) and value and not is_of_a_kind(value) else value


def is_of_a_kind(text: str) -> bool:
    """Return whether longer text would be rejected before it is stored."""
    return text in WORDS or bool(re.fullmatch(r"[0-9a-f-]{36}|\d{4}-\d\d-\d\dT.*", text))
