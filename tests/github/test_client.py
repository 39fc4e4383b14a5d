"""The real client over real HTTP: who we say we are, what we remember, and what each refusal means."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import aiohttp
import pytest
from pydantic import SecretStr

from assay.github.auth import ANONYMOUS, GitHubAuth
from assay.github.budget import TokenBudget
from assay.github.client import LARGEST_JSON_BYTES, GitHub, GitHubUrls
from assay.github.fake import FakeFile, FakeGitHub, FakeRepository, FakeServer, serve
from assay.model.errors import AssayError, NotFound, RateLimited, Refused, Unavailable
from assay.model.repository import Host, RepositoryName
from assay.settings import Settings
from tests.conftest import open_registry
from tests.skills import a_repository, a_skill

TOOLS = RepositoryName(Host.GITHUB, "acme", "tools")
HOUR = 3600


class Clock:
    """A clock that tests move, for GitHub and for us."""

    def __init__(self) -> None:
        self.time = 1_800_000_000.0

    def __call__(self) -> float:
        return self.time


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def world(clock: Clock) -> FakeGitHub:
    return FakeGitHub(now=clock)


@pytest.fixture
def tools(world: FakeGitHub) -> FakeRepository:
    return world.add_repository("Acme/Tools", a_repository("pdf"), default_branch="trunk", stars=7)


@pytest.fixture
def server(world: FakeGitHub) -> Iterator[FakeServer]:
    with serve(world) as server:
        yield server


@asynccontextmanager
async def a_client(server: FakeServer, clock: Clock, *tokens: str) -> AsyncIterator[GitHub]:
    """A client with these tokens."""
    urls = server.urls()
    async with aiohttp.ClientSession(headers={"User-Agent": "assay-test"}) as session:
        yield GitHub(
            session,
            GitHubUrls(*(urls[f"ASSAY_GITHUB_{host}_URL"] for host in ("API", "RAW", "CODELOAD"))),
            TokenBudget(tuple(map(GitHubAuth, tokens)), clock),
        )


@pytest.fixture
async def client(server: FakeServer, clock: Clock) -> AsyncIterator[GitHub]:
    """A client without a token."""
    async with a_client(server, clock) as client:
        yield client


async def download(client: GitHub, commit: str) -> bytes:
    """The archive of a commit."""
    async with client.open_archive(TOOLS, commit) as stream:
        return await stream.read()


async def error_of(client: GitHub, kind: type[AssayError]) -> AssayError:
    """What looking the repository up ends with."""
    with pytest.raises(kind) as raised:
        await client.get_repository(TOOLS)
    assert type(raised.value) is kind
    return raised.value


# Who we are


async def test_a_token_goes_to_api_and_raw_and_never_to_the_archives(world, tools, server, clock) -> None:
    """R37, R59: `Authorization: Bearer` to the hosts that know tokens, and to no other."""
    world.add_token("secret-token")
    async with a_client(server, clock, "secret-token") as client:
        await client.get_repository(TOOLS)
        await client.get_head_commit(TOOLS)
        await client.get_tree(TOOLS, tools.sha)
        await client.get_raw_file(TOOLS, tools.sha, "skills/pdf/SKILL.md", at_most=1000)
        await download(client, tools.sha)
    told = {(call.host, call.route): call.token for call in world.calls}
    assert told == {
        ("api", "repo"): "secret-token",
        ("api", "commit"): "secret-token",
        ("api", "tree"): "secret-token",
        ("raw", "raw"): "secret-token",
        ("codeload", "archive"): None,
    }
    assert [call.host for call in world.calls if not call.authorization] == ["codeload"]


async def test_without_a_token_no_header_is_sent(world, tools, client) -> None:
    """R38, R40, R59: the token is optional, and its absence is anonymous."""
    await client.get_repository(TOOLS)
    await client.get_head_commit(TOOLS)
    await client.get_raw_file(TOOLS, tools.sha, "skills/pdf/SKILL.md", at_most=1000)
    await download(client, tools.sha)
    assert len(world.calls) == 4
    assert not [call for call in world.calls if call.authorization]


@pytest.mark.parametrize("tokens", [(), ("first-secret-token",)])
async def test_the_token_of_the_settings_reaches_github_through_the_worker(
    settings: Settings, github: FakeGitHub, tokens: tuple[str, ...]
) -> None:
    """R37, R38, I82: from the settings through the worker to the request, or anonymous without one."""
    for token in tokens:
        github.add_token(token)
    github.add_repository("acme/tools", a_repository("pdf"))
    given = settings.model_copy(update={"github_tokens": tuple(map(SecretStr, tokens))})
    async with open_registry(given, github) as registry:
        accepted = await registry.submit("acme/tools", "pdf", "skills/pdf/SKILL.md")
        await registry.work()
        assert (await registry.read(accepted["id"]))["state"] == "PUBLISHED"
    assert {call.token for call in github.calls if call.host == "api"} == {tokens[0] if tokens else None}
    assert not [call for call in github.calls if call.host == "codeload" and call.authorization]


async def test_two_clients_at_once_keep_their_tokens_apart(world, tools, server, clock) -> None:
    """R39: a token belongs to its client, not to the process; however calls mix, each carries its own."""
    for token in ("first", "second"):
        world.add_token(token)
    world.latency("commit", 0.01)
    async with a_client(server, clock, "first") as first, a_client(server, clock, "second") as second:

        async def ask(client: GitHub, name: str) -> None:
            await client.get_head_commit(TOOLS)
            await client.get_raw_file(TOOLS, tools.sha, f"skills/{name}/SKILL.md", at_most=1000)

        tools.push({"skills/first/SKILL.md": "1", "skills/second/SKILL.md": "2"})
        await asyncio.gather(*(ask(first, "first") for _ in range(20)), *(ask(second, "second") for _ in range(20)))
    told = {(call.path.split("/")[-2], call.token) for call in world.calls if call.host == "raw"}
    assert told == {("first", "first"), ("second", "second")}
    assert [call.token for call in world.calls if call.host == "api"].count("first") == 20


async def test_a_token_never_shows_itself(server, clock) -> None:
    """I65: neither a value nor a client nor a budget prints its token."""
    async with a_client(server, clock, "secret-token") as client:
        shown = f"{client!r} {client.budget!r} {GitHubAuth('secret-token')!r} {GitHubAuth('secret-token')}"
        assert "secret-token" not in shown
        assert "***" in shown
    assert repr(ANONYMOUS) == "GitHubAuth(anonymous)"


async def test_a_token_is_not_in_the_errors_either(server, clock) -> None:
    """I65: an error is logged and shown."""
    async with a_client(server, clock, "secret-token") as client:
        error = await error_of(client, Unavailable)
    assert "secret-token" not in f"{error!r} {error} {error.details}"


# What is asked


async def test_the_repository_says_its_name_branch_and_number(tools, client) -> None:
    """I48, I73: the canonical spelling, the numeric id, and the default branch whatever it is called."""
    facts = await client.get_repository(TOOLS)
    assert (str(facts.name), facts.host_id, facts.default_branch, facts.stars) == ("Acme/Tools", tools.id, "trunk", 7)
    assert await client.get_head_commit(TOOLS) == tools.sha


async def test_an_old_name_leads_to_the_new_one(world, tools, client) -> None:
    """I48: a renamed repository is reported under its present name and the same number."""
    tools.rename("umbrella/kit")
    facts = await client.get_repository(TOOLS)
    assert (str(facts.name), facts.host_id) == ("umbrella/kit", tools.id)
    assert await client.get_head_commit(TOOLS) == tools.sha
    assert await client.get_raw_file(TOOLS, tools.sha, "skills/pdf/SKILL.md", at_most=1000) == a_skill("pdf").encode()
    assert await download(client, tools.sha)
    assert 301 in {call.status for call in world.calls}


async def test_a_tree_lists_files_with_their_sizes_and_tells_links_apart(world, client) -> None:
    """Folders are not files, and a link is not a regular one."""
    files = {"a/SKILL.md": "12345", "run.sh": FakeFile(b"x", "100755"), "link": FakeFile(b"a/SKILL.md", "120000")}
    repository = world.add_repository("acme/tools", files)
    tree = {entry.path: entry for entry in await client.get_tree(TOOLS, repository.sha)}
    assert {path: entry.size for path, entry in tree.items()} == {"a/SKILL.md": 5, "run.sh": 1, "link": 10}
    assert {path for path, entry in tree.items() if entry.is_regular} == {"a/SKILL.md", "run.sh"}


async def test_a_tree_that_is_cut_short_is_an_error(tools, client) -> None:
    """I74: a list with something missing is not a list."""
    tools.tree_limit = 1
    with pytest.raises(Unavailable) as raised:
        await client.get_tree(TOOLS, tools.sha)
    assert raised.value.code == "tree_truncated"


@pytest.mark.parametrize(
    "path", ["a b.md", "what?.md", "c#.md", "100%.md", "%20.md", "ä/ö.md", "a+b&c=d.md", "技能.md"]
)
async def test_a_raw_file_is_found_by_any_name(world, client, path) -> None:
    """Characters that mean something in a URL are quoted."""
    repository = world.add_repository("acme/tools", {path: "content"})
    assert await client.get_raw_file(TOOLS, repository.sha, path, at_most=100) == b"content"


# What is remembered


async def test_an_answer_that_has_not_changed_is_free(world, tools, server, clock) -> None:
    """R65: the second look costs no call of the budget, and a change is seen at once."""
    world.add_token("one")
    async with a_client(server, clock, "one") as client:
        first = await client.get_repository(TOOLS)
        assert await client.get_repository(TOOLS) == first
        assert [call.status for call in world.calls] == [200, 304]
        assert world.count_api() == 1
        tools.stars = 8
        assert (await client.get_repository(TOOLS)).stars == 8
        assert (await client.get_repository(TOOLS)).stars == 8
        assert [call.status for call in world.calls] == [200, 304, 200, 304]


async def test_a_new_commit_is_seen_through_the_memory(tools, client) -> None:
    """The head is asked for each time, only its answer may be an old one."""
    first = await client.get_head_commit(TOOLS)
    second = tools.push({"README.md": "new"})
    assert await client.get_head_commit(TOOLS) == second != first


async def test_each_token_has_its_own_memory(world, tools, server, clock) -> None:
    """An ETag is the token's; with another token's it would never be a 304."""
    world.add_token("rich", limit=5000)
    world.add_token("poor", limit=100)
    async with a_client(server, clock, "rich", "poor") as client:
        for _ in range(2):
            await client.get_repository(TOOLS)
        assert {call.token for call in world.calls} == {"rich", "poor"}
        world.add_token("rich", limit=60)
        await client.get_repository(TOOLS)
        await client.get_repository(TOOLS)
        statuses = {token: [call.status for call in world.calls if call.token == token] for token in ("rich", "poor")}
    assert statuses == {"rich": [200, 304], "poor": [200, 304]}


async def test_long_lists_are_not_kept(world, tools, client) -> None:
    """R64: the tree of a commit may have megabytes, and nobody asks for it twice."""
    for _ in range(2):
        await client.get_tree(TOOLS, tools.sha)
    assert [call.status for call in world.calls] == [200, 200]


# Where a redirect may lead


async def test_a_redirect_to_another_host_is_refused_and_gets_no_token(world, tools, server, clock) -> None:
    """R37: the token stays with the host it is for; the other host is not even asked."""
    world.add_token("secret-token")
    other = FakeGitHub(now=clock)
    with serve(other) as elsewhere:
        tools.rename("umbrella/kit")
        world.serve_at(elsewhere.base_url)
        async with a_client(server, clock, "secret-token") as client:
            assert (await error_of(client, Unavailable)).code == "github_redirect"
    assert [call.status for call in world.calls] == [301]
    assert other.count() == 0


async def test_a_redirect_to_another_port_or_scheme_is_another_host(world, tools, server, clock) -> None:
    """The origin counts, not the name alone."""
    tools.rename("umbrella/kit")
    for elsewhere in ("http://127.0.0.1:1", server.base_url.replace("http:", "https:"), "ftp://127.0.0.1"):
        world.serve_at(elsewhere)
        async with a_client(server, clock) as client:
            assert (await error_of(client, Unavailable)).code == "github_redirect"


async def test_a_redirect_without_a_sound_address_is_an_error(world, tools, client) -> None:
    """I33: what cannot be followed is unknown, not gone."""
    world.fail("repo", 302)
    assert (await error_of(client, Unavailable)).code == "github_redirect"
    tools.rename("umbrella/kit")
    world.serve_at("mailto:nobody")
    assert (await error_of(client, Unavailable)).code == "github_redirect"


# What each refusal means


async def test_a_repository_that_is_not_there_is_not_found(client) -> None:
    """Deleted, private or never there: GitHub does not say which."""
    assert (await error_of(client, NotFound)).code == "source_not_found"


async def test_a_private_repository_is_not_found(world, client) -> None:
    """Without a token that may see it."""
    world.add_repository("acme/tools", a_repository("pdf"), private=True)
    assert (await error_of(client, NotFound)).code == "source_not_found"


async def test_an_empty_repository_is_there_but_has_nothing(world, client) -> None:
    """409 from GitHub; its author learns that it is empty."""
    world.add_repository("acme/tools")
    await client.get_repository(TOOLS)
    with pytest.raises(NotFound) as raised:
        await client.get_head_commit(TOOLS)
    assert raised.value.code == "source_empty"
    assert "empty" in raised.value.message


async def test_a_repository_taken_down_is_said_to_be(tools, client) -> None:
    """451 is its own reason."""
    tools.blocked = True
    assert (await error_of(client, NotFound)).code == "source_taken_down"


@pytest.mark.parametrize("status", [500, 502, 503, 504, 400, 418, 204, 206, 300, 303])
async def test_every_other_answer_is_unknown_not_gone(world, tools, client, status) -> None:
    """I33, I74: only a plain no is a no; and only 200 is a yes."""
    world.fail("repo", status)
    assert (await error_of(client, Unavailable)).code == "github_unavailable"
    assert (await client.get_repository(TOOLS)).stars == 7


async def test_a_refusal_to_show_something_is_neither_a_limit_nor_an_absence(world, tools, client) -> None:
    """I33, I74: 403 with calls left; asked again later, it may be different."""
    world.fail("repo", 403)
    assert (await error_of(client, Refused)).code == "github_forbidden"
    assert (await client.get_repository(TOOLS)).stars == 7


async def test_what_is_gone_for_good_is_said_to_be(world, tools, client) -> None:
    """410 is its own reason."""
    world.fail("repo", 410)
    assert (await error_of(client, NotFound)).code == "source_gone"


@pytest.mark.parametrize("status", [303, 206, 500])
async def test_a_raw_file_is_taken_from_nothing_but_success(world, tools, client, status) -> None:
    """The body of an odd answer must not become the content of a file."""
    world.fail("raw", status, body="<html>")
    with pytest.raises(Unavailable):
        await client.get_raw_file(TOOLS, tools.sha, "skills/pdf/SKILL.md", at_most=1000)


@pytest.mark.parametrize("body", ["", "not json", "[]", "null", '{"id": "x"}', '{"id": 1}', b"\xff\xfe", "[" * 100_000])
async def test_an_answer_that_makes_no_sense_is_unknown(world, tools, client, body) -> None:
    """I33: and it is not remembered."""
    world.fail("repo", 200, body=body)
    assert (await error_of(client, Unavailable)).code == "github_unavailable"
    assert (await client.get_repository(TOOLS)).stars == 7


async def test_a_dropped_connection_is_unknown(world, tools, client) -> None:
    """I33: within the answer, or before it however often it is asked."""
    world.drop_connection("repo", after_bytes=10)
    await error_of(client, Unavailable)
    world.drop_connection("repo", times=None)
    await error_of(client, Unavailable)
    world.drop_connection("archive", after_bytes=10)
    with pytest.raises(Unavailable):
        await download(client, tools.sha)
    world.drop_connection("raw", times=None)
    with pytest.raises(Unavailable):
        await client.get_raw_file(TOOLS, tools.sha, "skills/pdf/SKILL.md", at_most=1000)


async def test_a_server_that_is_not_there_is_unknown(clock) -> None:
    """I33: nobody listens."""
    async with a_client(FakeServer("http://127.0.0.1:1"), clock) as client:
        assert (await error_of(client, Unavailable)).code == "github_unavailable"


async def test_a_slow_answer_is_given_up(world, tools, server, clock) -> None:
    """I33: every wait has an end, and the end is "unknown"."""
    world.latency("repo", 30)
    async with (
        a_client(server, clock) as client,
        aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=0.05), headers={"User-Agent": "assay-test"}) as hasty,
    ):
        client.session = hasty
        assert (await error_of(client, Unavailable)).code == "github_unavailable"


async def test_an_oversized_answer_is_refused(world, tools, client) -> None:
    """R64: an endless answer does not fill the memory."""
    world.fail("repo", 200, body=b"[" + b" " * LARGEST_JSON_BYTES + b"]")
    assert (await error_of(client, Unavailable)).code == "too_large"


async def test_a_raw_file_is_never_longer_than_asked_for(world, client) -> None:
    """R64: exactly the size is fine, one byte more is not."""
    repository = world.add_repository("acme/tools", {"SKILL.md": "x" * 1000})
    assert len(await client.get_raw_file(TOOLS, repository.sha, "SKILL.md", at_most=1000)) == 1000
    with pytest.raises(Unavailable) as raised:
        await client.get_raw_file(TOOLS, repository.sha, "SKILL.md", at_most=999)
    assert raised.value.code == "too_large"


# Limits


async def test_a_used_up_limit_says_when_to_come_back(world, tools, clock, client) -> None:
    """I74, R65: the wait is GitHub's, and until then nobody is asked again."""
    world.limit_anonymous(2)
    await client.get_repository(TOOLS)
    await client.get_head_commit(TOOLS)
    clock.time += 100
    error = await error_of(client, RateLimited)
    assert error.retry_after_seconds == HOUR - 100
    calls = world.count()
    await error_of(client, RateLimited)
    assert world.count() == calls
    clock.time += HOUR
    assert (await client.get_repository(TOOLS)).stars == 7


@pytest.mark.parametrize("status", [403, 429])
async def test_a_limit_used_up_by_others_is_a_limit_too(world, tools, client, clock, status) -> None:
    """I74: also when the first answer of all is the refusal; never "not found"."""
    world.exhausted_status = status
    world.limit_anonymous(0)
    error = await error_of(client, RateLimited)
    assert error.retry_after_seconds == HOUR
    assert "rate limit" in error.message


async def test_a_request_to_go_slower_is_honoured_to_the_second(world, tools, client, clock) -> None:
    """R65: `Retry-After` of a secondary limit; nothing is sent before it is over."""
    world.secondary_limit("repo", retry_after=17)
    assert (await error_of(client, RateLimited)).retry_after_seconds == 17
    clock.time += 16
    assert (await error_of(client, RateLimited)).retry_after_seconds == 1
    assert world.count() == 1
    clock.time += 1
    assert (await client.get_repository(TOOLS)).stars == 7


async def test_a_request_to_go_slower_without_a_time_means_a_minute(world, tools, client) -> None:
    """GitHub's own advice."""
    world.secondary_limit("repo", retry_after=None)
    assert (await error_of(client, RateLimited)).retry_after_seconds == 60


async def test_too_many_requests_for_raw_files_or_archives_is_a_limit(world, tools, server, clock) -> None:
    """I74: these hosts have limits of their own, and say 429."""
    world.fail("raw", 429, retry_after=5)
    world.fail("archive", 429)
    async with a_client(server, clock) as client:
        with pytest.raises(RateLimited) as raised:
            await client.get_raw_file(TOOLS, tools.sha, "skills/pdf/SKILL.md", at_most=1000)
        assert raised.value.retry_after_seconds == 5
    async with a_client(server, clock) as client:
        with pytest.raises(RateLimited) as raised:
            await download(client, tools.sha)
        assert raised.value.retry_after_seconds == 60


async def test_raw_files_cost_no_calls_of_the_budget(world, tools, client) -> None:
    """Hundreds of files of a large repository come through although few calls are left, or none."""
    world.limit_anonymous(2)
    await client.get_repository(TOOLS)
    await client.get_head_commit(TOOLS)
    for _ in range(5):
        await client.get_raw_file(TOOLS, tools.sha, "skills/pdf/SKILL.md", at_most=1000)
    await error_of(client, RateLimited)
    await client.get_raw_file(TOOLS, tools.sha, "skills/pdf/SKILL.md", at_most=1000)


# Several tokens


async def test_a_token_that_is_used_up_makes_way_for_another(world, tools, server, clock) -> None:
    """R65: as long as one token has calls left, nobody waits; then the wait is that of the first to come back."""
    world.add_token("empty", limit=10, used=10)
    world.add_token("full", limit=3)
    async with a_client(server, clock, "empty", "full") as client:
        assert (await client.get_repository(TOOLS)).stars == 7
        assert [(call.token, call.status) for call in world.calls] == [("empty", 403), ("full", 200)]
        clock.time += 600
        await client.get_head_commit(TOOLS)
        await client.get_tree(TOOLS, tools.sha)
        assert {call.token for call in world.calls[2:]} == {"full"}
        error = await error_of(client, RateLimited)
        assert error.retry_after_seconds == HOUR - 600


async def test_the_token_with_most_calls_left_is_used(world, tools, server, clock) -> None:
    """R65: budgets are learnt from `X-RateLimit-Remaining` and spent evenly."""
    world.add_token("low", limit=20)
    world.add_token("high", limit=5000)
    async with a_client(server, clock, "low", "high") as client:
        for _ in range(2):
            await client.get_tree(TOOLS, tools.sha)
        world.reset_calls()
        for _ in range(10):
            await client.get_tree(TOOLS, tools.sha)
    assert {call.token for call in world.calls} == {"high"}


async def test_tokens_of_which_nothing_is_known_share_the_first_burst(world, tools, server, clock) -> None:
    """Two hundred at once do not all fall on one token."""
    for token in ("one", "two", "three"):
        world.add_token(token)
    world.latency("tree", 0.05)
    async with a_client(server, clock, "one", "two", "three") as client:
        await asyncio.gather(*(client.get_tree(TOOLS, tools.sha) for _ in range(30)))
    used = [call.token for call in world.calls]
    assert {used.count(token) for token in ("one", "two", "three")} == {10}


async def test_a_revoked_token_makes_way_for_another(world, tools, server, clock) -> None:
    """One bad token among several costs one call, not the fetch."""
    world.add_token("revoked")
    world.add_token("good")
    world.revoke_token("revoked")
    async with a_client(server, clock, "revoked", "good") as client:
        assert (await client.get_repository(TOOLS)).stars == 7
        await client.get_head_commit(TOOLS)
        await client.get_tree(TOOLS, tools.sha)
    assert [(call.token, call.status) for call in world.calls] == [
        ("revoked", 401),
        ("good", 200),
        ("good", 200),
        ("good", 200),
    ]


async def test_only_bad_tokens_is_our_fault_not_the_authors(world, tools, server, clock) -> None:
    """I33, I74: neither "not found" nor a rate limit, and it is tried again later."""
    async with a_client(server, clock, "misspelt", "revoked") as client:
        assert (await error_of(client, Unavailable)).code == "github_bad_token"
        assert world.count() == 2
        assert (await error_of(client, Unavailable)).code == "github_bad_token"
        assert world.count() == 2
        world.add_token("revoked")
        clock.time += HOUR
        assert (await client.get_repository(TOOLS)).stars == 7
