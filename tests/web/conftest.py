"""What tests of people at their browsers share."""

from collections.abc import AsyncIterator

import pytest

from assay.app.opened import App
from assay.github.fake import FakeGitHub
from assay.settings import Settings
from tests.conftest import open_registry
from tests.web.people import MovableTime, an_admin


@pytest.fixture
def time() -> MovableTime:
    """The time of the registry."""
    return MovableTime()


@pytest.fixture
async def app(settings: Settings, github: FakeGitHub, time: MovableTime) -> AsyncIterator[App]:
    """A registry with one administrator, `root`."""
    async with open_registry(settings, github, time.clock) as opened:
        await an_admin(opened.app)
        yield opened.app
