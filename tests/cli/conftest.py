"""What the tests of the command line share."""

from collections.abc import Iterator

import pytest

from tests.support.cli.live import Live, a_live_registry
from tests.support.cli.scripted import Script, a_script


@pytest.fixture(scope="module")
def live(postgres_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """A registry of real processes; tests keep apart by the names of their repositories."""
    with a_live_registry(postgres_url, tmp_path_factory.mktemp("live")) as registry:
        yield registry


@pytest.fixture
def script() -> Iterator[Script]:
    """Something in the place of a registry."""
    with a_script() as answering:
        yield answering
