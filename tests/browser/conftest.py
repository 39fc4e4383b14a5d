"""A browser, a page, and a registry on a port."""

import re
import subprocess
import tempfile
from collections.abc import AsyncIterator, Iterator
from threading import Thread

import pytest
from playwright.async_api import Browser, Page, async_playwright

from tests.support.chromium import find
from tests.support.registry import Registry
from tests.support.streams import serving

FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--headless",
    "--remote-debugging-port=0",
)


@pytest.fixture
async def url(registry: Registry) -> AsyncIterator[str]:
    """Serve the registry on a real port."""
    async with serving(registry.app) as address:
        yield address


@pytest.fixture(scope="session")
def chromium() -> Iterator[str]:
    """Start a browser shared by all tests of this process and return its address."""
    path = find()
    assert path, "There is no browser: run `make test`."
    with tempfile.TemporaryDirectory(prefix="assay-chromium-", ignore_cleanup_errors=True) as folder:
        command = [path, *FLAGS, f"--user-data-dir={folder}", "about:blank"]
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
            assert process.stderr is not None
            listening = (re.search(r"DevTools listening on (ws://\S+)", line) for line in process.stderr)
            address = next(found[1] for found in listening if found)
            # Drain its output, or it would block.
            Thread(target=process.stderr.read, daemon=True).start()
            yield address
            process.terminate()


@pytest.fixture
async def browser(chromium: str) -> AsyncIterator[Browser]:
    """Return a browser context without cookies."""
    async with async_playwright() as playwright:
        opened = await playwright.chromium.connect_over_cdp(chromium)
        yield opened
        await opened.close()


@pytest.fixture
async def page(browser: Browser) -> AsyncIterator[Page]:
    """Return an empty page that fails the test on console messages."""
    complaints: list[str] = []
    opened = await browser.new_page()
    opened.on("console", lambda message: complaints.append(message.text))
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    yield opened
    assert complaints == []
