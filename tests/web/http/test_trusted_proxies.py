"""Forwarded addresses are believed only from trusted proxies."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from assay.cli.web import server_config
from assay.settings import Settings
from tests.support.processes import until
from tests.support.registry import Registry
from tests.support.web.people import with_settings
from tests.support.web.process import a_web

SUBMIT = "/api/v1/submissions"


@asynccontextmanager
async def a_client(registry: Registry, folder: Path, *trusted: str) -> AsyncIterator[httpx.AsyncClient]:
    """Run a web process with these trusted proxies; each address may submit two skills."""
    app = with_settings(registry.app, trusted_proxies=trusted, limit_skills_anonymous=2)
    with a_web(replace(registry, app=app), folder) as web:
        await until(web.is_ready)
        async with httpx.AsyncClient(base_url=web.url, timeout=60) as client:
            yield client


async def submit(client: httpx.AsyncClient, registry: Registry, forwarded: str) -> int:
    body = {"repoUrl": f"{registry.web_url}/acme/tools", "skillName": "some-skill"}
    return (await client.post(SUBMIT, json=body, headers={"X-Forwarded-For": forwarded})).status_code


@pytest.mark.process
async def test_forged_address_is_not_believed(
    registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """G110: not even from loopback, or because of an environment variable of the server."""
    monkeypatch.setenv("FORWARDED_ALLOW_IPS", "*")
    async with a_client(registry, tmp_path) as client:
        codes = [await submit(client, registry, f"203.0.113.{each}") for each in range(3)]
    assert (codes[0] in (200, 201), codes[2]) == (True, 429)


@pytest.mark.process
async def test_address_behind_a_trusted_proxy_is_counted(registry: Registry, tmp_path: Path) -> None:
    """G110: the last address that is not a proxy, whatever the caller wrote before it."""
    async with a_client(registry, tmp_path, "127.0.0.1", "10.0.0.0/8") as client:
        for forwarded in ("198.51.100.1, 203.0.113.7", "198.51.100.2, 203.0.113.7, 10.0.0.9"):
            assert await submit(client, registry, forwarded) in (200, 201)
        assert await submit(client, registry, "198.51.100.3, 203.0.113.7") == 429
        assert await submit(client, registry, "203.0.113.7, 203.0.113.8") == 200
        assert await submit(client, registry, "") == 200


def test_forwarded_headers_are_ignored_by_default() -> None:
    """Also on a socket for IPv6, an IPv4 proxy is recognised."""

    async def app(*_: object) -> None: ...

    default = Settings.from_mapping({})
    assert server_config(app, default.trusted_networks).proxy_headers is False
    trusting = Settings.from_mapping({"ASSAY_TRUSTED_PROXIES": "10.0.0.0/8, ::1"})
    config = server_config(app, trusting.trusted_networks)
    assert config.proxy_headers
    assert set(config.forwarded_allow_ips) == {"10.0.0.0/8", "::1/128", "::ffff:10.0.0.0/104"}
