"""Errors: problem bodies for programs, pages for people, the same headers as every response."""

import pytest
from structlog.testing import capture_logs

from tests.support.registry import Registry

BROWSER = {"accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
MACHINE_ROUTES = ("/api/v1/nothing", "/api/v1/skills/no/such/skill", "/api/v1/submissions?nope=1", "/healthz?nope=1")


async def test_errors_are_problems_for_programs_and_pages_for_people(registry: Registry) -> None:
    """G63, G64: API routes never return HTML."""
    for path in ("/nothing", "/skills/no/such/skill", "/submissions/00000000-0000-0000-0000-000000000000"):
        page = await registry.client.get(path, headers=BROWSER)
        assert (page.status_code, page.headers["content-type"]) == (404, "text/html; charset=utf-8")
        assert "<h1>" in page.text
        problem = await registry.client.get(path)
        assert (problem.status_code, problem.headers["content-type"]) == (404, "application/problem+json")
        assert problem.json()["detail"] in page.text
    for path in MACHINE_ROUTES:
        problem = await registry.client.get(path, headers=BROWSER)
        assert problem.headers["content-type"] == "application/problem+json"
        assert set(problem.json()) == {"type", "title", "status", "code", "detail"}
        assert problem.json()["status"] == problem.status_code


async def test_error_page_escapes_user_input(registry: Registry) -> None:
    for path in ("/<script>alert(1)</script>", "/skills?<script>=1", "/queue?category=<script>", "/skills/<b>/x/y"):
        page = await registry.client.get(path, headers=BROWSER)
        assert page.status_code in (400, 404)
        assert "<script>" not in page.text.lower()
        assert "<b>" not in page.text


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("DELETE", "/api/v1/submissions", {"GET", "POST", "OPTIONS"}),
        ("PUT", "/api/v1/skills", {"GET", "OPTIONS"}),
        ("POST", "/healthz", {"GET", "OPTIONS"}),
        ("POST", "/", {"GET", "OPTIONS"}),
    ],
)
async def test_wrong_method_returns_405_with_allowed_methods(
    registry: Registry, method: str, path: str, allowed: set[str]
) -> None:
    answer = await registry.client.request(method, path)
    assert (answer.status_code, answer.json()["code"]) == (405, "method_not_allowed")
    assert method in answer.json()["detail"]
    assert set(answer.headers["allow"].split(", ")) == allowed


async def test_head_matches_get_without_a_body(registry: Registry) -> None:
    """Monitors use HEAD; a 405 would look like an outage."""
    for path in ("/", "/healthz", "/api/v1/skills", "/static/assay.css", "/nothing"):
        head, got = await registry.client.head(path), await registry.client.get(path)
        assert (head.status_code, head.content) == (got.status_code, b"")
        assert head.headers["content-type"] == got.headers["content-type"]
        assert head.headers["content-length"] == got.headers["content-length"]


async def test_every_response_forbids_scripts_and_errors_are_not_cached(registry: Registry) -> None:
    """G9."""
    expected = {
        "/": "no-cache",
        "/api/v1/submissions/stats": "no-cache",
        "/static/assay.css": "max-age=600, public",
        "/nothing": "no-store",
        "/api/v1/skills/no/such/skill": "no-store",
        "/queue?nope=1": "no-store",
        "/static/nothing.css": "no-store",
    }
    for path, kept in expected.items():
        answer = await registry.client.get(path, headers=BROWSER)
        assert answer.headers["cache-control"] == kept, path
        policy = answer.headers["content-security-policy"]
        assert policy.startswith("default-src 'none';")
        assert "script-src 'self';" in policy
        assert "unsafe" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"


async def test_internal_error_hides_its_details(registry: Registry) -> None:
    async with registry.app.store.begin() as db:
        await db.exec_driver_sql("ALTER TABLE submission_count_delta RENAME TO hidden_away")
    with capture_logs() as logged:
        answer = await registry.client.get("/api/v1/submissions/stats")
        page = await registry.client.get("/queue", headers=BROWSER)
    assert (answer.status_code, answer.json()["code"]) == (500, "internal_error")
    assert page.status_code == 500
    assert "The error was logged" in page.text
    assert "submission_count" not in answer.text + page.text
    assert [(line["log_level"], line["path"]) for line in logged] == [
        ("error", "/api/v1/submissions/stats"),
        ("error", "/queue"),
    ]


async def test_files_outside_the_static_folder_are_not_served(registry: Registry) -> None:
    """Neither by dots nor by encoded dots."""
    for path in ("/static/../app.py", "/static/%2e%2e/app.py", "/static/..%2fapp.py", "/static//etc/passwd"):
        answer = await registry.client.get(path)
        assert answer.status_code == 404, path
