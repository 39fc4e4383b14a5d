"""The description of the API is complete, kept in the repository, and true."""

import json
from pathlib import Path
from typing import Any

import pytest

from assay.web.openapi import render_openapi
from tests.support.registry import SECRET, Registry
from tests.support.skills import a_bad_skill, a_repository

KEPT = Path(__file__).parents[2] / "docs" / "openapi.json"
DOCUMENT: dict[str, Any] = json.loads(KEPT.read_text())
OPERATIONS = [
    (method, path, operation) for path, item in DOCUMENT["paths"].items() for method, operation in item.items()
]
# These ask the host of a repository, which may not have it, or GitHub, if this registry is an app of it.
LOOKS_OUTSIDE = {
    ("post", "/api/v1/auth/github/exchange-for-vsk-token"),
    ("post", "/api/v1/admin/discovery"),
    ("post", "/api/v1/submissions"),
    ("post", "/api/v1/submissions/discover"),
}
PROBLEM = ("application/problem+json", "ProblemView")
TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}


def test_the_kept_description_is_the_one_that_the_code_makes() -> None:
    """Run `python -m docs.generate` after a wanted change."""
    assert KEPT.read_text() == render_openapi()


async def test_the_served_description_is_the_kept_one(registry: Registry) -> None:
    """Clients are made from what is served."""
    assert (await registry.client.get("/openapi/openapi.json")).json() == json.loads(KEPT.read_text())


@pytest.mark.parametrize(("method", "path", "operation"), OPERATIONS, ids=lambda value: str(value)[:60])
def test_every_refusal_is_described_as_a_problem(method: str, path: str, operation: dict[str, Any]) -> None:
    """G63: no client has to guess what an error looks like, or what a success does."""
    errors = {status: answer for status, answer in operation["responses"].items() if status >= "400"}
    assert "400" in errors, "an unknown parameter is refused everywhere"
    assert ("503" in errors) == (path != "/healthz")
    assert ("404" in errors) == ("{" in path or (method, path) in LOOKS_OUTSIDE)
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


async def test_what_is_answered_is_what_is_described(registry: Registry) -> None:
    """G63: every GET route, with data behind it, answers with exactly the described keys and types."""
    registry.github.add_repository("acme/tools", files=a_repository("pdf"), stars=3)
    registry.github.add_repository("mallory/kit", files=a_bad_skill())
    await registry.submit("acme/tools", "pdf", "skills/pdf/SKILL.md")
    refused = await registry.submit("mallory/kit", "steal")
    await registry.work()
    told = {"category": "malware", "text": "It does more than it says."}
    reported = await registry.client.post("/api/v1/skills/acme/tools/pdf/reports", json=told)
    listed = (await registry.client.get("/api/v1/skills/acme/tools/pdf")).json()["skill"]
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
        }
        given = needed.get(path.rpartition("/")[2], {})
        key = {"X-Internal-Key": SECRET} if "security" in operation else {}
        answer = await registry.client.get(path.format_map(values), params=given, headers=key)
        assert answer.status_code == 200, answer.text
        described = operation["responses"]["200"]["content"]
        if "application/json" in described:
            check(answer.json(), described["application/json"]["schema"], path)
    missing = await registry.client.get("/api/v1/skills/no/such/skill")
    assert missing.headers["content-type"] == PROBLEM[0]
    check(missing.json(), DOCUMENT["components"]["schemas"][PROBLEM[1]], "problem")


def check(value: object, schema: dict[str, Any], where: str) -> None:
    """A value is what its schema says: as much of JSON Schema as the description uses."""
    if "$ref" in schema:
        return check(value, DOCUMENT["components"]["schemas"][schema["$ref"].rpartition("/")[2]], where)
    if "oneOf" in schema:
        return check(value, next(one for one in schema["oneOf"] if fits(value, one)), where)
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    assert any(isinstance(value, TYPES[kind]) for kind in kinds), f"{where} is {value!r}, not {kinds}"
    assert value in schema.get("enum", [value]), f"{where} is {value!r}"
    if isinstance(value, list):
        for number, each in enumerate(value):
            check(each, schema["items"], f"{where}[{number}]")
    if isinstance(value, dict) and "properties" in schema:
        assert set(value) == set(schema["properties"]), where
        assert set(schema["required"]) == set(value), where
        for key, each in value.items():
            check(each, schema["properties"][key], f"{where}.{key}")
    return None


def fits(value: object, schema: dict[str, Any]) -> bool:
    """Whether a value is of the type that one of several schemas describes."""
    return (value is None) == (schema.get("type") == "null")
