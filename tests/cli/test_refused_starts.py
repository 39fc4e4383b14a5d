"""A start that cannot work ends at once, with one line that names the cause."""

import re
import socket
from pathlib import Path

import asyncpg
import pytest

from assay.store.database.migrate import head
from tests.cli.test_up import clean_environment
from tests.support.cli.skills_here import RULE, written
from tests.support.fake_github import FakeServer
from tests.support.registry import SECRET
from tests.support.warm import run_assay

SECRETS = {"ASSAY_INTERNAL_KEY": SECRET, "ASSAY_JWT_SECRET": SECRET, "ASSAY_WEBHOOK_SECRET": SECRET}


def start(command: str, data: Path, **settings: str) -> tuple[int, str]:
    """Exit code and standard error of a start that fails."""
    environment = clean_environment(**{"ASSAY_DATA_DIR": str(data), "ASSAY_PORT": "0"} | settings)
    finished = run_assay(command, env=environment, seconds=60)
    assert finished.stdout == ""
    assert finished.stderr.count("\n") == 1, finished.stderr
    return finished.returncode, finished.stderr.removeprefix("assay: ").rstrip("\n")


def test_a_port_in_use_is_named(tmp_path: Path) -> None:
    """The line says which address, and which setting to change."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, line = start("up", tmp_path, ASSAY_PORT=str(port))
    assert code == 4
    assert line == f"The address 127.0.0.1:{port} is already in use: set ASSAY_PORT or ASSAY_HOST to another."


@pytest.mark.parametrize("command", ["up", "worker"])
def test_a_database_that_does_not_answer_is_named(tmp_path: Path, command: str) -> None:
    """A URL that leads nowhere ends the start; the password in it is not printed."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    url = f"postgresql://user:hunter2@127.0.0.1:{port}/assay"
    code, line = start(command, tmp_path, ASSAY_DATABASE_URL=url, **SECRETS)
    assert code == 5
    assert "database" in line
    assert "hunter2" not in line


async def test_a_database_that_does_not_exist_is_named(tmp_path: Path, database_url: str) -> None:
    """The server answers, but not for this database: the line has PostgreSQL's own words."""
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
def test_a_bad_setting_is_named(tmp_path: Path, settings: dict[str, str], line: str) -> None:
    """G92: a missing, short or malformed setting stops the start and names the variable."""
    code, said = start("up", tmp_path, **settings)
    assert code == 2
    assert said.startswith(line)


@pytest.mark.parametrize("command", ["up", "web", "worker", "replay"])
def test_rules_that_cannot_be_used_are_named(tmp_path: Path, command: str) -> None:
    """The setting, the file and the rule, before a database is asked for anything."""
    rules = written(tmp_path / "house", {"house.toml": RULE.format(severity="awful")})
    given = {"ASSAY_DATABASE_URL": "postgresql://nobody@127.0.0.1:9/assay", **SECRETS}
    code, line = start(command, tmp_path, ASSAY_RULESET=str(rules), **given)
    assert (code, line.startswith("ASSAY_RULESET: house.toml: rule HR-001: ")) == (2, True), line
    code, line = start(command, tmp_path, ASSAY_RULESET=str(tmp_path / "nowhere"), **given)
    assert (code, line) == (2, f"ASSAY_RULESET: There is no such folder of rules: '{tmp_path / 'nowhere'}'.")


@pytest.mark.parametrize("command", ["up", "web", "worker", "migrate"])
async def test_a_newer_schema_is_refused(tmp_path: Path, database_url: str, command: str) -> None:
    """An old release must not write into a schema that it does not know."""
    connection = await asyncpg.connect(database_url)
    await connection.execute("UPDATE alembic_version SET version_num = '9999'")
    await connection.close()
    code, line = start(command, tmp_path, ASSAY_DATABASE_URL=database_url, **SECRETS)
    assert code == 4
    assert line == f"The database schema 9999 is newer than this release, which knows {head()}: upgrade Assay."


async def test_an_older_schema_asks_for_a_migration(tmp_path: Path, database_url: str) -> None:
    """Web and worker do not change the schema; they say who does."""
    connection = await asyncpg.connect(database_url)
    await connection.execute("DELETE FROM alembic_version")
    await connection.close()
    code, line = start("worker", tmp_path, ASSAY_DATABASE_URL=database_url, **SECRETS)
    assert code == 4
    assert line.endswith(f"this release needs {head()}: run `assay migrate`.")


def demo(*arguments: str, **settings: str) -> tuple[int, str]:
    """Exit code and standard error of a demo that fails."""
    finished = run_assay("demo", *arguments, env=clean_environment(**settings), seconds=60)
    return finished.returncode, finished.stderr


def test_demo_without_a_registry_says_what_to_start() -> None:
    """The first thing a newcomer may do wrong gets a helpful answer."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    said = f"assay: No Assay answers at http://127.0.0.1:{port}: start it with `make up`.\n"
    assert demo(ASSAY_PORT=str(port)) == (5, said)


def test_demo_with_a_wrong_address_says_so(github_server: FakeServer) -> None:
    """Nonsense is refused by name; a server that is something else is not mistaken for a registry."""
    assert demo("--url", "nonsense") == (2, "assay: --url must look like http://127.0.0.1:8000, not 'nonsense'.\n")
    url = github_server.base_url
    assert demo("--url", url) == (5, f"assay: What answers at {url} is not a healthy Assay.\n")
