"""Generated requests: no 5xx, and no undocumented status or body."""

import asyncio
import json
import re
import socket
from collections.abc import Iterator
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

from assay.settings import Settings
from tests.support.fake_github import FakeGitHub, serve
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


@pytest.fixture(scope="module")
def registry_url(postgres_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
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
                **github.urls(),
            }
        )
        with a_process("web", chosen, folder / "web.log"):
            url = f"http://127.0.0.1:{port}"
            _until_it_answers(url, folder / "web.log")
            body = {"repoUrl": f"{chosen.github_web_url}/acme/tools"}
            assert httpx.post(f"{url}/api/v1/submissions", json=body, timeout=60).status_code == 201
            yield url
    asyncio.run(_database(postgres_url, f"DROP DATABASE {name} WITH (FORCE)"))


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
