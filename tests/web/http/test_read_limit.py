"""Anonymous reads are limited in each process, by address, at almost no cost."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import pytest
from litestar.types import ASGIApp

from assay.app.app import App
from assay.web.app import create_app
from assay.web.http.read_limit import ReadLimit
from tests.support.registry import SECRET
from tests.support.web.people import MovableTime, a_browser, cookies_of, signed_in, with_settings

LIST = "/api/v1/skills"


@asynccontextmanager
async def a_client(process: ASGIApp, address: str = "192.0.2.1") -> AsyncIterator[httpx.AsyncClient]:
    async with a_browser(process, address=(address, 1)) as client:
        client.headers["accept"] = "application/json"
        yield client


async def codes(client: httpx.AsyncClient, number: int, path: str = LIST) -> list[int]:
    return [(await client.get(path)).status_code for _ in range(number)]


async def test_reads_of_an_address_are_limited(app: App, time: MovableTime) -> None:
    """Pages and API together; the allowance refills steadily, and other addresses and processes have their own."""
    process = create_app(with_settings(app, limit_reads=6))
    async with a_client(process, "2001:db8::1") as client, a_client(process, "2001:db8::2") as same:
        assert await codes(client, 3) + await codes(same, 2, "/") == [200] * 5
        assert (await client.head(LIST)).status_code == 200
        refused = await same.get(LIST)
        assert (refused.status_code, refused.json()["code"]) == (429, "too_many_attempts")
        assert "6 reads per minute" in refused.json()["detail"]
        assert 0 < int(refused.headers["retry-after"]) <= 10
        time.pass_by(20.5)
        assert await codes(client, 3) == [200, 200, 429]
        time.pass_by(3_600)
        assert await codes(client, 7) == [200] * 6 + [429]
    async with a_client(process, "2001:db8:0:1::1") as other:
        assert await codes(other, 1) == [200]
    async with a_client(create_app(with_settings(app, limit_reads=6)), "2001:db8::1") as elsewhere:
        assert await codes(elsewhere, 1) == [200]


async def test_refused_read_of_a_page_is_a_page(app: App) -> None:
    process = create_app(with_settings(app, limit_reads=1))
    async with a_browser(process) as browser:
        await browser.get("/")
        refused = await browser.get("/")
    assert (refused.status_code, refused.headers["content-type"]) == (429, "text/html; charset=utf-8")


async def test_known_callers_and_probes_may_read_more(app: App) -> None:
    """Sessions, the internal key, probes, metrics and static files are exempt."""
    process, person = create_app(with_settings(app, limit_reads=1)), cookies_of(await signed_in(app))
    async with a_client(process) as client:
        assert await codes(client, 2) == [200, 429]
        for path in ("/healthz", "/readyz", "/metrics", "/static/assay.css"):
            assert await codes(client, 2, path) == [200, 200], path
        client.headers["X-Internal-Key"] = "wrong"
        assert await codes(client, 1) == [429]
        client.headers["X-Internal-Key"] = SECRET
        assert await codes(client, 3) == [200] * 3
        del client.headers["X-Internal-Key"]
        client.cookies.update(person)
        assert await codes(client, 3) == [200] * 3


async def test_zero_turns_the_limit_off(app: App) -> None:
    async with a_client(create_app(with_settings(app, limit_reads=0))) as client:
        assert set(await codes(client, 50)) == {200}


@pytest.mark.parametrize("number", [3, 1_000])
def test_memory_is_bounded(number: int) -> None:
    """The address that was not seen for longest is forgotten first."""
    limit = ReadLimit(per_minute=1, max_addresses=3)
    assert limit.take("192.0.2.1", 0) == 0
    for each in range(number):
        limit.take(f"198.51.{each // 256}.{each % 256}", 0)
        assert limit.take("192.0.2.1", 0) == 60
    assert len(limit) == 3
    assert limit.take("192.0.2.1", -3_600) == 60
