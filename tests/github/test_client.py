"""The GitHub client over HTTP: credentials, requests, caching and redirects."""

import asyncio

import pytest
from pydantic import SecretStr

from assay.github.auth import ANONYMOUS, GitHubAuth
from assay.github.client import GitHub
from assay.model.errors import Unavailable
from assay.settings import Settings
from tests.support.fake_github import FakeFile, FakeGitHub, serve
from tests.support.github.clients import TOOLS, a_client, download, error_of
from tests.support.registry import open_registry
from tests.support.skills import a_repository, a_skill

# Credentials


async def test_token_is_sent_to_api_and_raw_only(world, tools, server, clock) -> None:
    """G32: not to the archive host."""
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


async def test_anonymous_requests_have_no_authorization(world, tools, client) -> None:
    """G32."""
    await client.get_repository(TOOLS)
    await client.get_head_commit(TOOLS)
    await client.get_raw_file(TOOLS, tools.sha, "skills/pdf/SKILL.md", at_most=1000)
    await download(client, tools.sha)
    assert len(world.calls) == 4
    assert not [call for call in world.calls if call.authorization]


@pytest.mark.process
@pytest.mark.parametrize("tokens", [(), ("first-secret-token",)])
async def test_configured_token_is_used_by_the_worker(
    settings: Settings, github: FakeGitHub, tokens: tuple[str, ...]
) -> None:
    """G32."""
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


async def test_clients_keep_their_tokens_apart(world, tools, server, clock) -> None:
    """G32."""
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


async def test_token_is_never_printed(server, clock) -> None:
    """G84."""
    async with a_client(server, clock, "secret-token") as client:
        shown = f"{client!r} {client.budget!r} {GitHubAuth('secret-token')!r} {GitHubAuth('secret-token')}"
        assert "secret-token" not in shown
        assert "***" in shown
    assert repr(ANONYMOUS) == "GitHubAuth(anonymous)"


async def test_token_is_not_in_errors(server, clock) -> None:
    """G84."""
    async with a_client(server, clock, "secret-token") as client:
        error = await error_of(client, Unavailable)
    assert "secret-token" not in f"{error!r} {error} {error.details}"


# Requests


async def test_repository_facts(tools, client) -> None:
    """G38, G54: canonical name, numeric id, default branch."""
    facts = await client.get_repository(TOOLS)
    assert (str(facts.name), facts.host_id, facts.default_branch, facts.stars) == ("Acme/Tools", tools.id, "trunk", 7)
    assert await client.get_head_commit(TOOLS) == tools.sha


async def test_old_name_resolves_to_the_new_one(world, tools, client) -> None:
    """G54."""
    tools.rename("umbrella/kit")
    facts = await client.get_repository(TOOLS)
    assert (str(facts.name), facts.host_id) == ("umbrella/kit", tools.id)
    assert await client.get_head_commit(TOOLS) == tools.sha
    assert await client.get_raw_file(TOOLS, tools.sha, "skills/pdf/SKILL.md", at_most=1000) == a_skill("pdf").encode()
    assert await download(client, tools.sha)
    assert 301 in {call.status for call in world.calls}


async def test_tree_lists_files_with_sizes_and_links(world, client) -> None:
    files = {"a/SKILL.md": "12345", "run.sh": FakeFile(b"x", "100755"), "link": FakeFile(b"a/SKILL.md", "120000")}
    repository = world.add_repository("acme/tools", files)
    tree = {entry.path: entry for entry in await client.get_tree(TOOLS, repository.sha)}
    assert {path: entry.size for path, entry in tree.items()} == {"a/SKILL.md": 5, "run.sh": 1, "link": 10}
    assert {path for path, entry in tree.items() if entry.is_regular} == {"a/SKILL.md", "run.sh"}


async def test_truncated_tree_is_an_error(tools, client) -> None:
    """G37."""
    tools.tree_limit = 1
    with pytest.raises(Unavailable) as raised:
        await client.get_tree(TOOLS, tools.sha)
    assert raised.value.code == "tree_truncated"


@pytest.mark.parametrize(
    "path", ["a b.md", "what?.md", "c#.md", "100%.md", "%20.md", "ä/ö.md", "a+b&c=d.md", "技能.md"]
)
async def test_raw_file_names_are_quoted(world, client, path) -> None:
    repository = world.add_repository("acme/tools", {path: "content"})
    assert await client.get_raw_file(TOOLS, repository.sha, path, at_most=100) == b"content"


# Caching


async def test_unchanged_response_is_free(world, tools, server, clock) -> None:
    """G35."""
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


async def test_new_commit_is_seen_despite_the_cache(tools, client) -> None:
    first = await client.get_head_commit(TOOLS)
    second = tools.push({"README.md": "new"})
    assert await client.get_head_commit(TOOLS) == second != first


async def test_each_token_has_its_own_cache(world, tools, server, clock) -> None:
    """ETags belong to a token."""
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


async def test_long_lists_are_not_cached(world, tools, client) -> None:
    """G39."""
    for _ in range(2):
        await client.get_tree(TOOLS, tools.sha)
    assert [call.status for call in world.calls] == [200, 200]


# Redirects


async def test_redirect_to_another_host_is_rejected(world, tools, server, clock) -> None:
    """G32: the other host gets neither a request nor the token."""
    world.add_token("secret-token")
    other = FakeGitHub(now=clock)
    with serve(other) as elsewhere:
        tools.rename("umbrella/kit")
        world.serve_at(elsewhere.base_url)
        async with a_client(server, clock, "secret-token") as client:
            assert (await error_of(client, Unavailable)).code == "github_redirect"
    assert [call.status for call in world.calls] == [301]
    assert other.count() == 0


async def test_redirect_to_another_port_or_scheme_is_rejected(world, tools, server, clock) -> None:
    tools.rename("umbrella/kit")
    for elsewhere in ("http://127.0.0.1:1", server.base_url.replace("http:", "https:"), "ftp://127.0.0.1"):
        world.serve_at(elsewhere)
        async with a_client(server, clock) as client:
            assert (await error_of(client, Unavailable)).code == "github_redirect"


async def test_invalid_redirect_is_an_error(world, tools, client) -> None:
    """G36."""
    world.fail("repo", 302)
    assert (await error_of(client, Unavailable)).code == "github_redirect"
    tools.rename("umbrella/kit")
    world.serve_at("mailto:nobody")
    assert (await error_of(client, Unavailable)).code == "github_redirect"
