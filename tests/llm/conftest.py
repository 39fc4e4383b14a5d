"""A registry with a judge: the fake endpoint on loopback, and clocks that do not make anybody wait."""

from collections.abc import AsyncIterator, Iterator

import pytest

from assay.settings import Settings
from tests.support.fake_github import FakeGitHub
from tests.support.fake_llm import FakeModel, serve_model
from tests.support.registry import Registry, open_registry


@pytest.fixture
def model() -> Iterator[FakeModel]:
    """A model that answers well until it is told otherwise."""
    with serve_model(FakeModel()) as served:
        yield served


@pytest.fixture
def judged_settings(settings: Settings, model: FakeModel) -> Settings:
    """The settings of a registry that asks this model, and pays for it."""
    return Settings.model_validate(
        {
            **settings.model_dump(),
            "llm_url": model.url,
            "llm_model": "fake-1",
            "llm_api_key": "key-of-the-fake",
            "llm_prompt_price": 2.0,
            "llm_completion_price": 8.0,
            "llm_pause_seconds": 0,
            "llm_timeout_seconds": 5,
        }
    )


@pytest.fixture
async def judged(judged_settings: Settings, github: FakeGitHub) -> AsyncIterator[Registry]:
    """A registry with a judge."""
    async with open_registry(judged_settings, github) as opened:
        yield opened
