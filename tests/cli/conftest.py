"""Fixtures for tests of the command line."""

from collections.abc import Iterator

import pytest

from tests.support.cli.live import Live, a_live_registry
from tests.support.cli.scripted import Script, a_script


@pytest.fixture(scope="module")
def live(postgres_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """Start a registry of real processes; tests use different repository names to stay apart."""
    with a_live_registry(postgres_url, tmp_path_factory.mktemp("live")) as registry:
        yield registry


@pytest.fixture
def script() -> Iterator[Script]:
    """Serve scripted responses in place of a registry."""
    with a_script() as answering:
        yield answering
