"""GitHub Apps: installation tokens are fetched, cached, renewed and budgeted."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, generate_private_key

from assay.github.auth import AppOptions
from assay.github.client import GitHub
from assay.github.identities import open_identities
from assay.github.token_budget import TokenBudget
from assay.model.errors import Invalid, RateLimited, Unavailable
from assay.settings import Settings
from tests.support.fake_github import FakeGitHub, FakeServer, serve
from tests.support.github.clients import TOOLS, ManualClock, urls_of
from tests.support.registry import SECRET, open_registry
from tests.support.skills import a_repository

HOUR = 3600


@pytest.fixture(scope="module")
def key() -> RSAPrivateKey:
    return generate_private_key(65537, 2048)


@pytest.fixture
def key_file(key: RSAPrivateKey, tmp_path: Path) -> Path:
    file = tmp_path / "app.pem"
    form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    file.write_bytes(key.private_bytes(*form))
    return file


@pytest.fixture
def public_key(key: RSAPrivateKey) -> str:
    form = (serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    return key.public_key().public_bytes(*form).decode()


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def world(clock: ManualClock, public_key: str) -> FakeGitHub:
    world = FakeGitHub(now=clock)
    world.add_app("42", public_key, 7, 8)
    world.add_repository("acme/tools", a_repository("pdf"), stars=7)
    return world


@pytest.fixture
def server(world: FakeGitHub) -> Iterator[FakeServer]:
    with serve(world) as server:
        yield server


@asynccontextmanager
async def a_client(
    server: FakeServer, clock: ManualClock, key_file: Path, *installations: int, tokens: tuple[str, ...] = ()
) -> AsyncIterator[GitHub]:
    """Return a client that is an App, with optional further identities."""
    urls = urls_of(server)
    async with aiohttp.ClientSession(headers={"User-Agent": "assay-test"}) as session:
        app = AppOptions("42", key_file, installations)
        yield GitHub(session, urls, TokenBudget(open_identities(tokens, app, session, urls.api, clock), clock))


async def test_concurrent_requests_share_one_installation_token(world, server, clock, key_file) -> None:
    """G32."""
    async with a_client(server, clock, key_file, 7) as client:
        await asyncio.gather(*(client.get_repository(TOOLS) for _ in range(20)))
    assert world.count("installation") == 1
    assert {call.token for call in world.calls if call.route == "repo"} == {"ghs_7_1"}


async def test_token_is_renewed_before_it_expires(world, server, clock, key_file) -> None:
    async with a_client(server, clock, key_file, 7) as client:
        for minutes in (0, 50, 6, 30):
            clock.time += minutes * 60
            assert (await client.get_repository(TOOLS)).stars == 7
    assert [call.status for call in world.calls if call.status == 401] == []
    assert [call.token for call in world.calls if call.route == "repo"] == ["ghs_7_1", "ghs_7_1", "ghs_7_2", "ghs_7_2"]


async def test_revoked_token_is_fetched_again(world, server, clock, key_file) -> None:
    async with a_client(server, clock, key_file, 7) as client:
        await client.get_repository(TOOLS)
        world.revoke_token("ghs_7_1")
        clock.time += 120
        assert (await client.get_repository(TOOLS)).stars == 7
    assert world.count("installation") == 2


async def test_installations_and_tokens_share_the_load(world, server, clock, key_file) -> None:
    """G33."""
    commit = world.directory.find("acme/tools")[0].sha
    world.add_token("plain", limit=5000)
    async with a_client(server, clock, key_file, 7, 8, tokens=("plain",)) as client:
        for _ in range(9):
            await client.get_tree(TOOLS, commit)
    used = [call.token for call in world.calls if call.route == "tree"]
    assert {used.count(token) for token in ("plain", "ghs_7_1", "ghs_8_2")} == {3}


async def test_unknown_app_falls_back_to_a_token(world, server, clock, key_file) -> None:
    world.add_token("plain")
    async with a_client(server, clock, key_file, 99, tokens=("plain",)) as client:
        for _ in range(3):
            assert (await client.get_repository(TOOLS)).stars == 7
    assert world.count("installation") == 1
    world.apps.known.clear()
    async with a_client(server, clock, key_file, 7) as client:
        with pytest.raises(Unavailable) as raised:
            await client.get_repository(TOOLS)
        assert raised.value.code == "github_bad_token"


async def test_unavailable_installation_token_is_a_delay(world, server, clock, key_file) -> None:
    """G36."""
    world.fail("installation", 502)
    async with a_client(server, clock, key_file, 7) as client:
        with pytest.raises(RateLimited) as raised:
            await client.get_repository(TOOLS)
        clock.time += raised.value.retry_after_seconds
        assert (await client.get_repository(TOOLS)).stars == 7


@pytest.mark.process
async def test_configured_app_is_used_by_the_worker(
    settings: Settings, github: FakeGitHub, key_file: Path, public_key: str
) -> None:
    """G32."""
    github.add_app("42", public_key, 7)
    github.add_repository("acme/tools", a_repository("pdf"))
    update = {"github_app_id": "42", "github_app_key_file": key_file, "github_app_installations": (7,)}
    async with open_registry(settings.model_copy(update=update), github) as registry:
        accepted = await registry.submit("acme/tools", "pdf", "skills/pdf/SKILL.md")
        await registry.work()
        assert (await registry.read(accepted["id"]))["state"] == "PUBLISHED"
    assert {call.token for call in github.calls if call.route == "repo"} == {"ghs_7_1"}


async def test_app_can_search_code(settings: Settings, github: FakeGitHub, key_file: Path, public_key: str) -> None:
    """G90."""
    github.add_app("42", public_key, 7)
    github.add_repository("acme/tools", a_repository("pdf"))
    app = {"github_app_id": "42", "github_app_key_file": key_file, "github_app_installations": (7,)}
    update = app | {"discovery_sources": ("code-search", "marketplaces")}
    async with open_registry(settings.model_copy(update=update), github) as registry:
        asked = await registry.client.post(
            "/api/v1/admin/discovery", json={"dryRun": True}, headers={"X-Internal-Key": SECRET}
        )
    found = {each["source"]: each["newRepositories"] for each in asked.json()["runs"]}
    assert {"code-search": ["acme/tools"], "marketplaces": []} == found


@pytest.mark.parametrize("content", [None, b"", b"-----BEGIN NONSENSE-----", b"secret"])
async def test_unreadable_app_key_is_reported(server, clock, tmp_path, content) -> None:
    """G84: without its content."""
    file = tmp_path / "app.pem"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(Invalid) as raised:
        async with a_client(server, clock, file, 7):
            pass
    assert raised.value.code == "bad_setting"
    assert "ASSAY_GITHUB_APP_KEY_FILE" in raised.value.message
    assert "secret" not in raised.value.message


def test_incomplete_app_settings_are_rejected() -> None:
    with pytest.raises(Invalid, match="set all or none"):
        Settings.from_mapping({"ASSAY_GITHUB_APP_ID": "42"})
    with pytest.raises(Invalid, match="ASSAY_GITHUB_APP_INSTALLATIONS"):
        Settings.from_mapping({"ASSAY_GITHUB_APP_INSTALLATIONS": "seven"})
    whole = {"ID": "42", "KEY_FILE": "/app.pem", "INSTALLATIONS": "7, 8"}
    settings = Settings.from_mapping({f"ASSAY_GITHUB_APP_{name}": value for name, value in whole.items()})
    assert settings.github_app == AppOptions("42", Path("/app.pem"), (7, 8))
