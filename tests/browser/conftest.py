"""A browser, a window of it, and a registry that it can reach."""

from collections.abc import AsyncIterator

import pytest
from playwright.async_api import Browser, Page, async_playwright

from tests.browser.chromium import find
from tests.conftest import Registry
from tests.streams import serving

FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@pytest.fixture
async def url(registry: Registry) -> AsyncIterator[str]:
    """The registry on a real port."""
    async with serving(registry.app) as address:
        yield address


@pytest.fixture
async def browser() -> AsyncIterator[Browser]:
    """A browser that nobody has signed in with."""
    async with async_playwright() as playwright:
        opened = await playwright.chromium.launch(executable_path=find(), args=list(FLAGS))
        yield opened
        await opened.close()


@pytest.fixture
async def page(browser: Browser) -> AsyncIterator[Page]:
    """An empty page that must not say anything on its console."""
    complaints: list[str] = []
    opened = await browser.new_page()
    opened.on("console", lambda message: complaints.append(message.text))
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    yield opened
    assert complaints == []
