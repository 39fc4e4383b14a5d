"""Searches of the fake GitHub."""

import pytest

from tests.support.fake_github import FakeGitHub


@pytest.fixture
def found(world: FakeGitHub):
    world.add_repository(
        "acme/pdf", {"s/SKILL.md": "x" * 100}, stars=5, topics=["skills"], created_at="2026-02-01T10:00:00Z"
    )
    world.add_repository(
        "acme/web",
        {"SKILL.md": "x" * 200},
        stars=9,
        description="Web skills",
        pushed_at="2026-03-05T00:00:00Z",
    )
    world.add_repository("other/notes", {"notes.md": "a pdf"}, stars=7)
    world.add_repository("acme/hidden", {"SKILL.md": "x"}, private=True)


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("acme", ["acme/web", "acme/pdf"]),
        ("topic:skills", ["acme/pdf"]),
        ("org:ACME", ["acme/web", "acme/pdf"]),
        ("user:other+notes", ["other/notes"]),
        ("repo:acme/pdf+repo:other/notes", ["other/notes", "acme/pdf"]),
        ("web+skills", ["acme/web"]),
        ("org:acme+created:2026-02-01..2026-02-01", ["acme/pdf"]),
        ("org:acme+created:<2026-02-01", ["acme/web"]),
        ("pushed:>=2026-03-01", ["acme/web"]),
        ("stars:6..8", ["other/notes"]),
        ("org:acme&sort=stars&order=asc", ["acme/pdf", "acme/web"]),
        ("org:acme&sort=updated", ["acme/web", "acme/pdf"]),
    ],
)
async def test_repository_search(visitor, found, query, names):
    reply = await visitor.get(f"/api/search/repositories?q={query}")
    assert reply.status == 200
    assert names == [item["full_name"] for item in reply.json["items"]]
    assert (len(names), False) == (reply.json["total_count"], reply.json["incomplete_results"])
    assert {"default_branch", "stargazers_count"} <= reply.json["items"][0].keys()


@pytest.mark.parametrize(
    ("query", "paths"),
    [
        ("filename:SKILL.md", ["acme/pdf:s/SKILL.md", "acme/web:SKILL.md"]),
        ("filename:SKILL.md+path:s", ["acme/pdf:s/SKILL.md"]),
        ("filename:SKILL.md+size:150..250", ["acme/web:SKILL.md"]),
        ("filename:SKILL.md+repo:acme/pdf", ["acme/pdf:s/SKILL.md"]),
        ("pdf+extension:md", ["other/notes:notes.md"]),
        ("filename:SKILL.md+org:other", []),
    ],
)
async def test_code_search(visitor, found, query, paths):
    reply = await visitor.get(f"/api/search/code?q={query}", "good")
    assert reply.status == 200
    assert paths == [f"{item['repository']['full_name']}:{item['path']}" for item in reply.json["items"]]


async def test_code_search_needs_a_token(visitor, found):
    reply = await visitor.get("/api/search/code?q=filename:SKILL.md")
    assert (reply.status, reply.json["message"]) == (401, "Requires authentication")


async def test_search_sees_a_push_at_once(visitor, world, found):
    path = "/api/search/code?q=filename:SKILL.md"
    before = await visitor.get(path, "good")
    world.add_repository("acme/new", {"SKILL.md": "new"})
    after = await visitor.get(path, "good")
    assert before.json["total_count"] + 1 == after.json["total_count"]


async def test_search_pages_have_links(visitor, world):
    world.add_repository("acme/many", {f"{number}/SKILL.md": "x" for number in range(45)})
    first = await visitor.get("/api/search/code?q=filename:SKILL.md", "good")
    second = await visitor.get("/api/search/code?q=filename:SKILL.md&page=2", "good")
    assert [len(first.json["items"]), len(second.json["items"])] == [30, 15]
    assert 'page=2>; rel="next"' in first.headers["Link"]
    assert 'rel="next"' not in second.headers["Link"]


async def test_search_ends_at_1000_results(visitor):
    statuses = [
        (await visitor.get(f"/api/search/{what}?q=x&per_page={size}&page={page}", "good")).status
        for what, size, page in [
            ("repositories", 100, 10),
            ("repositories", 100, 11),
            ("repositories", 30, 34),
            ("code", 100, 10),
            ("code", 30, 34),
        ]
    ]
    assert statuses == [200, 422, 200, 200, 422]
    reply = await visitor.get("/api/search/code?q=x&per_page=100&page=11", "good")
    assert reply.json["message"] == "Only the first 1000 search results are available"


@pytest.mark.parametrize("query", ["", "flavour:sweet", "stars:many", "created:soon"])
async def test_invalid_query_is_422(visitor, found, query):
    reply = await visitor.get(f"/api/search/repositories?q={query}")
    assert (reply.status, reply.json["message"]) == (422, "Validation Failed")


async def test_searches_have_their_own_limits(visitor, found, clock):
    anonymous = await visitor.get("/api/search/repositories?q=acme")
    authorized = await visitor.get("/api/search/repositories?q=acme", "good")
    code = await visitor.get("/api/search/code?q=acme", "good")
    assert [anonymous.remaining, authorized.remaining, code.remaining] == [9, 29, 9]
    assert [reply.headers["X-RateLimit-Resource"] for reply in (anonymous, authorized, code)] == [
        "search",
        "search",
        "code_search",
    ]
    assert int(clock.time) + 60 == int(code.headers["X-RateLimit-Reset"])
    assert (await visitor.get("/api/repos/acme/pdf", "good")).remaining == 4999
