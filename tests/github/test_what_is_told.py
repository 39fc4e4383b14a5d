"""Errors shown to people when GitHub refuses."""

import io
import logging
from dataclasses import dataclass

import pytest
import structlog
from pydantic import SecretStr

from assay.settings import Settings
from tests.support.fake_github import FakeGitHub, serve
from tests.support.registry import Registry, open_registry
from tests.support.skills import a_repository

TOKEN = "a-very-secret-token"


@dataclass(frozen=True)
class No:
    """A refusal by GitHub, and the resulting code, status and state."""

    status: int
    code: str
    answered: int
    state: str
    retry_after: int | None = None


REFUSALS = [
    No(404, "source_not_found", 404, "REJECTED"),
    No(410, "source_gone", 404, "REJECTED"),
    No(451, "source_taken_down", 404, "REJECTED"),
    No(403, "github_forbidden", 503, "FAILED"),
    No(500, "github_unavailable", 503, "FAILED"),
    No(418, "github_unavailable", 503, "FAILED"),
]


@pytest.mark.parametrize("no", REFUSALS, ids=lambda no: str(no.status))
async def test_each_refusal_has_its_own_code(registry: Registry, no: No) -> None:
    """G36: in the response and in the queue."""
    registry.github.add_repository("acme/tools", a_repository("pdf"))
    registry.github.fail("repo", no.status, times=None)
    body = {"repoUrl": f"{registry.web_url}/acme/tools"}
    for route in ("/api/v1/submissions", "/api/v1/submissions/discover"):
        answer = await registry.client.post(route, json=body)
        assert (answer.status_code, answer.json()["code"]) == (no.answered, no.code)
    accepted = await registry.submit("acme/tools", "pdf", "skills/pdf/SKILL.md")
    await registry.work()
    told = await registry.read(accepted["id"])
    assert (told["state"], told["reason"]["code"]) == (no.state, no.code)


@pytest.mark.process
@pytest.mark.parametrize("kind", ["primary", "secondary"])
async def test_rate_limit_delays_without_an_attempt(registry: Registry, kind: str) -> None:
    """G34."""
    registry.github.add_repository("acme/tools", a_repository("pdf"))
    if kind == "primary":
        registry.github.fail("repo", 429, retry_after=1, times=2)
    else:
        registry.github.secondary_limit("repo", retry_after=1, times=2)
    answer = await registry.client.post("/api/v1/submissions", json={"repoUrl": f"{registry.web_url}/acme/tools"})
    assert (answer.status_code, answer.json()["code"], answer.headers["Retry-After"]) == (503, "rate_limited", "1")
    accepted = await registry.submit("acme/tools", "pdf", "skills/pdf/SKILL.md")
    await registry.work()
    told = await registry.read(accepted["id"])
    assert (told["state"], told["attempts"]) == ("PUBLISHED", 0)


@pytest.mark.process
async def test_renamed_repository_is_listed_under_its_new_name(registry: Registry) -> None:
    """G54."""
    tools = registry.github.add_repository("acme/tools", a_repository("pdf"))
    tools.rename("umbrella/kit")
    await registry.submit("acme/tools", "pdf", "skills/pdf/SKILL.md")
    await registry.work()
    assert (await registry.client.get("/api/v1/skills/umbrella/kit/pdf")).status_code == 200


async def test_token_never_leaks(settings: Settings, github: FakeGitHub, caplog: pytest.LogCaptureFixture) -> None:
    """G32, G84: into responses, logs, traces or other hosts."""
    github.add_token(TOKEN)
    tools = github.add_repository("acme/tools", a_repository("pdf"))
    elsewhere = FakeGitHub()
    lines, before = io.StringIO(), structlog.get_config()
    structlog.configure(
        processors=[structlog.processors.format_exc_info, structlog.processors.KeyValueRenderer()],
        logger_factory=structlog.PrintLoggerFactory(lines),
    )
    said = []
    try:
        with serve(elsewhere) as other, caplog.at_level(logging.DEBUG):
            async with open_registry(
                settings.model_copy(update={"github_tokens": (SecretStr(TOKEN),)}), github
            ) as registry:

                async def submit() -> None:
                    body = {"repoUrl": f"{registry.web_url}/acme/tools"}
                    said.append((await registry.client.post("/api/v1/submissions", json=body)).text)

                for break_it in (
                    lambda: github.fail("repo", 500),
                    lambda: github.fail("repo", 200, body="not json"),
                    lambda: github.drop_connection("repo", times=3),
                    lambda: github.drop_connection("repo", after_bytes=5),
                    lambda: github.fail("repo", 401),
                ):
                    break_it()
                    await submit()
                    github.heal()
                tools.rename("umbrella/kit")
                github.serve_at(other.base_url)
                await submit()
    finally:
        structlog.configure(**before)
    assert {call.token for call in github.calls if call.host == "api"} == {TOKEN}
    assert elsewhere.count() == 0
    assert TOKEN not in "".join(said) + lines.getvalue() + caplog.text
    assert "GitHub rejected token 1 of 1" in lines.getvalue()
