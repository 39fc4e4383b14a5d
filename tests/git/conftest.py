"""A git server, and a registry that accepts its repositories."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from assay.settings import Settings
from tests.support.fake_github import FakeGitHub
from tests.support.git_server import GitServer, serve_git
from tests.support.registry import Registry, open_registry


@pytest.fixture
def server(tmp_path: Path) -> Iterator[GitServer]:
    with serve_git(tmp_path / "repositories") as server:
        yield server


@pytest.fixture
async def registry(settings: Settings, github: FakeGitHub, server: GitServer) -> AsyncIterator[Registry]:
    """Return a registry that accepts repositories of the git server."""
    async with open_registry(settings.model_copy(update={"git_hosts": (server.host,)}), github) as opened:
        yield opened
