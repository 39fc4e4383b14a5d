"""The OpenAPI document is complete, committed and true."""

import json
from typing import Any

import pytest

from assay.web.openapi import render_openapi
from tests.support.registry import SECRET, Registry
from tests.support.skills import a_bad_skill, a_repository
from tests.support.web.openapi import DOCUMENT, KEPT, check
from tests.support.web.people import a_token, bearer

OPERATIONS = [
    (method, path, operation) for path, item in DOCUMENT["paths"].items() for method, operation in item.items()
]
# These call the host of a repository, or GitHub if the registry is an app there.
LOOKS_OUTSIDE = {
    ("post", "/api/v1/auth/github/exchange-for-vsk-token"),
    ("post", "/api/v1/admin/discovery"),
    ("post", "/api/v1/namespaces/challenge"),
    ("post", "/api/v1/submissions"),
    ("post", "/api/v1/submissions/discover"),
}
# The internal key has no account and no token.
NEEDS_AN_ACCOUNT = {("delete", "/api/v1/auth/sign-out-all"), ("delete", "/api/v1/account/tokens/current")}
PROBLEM = ("application/problem+json", "ProblemView")


def test_committed_openapi_document_is_current() -> None:
    """Run `make docs` after an intended change."""
    assert KEPT.read_text() == render_openapi()


async def test_served_openapi_document_is_the_committed_one(registry: Registry) -> None:
    assert (await registry.client.get("/openapi/openapi.json")).json() == json.loads(KEPT.read_text())


@pytest.mark.parametrize(("method", "path", "operation"), OPERATIONS, ids=lambda value: str(value)[:60])
def test_every_error_is_documented_as_a_problem(method: str, path: str, operation: dict[str, Any]) -> None:
    """G63."""
    errors = {status: answer for status, answer in operation["responses"].items() if status >= "400"}
    assert "400" in errors, "an unknown parameter is refused everywhere"
    assert ("503" in errors) == (path != "/healthz")
    assert ("404" in errors) == ("{" in path or (method, path) in LOOKS_OUTSIDE | NEEDS_AN_ACCOUNT)
    assert ({"413", "415"} <= set(errors)) == ("requestBody" in operation)
    assert {"401", "403"} <= set(errors) or "security" not in operation
    assert "200" in operation["responses"]
    for status, answer in errors.items():
        kind, view = ("application/json", "ReadinessView") if (path, status) == ("/readyz", "503") else PROBLEM
        view = {"410": "GoneProblemView"}.get(status, view)
        assert answer["content"] == {kind: {"schema": {"$ref": f"#/components/schemas/{view}"}}}
    if "300" in operation["responses"]:
        chosen = operation["responses"]["300"]["content"][PROBLEM[0]]["schema"]["$ref"]
        assert chosen.endswith("/ChoicesView")
    assert operation["summary"]
    assert operation["description"]


@pytest.mark.process
async def test_responses_match_the_openapi_document(registry: Registry) -> None:
    """G63: every GET route, with data behind it."""
    registry.github.add_repository("acme/tools", files=a_repository("pdf"), stars=3)
    registry.github.add_repository("mallory/kit", files=a_bad_skill())
    await registry.submit("acme/tools", "pdf", "skills/pdf/SKILL.md")
    refused = await registry.submit("mallory/kit", "steal")
    await registry.work()
    told = {"category": "malware", "text": "It does more than it says."}
    reported = await registry.client.post("/api/v1/skills/acme/tools/pdf/reports", json=told)
    listed = (await registry.client.get("/api/v1/skills/acme/tools/pdf")).json()["skill"]
    token = await a_token(registry.app, "acme")
    values = {
        "digest": listed["contentDigest"],
        "report_id": reported.json()["id"],
        "submission_id": refused["id"],
        "owner": "acme",
        "repo": "tools",
        "skill": "pdf",
        "name": "pdf",
        "version": "latest",
        "path": "SKILL.md",
        "file": "pdf.json",
    }
    for method, path, operation in OPERATIONS:
        if method != "get" or path == "/metrics" or "/stream" in path:
            continue
        needed = {
            "search": {"q": "pdf"},
            "positions": {"ids": refused["id"]},
            "diff": {"from": "1.0.0"},
            "compare": {"from": "1.0.0"},
            "check": {"name": "pdf"},
            "replay": {"ruleset": "sha256:0"},
            "challenge": {"repoUrl": f"{registry.web_url}/acme/tools"},
        }
        given = needed.get(path.rpartition("/")[2], {})
        # The internal key has no account that could answer a challenge.
        credentials = bearer(token) if path.endswith("/challenge") else {"X-Internal-Key": SECRET}
        about = values | {"name": "acme"} if path.startswith("/api/v1/namespaces/") else values
        answer = await registry.client.get(
            path.format_map(about), params=given, headers=credentials if "security" in operation else {}
        )
        assert answer.status_code == 200, answer.text
        described = operation["responses"]["200"]["content"]
        if "application/json" in described:
            check(answer.json(), described["application/json"]["schema"], path)
    missing = await registry.client.get("/api/v1/skills/no/such/skill")
    assert missing.headers["content-type"] == PROBLEM[0]
    check(missing.json(), DOCUMENT["components"]["schemas"][PROBLEM[1]], "problem")
