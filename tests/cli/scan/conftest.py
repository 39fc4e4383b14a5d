"""Every scan test starts in an empty folder."""

from pathlib import Path

import pytest

from tests.support.fake_github import FakeServer


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the working directory, in an environment without registry settings."""
    for name in ("ASSAY_DATABASE_URL", "ASSAY_CONFIG", "ASSAY_DATA_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def web(github_server: FakeServer, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the base URL of repositories."""
    for name, value in github_server.urls().items():
        monkeypatch.setenv(name, value)
    return github_server.urls()["ASSAY_GITHUB_WEB_URL"]
