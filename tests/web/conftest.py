"""Fixtures for tests that act as people in a browser."""

from collections.abc import AsyncIterator

import pytest

from assay.app.app import App
from assay.settings import Settings
from tests.support.fake_github import FakeGitHub
from tests.support.registry import open_registry
from tests.support.web.people import MovableTime, an_admin


@pytest.fixture
def time() -> MovableTime:
    return MovableTime()


@pytest.fixture
async def app(settings: Settings, github: FakeGitHub, time: MovableTime) -> AsyncIterator[App]:
    """Return a registry with one administrator, `root`."""
    async with open_registry(settings, github, time.clock) as opened:
        await an_admin(opened.app)
        yield opened.app
