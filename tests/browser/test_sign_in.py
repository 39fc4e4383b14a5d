"""Sessions in a real browser: cookies, redirects and form origins."""

import asyncio
from collections.abc import AsyncIterator

import pytest
import uvicorn
from litestar import MediaType, get, post
from litestar.params import URLEncodedBody
from playwright.async_api import Browser, Page, Route

from assay.accounts.sessions import ACCESS_SECONDS
from assay.settings import Settings
from assay.web.app import build_routes, create_app
from assay.web.http.access import ADMIN
from assay.web.people.json import SignInBody
from tests.support.fake_github import FakeGitHub
from tests.support.registry import open_registry
from tests.support.web.people import PASSWORD, MovableTime, an_admin

pytestmark = pytest.mark.browser

FORM = "<form method=post action=/admin/note><input name=login aria-label=Note><button>Note it</button></form>"
EVIL = "http://evil.example/"


@get("/admin/desk", opt=ADMIN, media_type=MediaType.HTML)
async def desk() -> str:
    """An admin page."""
    return f"<!doctype html><title>Desk</title>{FORM}"


@post("/admin/note", opt=ADMIN, media_type=MediaType.HTML)
async def note(data: URLEncodedBody[SignInBody]) -> str:
    """Handle its form."""
    return f"<!doctype html><title>Noted</title>Noted: {data.login}"


@pytest.fixture
def time() -> MovableTime:
    """Return the registry's clock."""
    return MovableTime()


@pytest.fixture
async def url(settings: Settings, github: FakeGitHub, time: MovableTime) -> AsyncIterator[str]:
    """Serve a registry with an administrator and an admin page."""
    async with open_registry(settings, github, time.clock) as registry:
        await an_admin(registry.app)
        routes = build_routes()
        routes.register(desk)
        routes.register(note)
        served = create_app(registry.app, routes=routes)
        server = uvicorn.Server(uvicorn.Config(served, port=0, log_config=None, lifespan="off"))
        serving = asyncio.create_task(server.serve())
        while not server.started:
            await asyncio.sleep(0.01)
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
        server.should_exit = True
        await serving


@pytest.fixture
async def page(browser: Browser) -> Page:
    """Return a page that tolerates console messages, because rejections are logged there."""
    return await browser.new_page()


async def test_sign_in_stay_signed_in_and_sign_out(url: str, page: Page, time: MovableTime) -> None:
    """G80: without script; an expired token is refreshed unnoticed, and form input is kept."""
    await page.goto(f"{url}/admin/desk")
    assert page.url == f"{url}/sign-in?next=%2Fadmin%2Fdesk"
    await page.get_by_label("Login").fill("root")
    await page.get_by_label("Password").fill(PASSWORD)
    await page.get_by_role("button", name="Sign in").click()
    await page.wait_for_url(f"{url}/admin/desk")

    time.pass_by(ACCESS_SECONDS + 1)
    await page.reload()
    assert (page.url, await page.title()) == (f"{url}/admin/desk", "Desk")

    await page.get_by_label("Note").fill("typed before the token was over")
    time.pass_by(ACCESS_SECONDS + 1)
    await page.get_by_role("button", name="Note it").click()
    await page.wait_for_url(f"{url}/admin/note")
    assert "Noted: typed before the token was over" in await page.locator("body").inner_text()

    await page.goto(f"{url}/skills")
    await page.get_by_role("button", name="Sign out").click()
    await page.wait_for_url(f"{url}/")
    assert await page.get_by_role("link", name="Sign in").count() == 1
    assert await page.context.cookies() == []


async def test_cross_site_forms_are_rejected(url: str, page: Page, time: MovableTime) -> None:
    async def answer(route: Route) -> None:
        fields = f"<input name=login value=root><input name=password value='{PASSWORD}'>"
        forms = [f"<form method=post action={url}{path}>{fields}<button>{path}</button></form>" for path in PATHS]
        await route.fulfill(content_type="text/html", body="".join(forms))

    await page.route(f"{EVIL}**", answer)
    for path in PATHS:
        await page.goto(EVIL)
        await page.get_by_role("button", name=path).click()
        await page.wait_for_url(f"{url}/**")
        assert await page.context.cookies() == []
    await page.goto(f"{url}/sign-in")
    await page.get_by_label("Login").fill("root")
    await page.get_by_label("Password").fill(PASSWORD)
    await page.get_by_role("button", name="Sign in").click()
    await page.wait_for_url(f"{url}/")
    for path in PATHS:
        await page.goto(EVIL)
        await page.get_by_role("button", name=path).click()
        await page.wait_for_url(f"{url}/**")
        assert "Noted" not in await page.locator("body").inner_text()
    await page.goto(f"{url}/")
    assert await page.get_by_role("button", name="Sign out").count() == 1


PATHS = ("/admin/note", "/sign-in", "/auth/refresh", "/auth/sign-out")
