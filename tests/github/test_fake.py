"""The fake GitHub answers as the real one does."""

import asyncio
import io
import json
import subprocess
import sys
import tarfile
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Any

import aiohttp
import pytest

from assay.github.fake import FakeFile, FakeGitHub, FakeServer, serve

SKILL = b"---\nname: pdf\ndescription: Reads PDF files.\n---\n"


class Clock:
    """A clock that tests move."""

    def __init__(self) -> None:
        self.time = 1_800_000_000.0

    def __call__(self) -> float:
        return self.time


@dataclass
class Reply:
    """An answer that was read to its end."""

    status: int
    headers: Any
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def remaining(self) -> int:
        return int(self.headers["X-RateLimit-Remaining"])


class Visitor:
    """A client that follows no redirects and retries nothing."""

    def __init__(self, base_url: str, session: aiohttp.ClientSession) -> None:
        self.base_url = base_url
        self._session = session

    async def get(self, path: str, token: str | None = None, **headers: str) -> Reply:
        if token:
            headers["Authorization"] = f"Bearer {token}"
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        async with self._session.get(self.base_url + path, headers=named, allow_redirects=False) as response:
            return Reply(response.status, response.headers, await response.read())


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def world(clock: Clock) -> FakeGitHub:
    world = FakeGitHub(now=clock)
    world.add_token("good")
    return world


@pytest.fixture
def server(world: FakeGitHub) -> Iterator[FakeServer]:
    with serve(world) as server:
        yield server


@pytest.fixture
async def visitor(server: FakeServer) -> AsyncIterator[Visitor]:
    async with aiohttp.ClientSession() as session:
        yield Visitor(server.base_url, session)


@pytest.fixture
def tools(world: FakeGitHub):
    files = {
        "README.md": "# Tools",
        "skills/pdf/SKILL.md": SKILL,
        "skills/pdf/run.py": FakeFile(b"1", "100755"),
    }
    return world.add_repository("acme/tools", files, default_branch="trunk", stars=12, topics=("agent-skills",))


async def test_a_repository_describes_itself(visitor, tools, server):
    """The fields the registry reads are there, and names are compared without regard to case."""
    reply = await visitor.get("/api/repos/ACME/Tools")
    assert reply.status == 200
    assert reply.json["full_name"] == "acme/tools"
    assert reply.json["owner"] == {"login": "acme", "type": "Organization"}
    assert (tools.id, "tools", "trunk", 12, False, False) == tuple(
        reply.json[key] for key in ("id", "name", "default_branch", "stargazers_count", "private", "archived")
    )
    assert f"{server.base_url}/web/acme/tools" == reply.json["html_url"]
    assert {"description", "pushed_at", "size"} <= reply.json.keys()
    assert reply.headers["Content-Type"] == "application/json; charset=utf-8"


async def test_a_changed_field_shows_at_once(visitor, tools):
    """Answers are remembered only until the repository changes."""
    await visitor.get("/api/repos/acme/tools")
    tools.stars = 13
    assert (await visitor.get("/api/repos/acme/tools")).json["stargazers_count"] == 13


def test_a_misspelt_field_is_an_error(tools):
    """A test that sets a field nobody reads fails instead of passing for the wrong reason."""
    with pytest.raises(AttributeError):
        tools.star = 13


async def test_an_unknown_repository_is_not_found(visitor):
    """The body is GitHub's."""
    reply = await visitor.get("/api/repos/acme/nothing")
    assert reply.status == 404
    assert (reply.json["message"], reply.json["status"]) == ("Not Found", "404")
    assert "documentation_url" in reply.json


@pytest.mark.parametrize("path", ["/", "/api", "/api/", "/api/repos/acme", "/raw", "/codeload/acme", "/nowhere/x/y"])
async def test_an_unknown_path_is_not_found(visitor, path):
    """No path makes the fake stumble."""
    assert (await visitor.get(path)).status == 404


async def test_an_old_name_redirects_to_the_number(visitor, tools, server):
    """After a rename the API answers 301 with the address by number, which works."""
    tools.rename("other/better")
    reply = await visitor.get("/api/repos/Acme/Tools")
    assert reply.status == 301
    assert f"{server.base_url}/api/repositories/{tools.id}" == reply.headers["Location"] == reply.json["url"]
    assert reply.json["message"] == "Moved Permanently"
    assert (await visitor.get(f"/api/repositories/{tools.id}")).json["full_name"] == "other/better"
    assert (await visitor.get("/api/repos/other/better")).status == 200


async def test_endpoints_below_an_old_name_redirect_too(visitor, tools, server):
    """The rest of the path and the query are kept."""
    tools.rename("acme/better")
    by_number = f"{server.base_url}/api/repositories/{tools.id}"
    commit = await visitor.get("/api/repos/acme/tools/commits/HEAD")
    tree = await visitor.get(f"/api/repos/acme/tools/git/trees/{tools.sha}?recursive=1")
    assert f"{by_number}/commits/HEAD" == commit.headers["Location"]
    assert f"{by_number}/git/trees/{tools.sha}?recursive=1" == tree.headers["Location"]
    assert (await visitor.get(commit.headers["Location"].removeprefix(server.base_url))).status == 200
    assert (await visitor.get(tree.headers["Location"].removeprefix(server.base_url))).status == 200


@pytest.mark.parametrize(
    "path", ["/raw/{}/HEAD/README.md", "/codeload/{}/tar.gz/trunk", "/web/{}"], ids=["raw", "codeload", "web"]
)
async def test_the_other_hosts_redirect_to_the_new_name(visitor, tools, server, path):
    """Raw, codeload and web know no numbers."""
    tools.rename("acme/better")
    reply = await visitor.get(path.format("acme/tools"))
    assert reply.status == 301
    assert server.base_url + path.format("acme/better") == reply.headers["Location"]
    assert (await visitor.get(path.format("acme/better"))).status == 200


async def test_a_name_used_again_no_longer_redirects(visitor, world, tools):
    """A new repository under an old name is another one, with another number."""
    tools.rename("acme/better")
    squatter = world.add_repository("acme/tools", {"README.md": "mine"})
    reply = await visitor.get("/api/repos/acme/tools")
    assert reply.status == 200
    assert squatter.id == reply.json["id"] != tools.id


def test_a_taken_name_is_refused(world, tools):
    """Neither a new nor a renamed repository takes another's name."""
    other = world.add_repository("acme/other")
    with pytest.raises(ValueError, match="exists already"):
        world.add_repository("ACME/tools")
    with pytest.raises(ValueError, match="exists already"):
        other.rename("acme/Tools")


async def test_a_deleted_repository_is_gone_everywhere(visitor, tools):
    """By name, by old name, by number and on the other hosts."""
    tools.rename("acme/better")
    tools.delete()
    for path in ("/api/repos/acme/better", "/api/repos/acme/tools", f"/api/repositories/{tools.id}"):
        assert (await visitor.get(path)).status == 404
    for path in ("/raw/acme/better/HEAD/README.md", "/codeload/acme/better/tar.gz/HEAD", "/web/acme/better"):
        assert (await visitor.get(path)).status == 404


async def test_a_private_repository_shows_only_to_its_readers(visitor, world):
    """Everybody else learns nothing of it, on any host."""
    world.add_token("reader")
    world.add_repository("acme/secret", {"a": "b"}, private=True, readers=["reader"])
    for path in ("/api/repos/acme/secret", "/raw/acme/secret/HEAD/a", "/codeload/acme/secret/tar.gz/HEAD"):
        assert (await visitor.get(path)).status == 404
        assert (await visitor.get(path, "good")).status == 404
        assert (await visitor.get(path, "reader")).status == 200


async def test_a_blocked_repository_answers_451(visitor, tools):
    """With GitHub's reason."""
    tools.blocked = True
    reply = await visitor.get("/api/repos/acme/tools/commits/HEAD")
    assert reply.status == 451
    assert (reply.json["message"], reply.json["block"]["reason"]) == ("Repository access blocked", "dmca")
    assert (await visitor.get("/codeload/acme/tools/tar.gz/HEAD")).status == 451


async def test_a_request_without_a_user_agent_is_forbidden(visitor, tools):
    """As GitHub's administrative rules have it."""
    assert (await visitor.get("/api/repos/acme/tools", User_Agent="")).status == 403


@pytest.mark.parametrize("ref", ["HEAD", "trunk", "heads/trunk", "refs/heads/trunk"])
async def test_a_ref_resolves_to_its_commit(visitor, tools, ref):
    """HEAD, a branch and a full sha name the same commit."""
    reply = await visitor.get(f"/api/repos/acme/tools/commits/{ref}")
    assert reply.status == 200
    assert tools.sha == reply.json["sha"]
    assert reply.json["commit"]["committer"]["date"] == "2026-01-01T00:00:00Z"
    assert reply.json["commit"]["message"] == "Add files"
    assert len(reply.json["commit"]["tree"]["sha"]) == 40
    assert reply.json == (await visitor.get(f"/api/repos/acme/tools/commits/{tools.sha}")).json


async def test_a_push_moves_the_branch_and_keeps_the_past(visitor, tools):
    """A file can be changed, added and deleted; old commits stay."""
    old = tools.sha
    new = tools.push({"README.md": b"new", "more.txt": "more", "skills/pdf/run.py": None})
    commit = await visitor.get("/api/repos/acme/tools/commits/HEAD")
    assert (new, [{"sha": old}]) == (commit.json["sha"], commit.json["parents"])
    assert (await visitor.get("/raw/acme/tools/HEAD/README.md")).body == b"new"
    assert (await visitor.get(f"/raw/acme/tools/{old}/README.md")).body == b"# Tools"
    assert (await visitor.get("/raw/acme/tools/HEAD/skills/pdf/run.py")).status == 404


async def test_a_push_to_another_branch_leaves_the_default_one(visitor, tools):
    """A new branch starts from the default one; its name may hold slashes."""
    head = tools.sha
    sha = tools.push({"README.md": "dev"}, branch="work/dev")
    assert head == (await visitor.get("/api/repos/acme/tools/commits/HEAD")).json["sha"]
    assert sha == (await visitor.get("/api/repos/acme/tools/commits/work/dev")).json["sha"]
    assert (await visitor.get("/raw/acme/tools/work/dev/README.md")).body == b"dev"
    assert (await visitor.get("/raw/acme/tools/refs/heads/trunk/README.md")).body == b"# Tools"


async def test_an_unknown_ref_cannot_be_processed(visitor, tools):
    """GitHub answers 422 and names the ref."""
    reply = await visitor.get("/api/repos/acme/tools/commits/nowhere")
    assert (reply.status, reply.json["message"]) == (422, "No commit found for SHA: nowhere")


async def test_an_empty_repository_conflicts(visitor, world):
    """There is a repository but no commit."""
    world.add_repository("acme/empty")
    assert (await visitor.get("/api/repos/acme/empty")).status == 200
    reply = await visitor.get("/api/repos/acme/empty/commits/HEAD")
    assert (reply.status, reply.json["message"]) == (409, "Git Repository is empty.")
    assert (await visitor.get("/codeload/acme/empty/tar.gz/HEAD")).status == 404


def test_shas_are_gits_and_follow_from_the_content():
    """The same files give the same sha in another world; blobs and trees have git's own names."""
    first, second = (FakeGitHub().add_repository("a/b", {"hello.txt": "hello\n"}) for _ in range(2))
    assert first.sha == second.sha
    assert first.head.files["hello.txt"].sha == "ce013625030ba8dba906f756967f9e9ca394464a"
    assert first.head.tree.sha == "aaa96ced2d9a1c8e72c56b253a0e2fe78393feb7"
    assert first.push({"hello.txt": "bye\n"}) != second.sha


async def test_a_recursive_tree_lists_everything(visitor, tools):
    """Folders come before what they hold; only blobs have a size."""
    reply = await visitor.get(f"/api/repos/acme/tools/git/trees/{tools.sha}?recursive=1")
    assert [
        ("README.md", "100644", "blob", 7),
        ("skills", "040000", "tree", None),
        ("skills/pdf", "040000", "tree", None),
        ("skills/pdf/SKILL.md", "100644", "blob", len(SKILL)),
        ("skills/pdf/run.py", "100755", "blob", 1),
    ] == [(entry["path"], entry["mode"], entry["type"], entry.get("size")) for entry in reply.json["tree"]]
    assert (tools.head.tree.sha, False) == (reply.json["sha"], reply.json["truncated"])


async def test_a_tree_without_recursion_lists_one_folder(visitor, tools):
    """A folder below can be asked for by its own sha."""
    top = await visitor.get("/api/repos/acme/tools/git/trees/trunk")
    assert [entry["path"] for entry in top.json["tree"]] == ["README.md", "skills"]
    below = await visitor.get(f"/api/repos/acme/tools/git/trees/{top.json['tree'][1]['sha']}")
    assert [entry["path"] for entry in below.json["tree"]] == ["pdf"]
    assert (await visitor.get(f"/api/repos/acme/tools/git/trees/{'0' * 40}")).status == 404


async def test_a_large_tree_is_truncated(visitor, tools):
    """Beyond the limit the listing ends and says so."""
    tools.tree_limit = 2
    reply = await visitor.get("/api/repos/acme/tools/git/trees/HEAD?recursive=1")
    assert (len(reply.json["tree"]), reply.json["truncated"]) == (2, True)


@pytest.mark.parametrize("path", ["/api/repos/acme/tools", "/api/repos/acme/tools/commits/HEAD"])
async def test_an_unchanged_answer_is_304_and_free(visitor, world, tools, path):
    """Until a push the ETag matches and costs nothing."""
    first = await visitor.get(path, "good")
    again = await visitor.get(path, "good", If_None_Match=first.headers["ETag"])
    assert (304, b"", first.remaining) == (again.status, again.body, again.remaining)
    assert first.headers["ETag"] == again.headers["ETag"]
    assert world.count_api() == 1
    tools.push({"README.md": "new"})
    changed = await visitor.get(path, "good", If_None_Match=first.headers["ETag"])
    assert (200, first.remaining - 1) == (changed.status, changed.remaining)


async def test_an_etag_belongs_to_its_token(visitor, world, tools):
    """GitHub's ETags give no 304 with another token, unless the world is told to be kinder."""
    world.add_token("other")
    etag = (await visitor.get("/api/repos/acme/tools", "good")).headers["ETag"]
    assert (await visitor.get("/api/repos/acme/tools", "other", If_None_Match=etag)).status == 200
    world.etags_differ_by_token = False
    etag = (await visitor.get("/api/repos/acme/tools", "good")).headers["ETag"]
    assert (await visitor.get("/api/repos/acme/tools", "other", If_None_Match=etag)).status == 304


async def test_an_anonymous_304_can_be_made_to_cost(visitor, world, tools):
    """GitHub promises free 304s to authorized requests only."""
    first = await visitor.get("/api/repos/acme/tools")
    free = await visitor.get("/api/repos/acme/tools", If_None_Match=first.headers["ETag"])
    world.anonymous_304_is_free = False
    charged = await visitor.get("/api/repos/acme/tools", If_None_Match=first.headers["ETag"])
    assert [free.status, charged.status] == [304, 304]
    assert [first.remaining, first.remaining - 1] == [free.remaining, charged.remaining]


async def test_every_api_answer_tells_the_rate_limit(visitor, tools, clock):
    """All five headers, for the token's bucket, on errors too."""
    await visitor.get("/api/repos/acme/tools", "good")
    reply = await visitor.get("/api/repos/acme/nothing", "good")
    told = {name: reply.headers[f"X-RateLimit-{name}"] for name in ("Limit", "Remaining", "Used", "Resource")}
    assert told == {"Limit": "5000", "Remaining": "4998", "Used": "2", "Resource": "core"}
    assert int(clock.time) + 3600 == int(reply.headers["X-RateLimit-Reset"])


async def test_both_forms_of_authorization_use_the_tokens_bucket(visitor, tools):
    """`Bearer X` and `token X` are the same."""
    assert (await visitor.get("/api/repos/acme/tools", Authorization="Bearer good")).remaining == 4999
    assert (await visitor.get("/api/repos/acme/tools", Authorization="token good")).remaining == 4998
    assert (await visitor.get("/api/repos/acme/tools")).remaining == 59


async def test_an_unknown_token_is_bad_credentials(visitor, world, tools):
    """Also one that was revoked, and a scheme GitHub does not know."""
    world.revoke_token("good")
    for reply in (
        await visitor.get("/api/repos/acme/tools", "wrong"),
        await visitor.get("/api/repos/acme/tools", "good"),
        await visitor.get("/api/repos/acme/tools", Authorization="Basic eDp5"),
    ):
        assert (reply.status, reply.json["message"]) == (401, "Bad credentials")


async def test_an_exhausted_token_is_refused_until_its_window_ends(visitor, world, tools, clock):
    """403 with nothing remaining; other tokens go on; the clock brings it back."""
    world.add_token("small", limit=10, used=9)
    assert (await visitor.get("/api/repos/acme/tools", "small")).remaining == 0
    refused = await visitor.get("/api/repos/acme/tools", "small")
    assert (refused.status, refused.headers["x-ratelimit-remaining"]) == (403, "0")
    assert refused.json["message"].startswith("API rate limit exceeded for user ID ")
    assert (await visitor.get("/api/repos/acme/tools", "good")).status == 200
    clock.time = float(refused.headers["X-RateLimit-Reset"])
    assert (
        (again := await visitor.get("/api/repos/acme/tools", "small")).status,
        again.remaining,
    ) == (200, 9)


async def test_an_exhausted_client_without_a_token_is_refused(visitor, world, tools):
    """The anonymous bucket is the client address's; the status may be 429."""
    world.limit_anonymous(1)
    world.exhausted_status = 429
    await visitor.get("/api/repos/acme/tools")
    refused = await visitor.get("/api/repos/acme/tools")
    assert (refused.status, refused.remaining) == (429, 0)
    assert refused.json["message"].startswith("API rate limit exceeded for 127.0.0.1.")
    assert world.count_api() == 1


async def test_asking_for_the_rate_limit_is_free(visitor, world, tools):
    """It shows all three buckets, even when one is used up."""
    world.add_token("small", limit=1)
    await visitor.get("/api/repos/acme/tools", "small")
    reply = await visitor.get("/api/rate_limit", "small")
    assert reply.status == 200
    assert {name: bucket["remaining"] for name, bucket in reply.json["resources"].items()} == {
        "core": 0,
        "search": 30,
        "code_search": 10,
    }
    assert reply.json["rate"] == reply.json["resources"]["core"]
    assert world.count_api() == 1


async def test_downloads_cost_nothing(visitor, world, tools):
    """Raw, codeload and web have no rate limit and say nothing of one."""
    world.limit_anonymous(0)
    for path in ("/raw/acme/tools/HEAD/README.md", "/codeload/acme/tools/tar.gz/HEAD", "/web/acme/tools"):
        reply = await visitor.get(path)
        assert reply.status == 200
        assert "X-RateLimit-Limit" not in reply.headers
    assert world.count_api() == 0


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
async def test_repositories_are_found(visitor, found, query, names):
    """By words, qualifiers and ranges, the private ones never."""
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
async def test_code_is_found(visitor, found, query, paths):
    """By file name, size, place and words; an item names its repository."""
    reply = await visitor.get(f"/api/search/code?q={query}", "good")
    assert reply.status == 200
    assert paths == [f"{item['repository']['full_name']}:{item['path']}" for item in reply.json["items"]]


async def test_code_search_needs_a_token(visitor, found):
    """GitHub answers 401 to everybody else."""
    reply = await visitor.get("/api/search/code?q=filename:SKILL.md")
    assert (reply.status, reply.json["message"]) == (401, "Requires authentication")


async def test_search_sees_a_push_at_once(visitor, world, found):
    """Remembered searches are forgotten when anything changes."""
    path = "/api/search/code?q=filename:SKILL.md"
    before = await visitor.get(path, "good")
    world.add_repository("acme/new", {"SKILL.md": "new"})
    after = await visitor.get(path, "good")
    assert before.json["total_count"] + 1 == after.json["total_count"]


async def test_search_gives_pages_with_links(visitor, world):
    """A page is 30 unless asked otherwise; Link leads on."""
    world.add_repository("acme/many", {f"{number}/SKILL.md": "x" for number in range(45)})
    first = await visitor.get("/api/search/code?q=filename:SKILL.md", "good")
    second = await visitor.get("/api/search/code?q=filename:SKILL.md&page=2", "good")
    assert [len(first.json["items"]), len(second.json["items"])] == [30, 15]
    assert 'page=2>; rel="next"' in first.headers["Link"]
    assert 'rel="next"' not in second.headers["Link"]


async def test_search_ends_at_a_thousand_results(visitor):
    """Code search refuses the page that reaches past them, the other the page that starts past them."""
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
async def test_a_query_that_is_not_understood_fails_validation(visitor, found, query):
    """An empty one, an unknown qualifier, or a range that is none."""
    reply = await visitor.get(f"/api/search/repositories?q={query}")
    assert (reply.status, reply.json["message"]) == (422, "Validation Failed")


async def test_searches_have_their_own_buckets(visitor, found, clock):
    """10 a minute without a token, 30 with one, 10 for code; core is not touched."""
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


async def test_raw_gives_bytes(visitor, world):
    """As they are, from a branch, HEAD or a sha, also under names that need quoting."""
    repository = world.add_repository("acme/raw", {"a b/ü.bin": b"\x00\xff"})
    for ref in ("main", "HEAD", repository.sha):
        reply = await visitor.get(f"/raw/acme/raw/{ref}/a%20b/%C3%BC.bin")
        assert (reply.status, reply.body) == (200, b"\x00\xff")
    assert (await visitor.get("/raw/acme/raw/HEAD/a b/ü.bin", If_None_Match=reply.headers["ETag"])).status == 304


@pytest.mark.parametrize("path", ["acme/tools/HEAD/missing", "acme/tools/nowhere/README.md", "no/body/HEAD/x"])
async def test_raw_answers_missing_files_in_text(visitor, tools, path):
    """404 and no JSON."""
    reply = await visitor.get(f"/raw/{path}")
    assert (reply.status, reply.body) == (404, b"404: Not Found")


@pytest.mark.parametrize("ref", ["trunk", "refs/heads/trunk", "HEAD", None])
async def test_an_archive_holds_the_commit(visitor, tools, ref):
    """One top folder, the files with their modes, the sha in the global header; no length is told."""
    reply = await visitor.get(f"/codeload/acme/tools/tar.gz/{ref or tools.sha}")
    assert reply.status == 200
    assert "Content-Length" not in reply.headers
    with tarfile.open(fileobj=io.BytesIO(reply.body)) as tar:
        top = f"tools-{tools.sha}"
        assert tools.sha == tar.pax_headers["comment"]
        assert [
            top,
            f"{top}/README.md",
            f"{top}/skills",
            f"{top}/skills/pdf",
            f"{top}/skills/pdf/SKILL.md",
            f"{top}/skills/pdf/run.py",
        ] == tar.getnames()
        assert tar.extractfile(f"{top}/skills/pdf/SKILL.md").read() == SKILL
        assert tar.getmember(f"{top}/skills/pdf/run.py").mode == 0o775


async def test_a_link_is_a_link_in_tree_and_archive(visitor, world):
    """Mode 120000, and raw gives where it leads."""
    repository = world.add_repository("acme/links", {"passwd": FakeFile(b"/etc/passwd", "120000")})
    tree = await visitor.get("/api/repos/acme/links/git/trees/HEAD")
    archive = await visitor.get("/codeload/acme/links/tar.gz/HEAD")
    assert tree.json["tree"][0]["mode"] == "120000"
    with tarfile.open(fileobj=io.BytesIO(archive.body)) as tar:
        member = tar.getmember(f"links-{repository.sha}/passwd")
        assert (member.issym(), member.linkname) == (True, "/etc/passwd")


async def test_an_archive_of_an_unknown_ref_is_not_found(visitor, tools):
    """Also one in a format that is not there."""
    assert (await visitor.get("/codeload/acme/tools/tar.gz/nowhere")).status == 404
    assert (await visitor.get("/codeload/acme/tools/zip/trunk")).status == 404


async def test_a_hostile_archive_can_be_served(visitor, tools):
    """Tests supply its bytes."""
    await visitor.get("/codeload/acme/tools/tar.gz/HEAD")
    tools.archive_override = b"not an archive"
    assert (await visitor.get("/codeload/acme/tools/tar.gz/HEAD")).body == b"not an archive"


async def test_a_web_page_says_whether_a_repository_is_there(visitor, tools):
    """Small HTML, or 404."""
    reply = await visitor.get("/web/acme/tools")
    assert (reply.status, reply.headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    assert (await visitor.get("/web/acme/nothing")).status == 404


PATHS = {
    "repo": "/api/repos/acme/tools",
    "commit": "/api/repos/acme/tools/commits/HEAD",
    "tree": "/api/repos/acme/tools/git/trees/HEAD",
    "search": "/api/search/repositories?q=acme",
    "raw": "/raw/acme/tools/HEAD/README.md",
    "archive": "/codeload/acme/tools/tar.gz/HEAD",
    "web": "/web/acme/tools",
    "rate_limit": "/api/rate_limit",
}


@pytest.mark.parametrize("route", PATHS)
async def test_a_route_fails_as_often_as_told(visitor, world, tools, route):
    """And works again afterwards."""
    world.fail(route, status=503, times=2, retry_after=7, body=b"down")
    replies = [await visitor.get(PATHS[route]) for _ in range(3)]
    assert [reply.status for reply in replies] == [503, 503, 200]
    assert (replies[0].headers["Retry-After"], replies[0].body) == ("7", b"down")


async def test_failures_wait_for_their_turn(visitor, world, tools):
    """Other routes are not touched, and healing forgets them all."""
    world.fail("repo", 500)
    world.fail("repo", 502, times=None)
    assert (await visitor.get(PATHS["commit"])).status == 200
    assert [(await visitor.get(PATHS["repo"])).status for _ in range(3)] == [500, 502, 502]
    world.heal()
    assert (await visitor.get(PATHS["repo"])).status == 200


async def test_a_secondary_limit_asks_to_wait(visitor, world, tools):
    """403 with Retry-After and GitHub's words, while calls remain."""
    world.secondary_limit("commit", retry_after=2)
    reply = await visitor.get(PATHS["commit"], "good")
    assert (reply.status, reply.headers["Retry-After"], reply.remaining) == (403, "2", 4999)
    assert reply.json["message"].startswith("You have exceeded a secondary rate limit")
    assert (await visitor.get(PATHS["commit"], "good")).status == 200


@pytest.mark.parametrize("route", ["repo", "archive"])
async def test_a_connection_drops_before_the_answer(visitor, world, tools, route):
    """The client sees no status; the calls are recorded with 0. Aiohttp tries a GET twice by itself."""
    world.drop_connection(route, times=2)
    with pytest.raises(aiohttp.ClientConnectionError):
        await visitor.get(PATHS[route])
    assert [call.status for call in world.calls] == [0, 0]
    assert (await visitor.get(PATHS[route])).status == 200


@pytest.mark.parametrize("route", ["raw", "archive"])
async def test_a_connection_drops_within_the_body(visitor, world, tools, route):
    """With and without a Content-Length."""
    world.drop_connection(route, after_bytes=3)
    with pytest.raises(aiohttp.ClientPayloadError):
        await visitor.get(PATHS[route])
    assert (await visitor.get(PATHS[route])).status == 200


async def test_an_archive_can_lose_its_end(visitor, world, tools):
    """The answer is complete, the archive is not."""
    whole = await visitor.get(PATHS["archive"])
    world.truncate_archive()
    half = await visitor.get(PATHS["archive"])
    assert (200, whole.body[: len(whole.body) // 2]) == (half.status, half.body)


async def test_latency_holds_a_route_back(visitor, world, tools):
    """A client that waits less than the delay gets no answer, and others are not held up."""
    world.latency("raw", 600)
    slow = asyncio.create_task(visitor.get(PATHS["raw"]))
    assert (await visitor.get(PATHS["repo"])).status == 200
    assert not slow.done()
    slow.cancel()
    world.latency("raw", 0.001)
    assert (await visitor.get(PATHS["raw"])).status == 200


async def test_a_server_stops_although_answers_are_held_back(world, tools):
    """Whoever still waits is hung up on."""
    world.latency("raw", 600)
    async with aiohttp.ClientSession() as session:
        with serve(world) as server:
            world.reset_calls()
            waiting = asyncio.create_task(Visitor(server.base_url, session).get(PATHS["raw"]))
            while world.count("raw") == 0:
                await Visitor(server.base_url, session).get(PATHS["repo"])
        with pytest.raises(aiohttp.ClientConnectionError):
            await waiting


def test_a_route_that_does_not_exist_cannot_fail(world):
    """A misspelt route is an error and not a fault that never comes."""
    with pytest.raises(ValueError, match="no route"):
        world.fail("nothing")


async def test_calls_are_recorded(visitor, world, tools):
    """Host, route, path, status, token and whether Authorization arrived, in order."""
    await visitor.get(PATHS["repo"], "good")
    await visitor.get(PATHS["archive"])
    await visitor.get("/api/repos/acme/nothing", Authorization="Basic eDp5")
    assert [
        ("api", "repo", PATHS["repo"], 200, "good", True, True),
        ("codeload", "archive", PATHS["archive"], 200, None, False, False),
        ("api", "repo", "/api/repos/acme/nothing", 401, "Basic eDp5", True, True),
    ] == list(world.calls)


async def test_calls_are_counted(visitor, world, tools):
    """All, by route, and those that cost; until they are reset."""
    for route in ("repo", "repo", "commit", "raw"):
        await visitor.get(PATHS[route])
    assert (world.count(), world.count("repo"), world.count("raw"), world.count_api()) == (4, 2, 1, 3)
    assert (await visitor.get("/_calls")).json == {"repo": 2, "commit": 1, "raw": 1, "charged": 3}
    world.reset_calls()
    assert (world.count(), world.count_api(), list(world.calls)) == (0, 0, [])


async def test_addresses_are_given_as_settings(server):
    """One port, four prefixes."""
    assert {
        "ASSAY_GITHUB_API_URL": f"{server.base_url}/api",
        "ASSAY_GITHUB_RAW_URL": f"{server.base_url}/raw",
        "ASSAY_GITHUB_CODELOAD_URL": f"{server.base_url}/codeload",
        "ASSAY_GITHUB_WEB_URL": f"{server.base_url}/web",
    } == server.urls()


async def test_the_bench_process_serves_until_its_stdin_ends():
    """It says where it is on one line, serves skills, counts calls, and ends with its parent."""
    arguments = [
        "--repositories",
        "2",
        "--skills-per-repository",
        "3",
        "--skill-bytes",
        "500",
        "--token",
        "t",
    ]
    process = subprocess.Popen(
        [sys.executable, "-m", "assay.github.fake", *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with process:
        ready = json.loads(process.stdout.readline())
        assert process.pid == ready["pid"]
        async with aiohttp.ClientSession() as session:
            bench = Visitor(ready["base_url"], session)
            skill = await bench.get("/raw/bench-1/skills/HEAD/skills/skill-2/SKILL.md")
            assert skill.body.startswith(b"---\nname: skill-2\ndescription: ")
            assert 500 <= len(skill.body) <= 501
            tree = await bench.get("/api/repos/bench-0/skills/git/trees/HEAD?recursive=1", "t")
            assert sum(entry["type"] == "blob" for entry in tree.json["tree"]) == 1 + 3 * 3
            assert (await bench.get("/_calls")).json == {"raw": 1, "tree": 1, "charged": 1}
            async with session.post(f"{ready['base_url']}/_reset") as reset:
                assert reset.status == 200
            assert (await bench.get("/_calls")).json == {"charged": 0}
        process.stdin.close()
        assert process.wait(timeout=30) == 0
