"""Failed starts exit at once with one line that names the cause."""

import re
import socket
from pathlib import Path

import asyncpg
import pytest

from assay.store.database.migrate import head
from tests.support.cli.skills_here import RULE, written
from tests.support.cli.up import clean_environment
from tests.support.fake_github import FakeServer
from tests.support.registry import SECRET
from tests.support.warm import run_assay

pytestmark = pytest.mark.process

SECRETS = {"ASSAY_INTERNAL_KEY": SECRET, "ASSAY_JWT_SECRET": SECRET, "ASSAY_WEBHOOK_SECRET": SECRET}


def start(command: str, data: Path, **settings: str) -> tuple[int, str]:
    """Return exit code and standard error of a failing start."""
    environment = clean_environment(**{"ASSAY_DATA_DIR": str(data), "ASSAY_PORT": "0"} | settings)
    finished = run_assay(command, env=environment, seconds=60)
    assert finished.stdout == ""
    assert finished.stderr.count("\n") == 1, finished.stderr
    return finished.returncode, finished.stderr.removeprefix("assay: ").rstrip("\n")


def test_port_in_use_is_reported(tmp_path: Path) -> None:
    """With the address and the setting to change."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, line = start("up", tmp_path, ASSAY_PORT=str(port))
    assert code == 4
    assert line == f"The address 127.0.0.1:{port} is already in use: set ASSAY_PORT or ASSAY_HOST to another."


@pytest.mark.parametrize("command", ["up", "worker"])
def test_unreachable_database_is_reported(tmp_path: Path, command: str) -> None:
    """Without the password of its URL."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    url = f"postgresql://user:hunter2@127.0.0.1:{port}/assay"
    code, line = start(command, tmp_path, ASSAY_DATABASE_URL=url, **SECRETS)
    assert code == 5
    assert "database" in line
    assert "hunter2" not in line


async def test_missing_database_is_reported(tmp_path: Path, database_url: str) -> None:
    """With PostgreSQL's message."""
    url = re.sub(r"/test_\w+\?", "/nowhere?", database_url)
    code, line = start("worker", tmp_path, ASSAY_DATABASE_URL=url, **SECRETS)
    assert code == 5
    assert line == 'The database does not answer. (database "nowhere" does not exist)'


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        ({"ASSAY_DATABASE_URL": "mysql://x/y"}, "ASSAY_DATABASE_URL: must look like postgresql://"),
        ({"ASSAY_DATABASE_URL": "postgresql://host"}, "ASSAY_DATABASE_URL: must name a database"),
        ({"ASSAY_DATABASE_URL": "postgresql://h/d"}, "ASSAY_INTERNAL_KEY, ASSAY_JWT_SECRET, ASSAY_WEBHOOK_SECRET: req"),
        ({"ASSAY_JWT_SECRET": "short"}, "ASSAY_JWT_SECRET: must have at least 32 characters"),
        ({"ASSAY_INTERNAL_KEY_PREVIOUS": "short"}, "ASSAY_INTERNAL_KEY_PREVIOUS: must have at least 32 characters"),
        ({"ASSAY_OAUTH_CLIENT_ID": "x"}, "ASSAY_OAUTH_CLIENT_ID, ASSAY_OAUTH_CLIENT_SECRET: set both or neither"),
        ({"ASSAY_PORT": "http"}, "ASSAY_PORT: "),
        ({"ASSAY_WORKER_BATCH": "1000"}, "ASSAY_WORKER_BATCH: "),
        ({"ASSAY_PROT": "80"}, "ASSAY_PROT: there is no such setting"),
    ],
)
def test_invalid_setting_is_reported(tmp_path: Path, settings: dict[str, str], line: str) -> None:
    """G92: with the name of the variable."""
    code, said = start("up", tmp_path, **settings)
    assert code == 2
    assert said.startswith(line)


@pytest.mark.parametrize("command", ["up", "web", "worker", "replay"])
def test_unusable_rules_are_reported(tmp_path: Path, command: str) -> None:
    """Setting, file and rule, before the database is used."""
    rules = written(tmp_path / "house", {"house.toml": RULE.format(severity="awful")})
    given = {"ASSAY_DATABASE_URL": "postgresql://nobody@127.0.0.1:9/assay", **SECRETS}
    code, line = start(command, tmp_path, ASSAY_RULESET=str(rules), **given)
    assert (code, line.startswith("ASSAY_RULESET: house.toml: rule HR-001: ")) == (2, True), line
    code, line = start(command, tmp_path, ASSAY_RULESET=str(tmp_path / "nowhere"), **given)
    assert (code, line) == (2, f"ASSAY_RULESET: There is no rule folder '{tmp_path / 'nowhere'}'.")


@pytest.mark.parametrize("command", ["up", "web", "worker", "migrate"])
async def test_newer_schema_is_rejected(tmp_path: Path, database_url: str, command: str) -> None:
    connection = await asyncpg.connect(database_url)
    await connection.execute("UPDATE alembic_version SET version_num = '9999'")
    await connection.close()
    code, line = start(command, tmp_path, ASSAY_DATABASE_URL=database_url, **SECRETS)
    assert code == 4
    assert line == f"The database schema 9999 is newer than this release, which knows {head()}: upgrade Assay."


async def test_older_schema_requires_a_migration(tmp_path: Path, database_url: str) -> None:
    connection = await asyncpg.connect(database_url)
    await connection.execute("DELETE FROM alembic_version")
    await connection.close()
    code, line = start("worker", tmp_path, ASSAY_DATABASE_URL=database_url, **SECRETS)
    assert code == 4
    assert line.endswith(f"this release needs {head()}: run `assay migrate`.")


def demo(*arguments: str, **settings: str) -> tuple[int, str]:
    """Return exit code and standard error of a failing demo."""
    finished = run_assay("demo", *arguments, env=clean_environment(**settings), seconds=60)
    return finished.returncode, finished.stderr


def test_demo_without_a_registry() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    said = f"assay: No registry answers at http://127.0.0.1:{port}: start it with `make up`, or set --url.\n"
    assert demo(ASSAY_PORT=str(port)) == (5, said)


def test_demo_with_a_wrong_address(github_server: FakeServer) -> None:
    assert demo("--url", "nonsense") == (2, "assay: --url must look like http://127.0.0.1:8000, not 'nonsense'.\n")
    url = github_server.base_url
    assert demo("--url", url) == (5, f"assay: The server at {url} does not respond like an Assay registry.\n")
