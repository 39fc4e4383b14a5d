"""`assay admin`: administrators created beside the database."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from assay.accounts.passwords import verify_password
from assay.store.database.database import Database, open_database
from assay.store.people.accounts import find_local_account
from tests.support.cli.up import clean_environment
from tests.support.registry import SECRET, Registry
from tests.support.warm import run_assay
from tests.support.web.people import a_browser, audit_of, sign_in, signed_in

pytestmark = pytest.mark.process

PASSWORD = "a password with spaces and ümlauts"
OTHER_PASSWORD = "another good password"
COMMAND = [sys.executable, "-m", "assay", "admin"]


@pytest.fixture
def environment(database_url: str, tmp_path: Path) -> dict[str, str]:
    """Return an operator's settings."""
    secrets = {f"ASSAY_{name}": SECRET for name in ("INTERNAL_KEY", "JWT_SECRET", "WEBHOOK_SECRET")}
    return clean_environment(ASSAY_DATABASE_URL=database_url, ASSAY_DATA_DIR=str(tmp_path / "data"), **secrets)


def run(environment: dict[str, str], *arguments: str, typed: str | None = None) -> subprocess.CompletedProcess[str]:
    """Run the command with this standard input."""
    return run_assay("admin", *arguments, env=environment, typed=typed or "", seconds=60)


async def stored(store: Database, login: str) -> str | None:
    """Return the stored password hash."""
    async with store.begin() as db:
        found = await find_local_account(db, login)
    return found[1] if found else None


async def test_create_list_and_disable(environment: dict[str, str], registry: Registry) -> None:
    """G81: no default account exists; a login has one password until it is disabled."""
    await signed_in(registry.app, "boss", admin=True)
    await signed_in(registry.app, "user")
    made = run(environment, "create", "Root", "--password-stdin", typed=f"{PASSWORD}\n")
    assert (made.returncode, made.stdout, made.stderr) == (0, "Root can sign in.\n", "")
    taken = run(environment, "create", "ROOT", "--password-stdin", typed=OTHER_PASSWORD)
    assert (taken.returncode, "An administrator ROOT already exists" in taken.stderr) == (4, True)
    listed = [line.split("│")[1:5] for line in run(environment, "list").stdout.splitlines() if "│" in line]
    assert [(row[0].strip(), row[1].strip()) for row in listed] == [("boss", "GitHub"), ("Root", "a password")]
    async with a_browser(registry.app) as browser:
        assert (await sign_in(browser, "root", PASSWORD)).status_code == 303
        closed = run(environment, "disable", "root")
        assert (closed.returncode, closed.stdout) == (0, "root can no longer sign in.\n")
        assert (await sign_in(browser, "root", PASSWORD)).status_code == 401
        again = run(environment, "disable", "root")
        assert (again.returncode, again.stderr) == (3, "assay: There is no enabled account root.\n")
        assert run(environment, "create", "root", "--password-stdin", typed=OTHER_PASSWORD).returncode == 0
        assert (await sign_in(browser, "root", PASSWORD)).status_code == 401
        assert (await sign_in(browser, "root", OTHER_PASSWORD)).status_code == 303
    assert await audit_of(registry.app, "account_created", "account_disabled", "account_enabled") == [
        ("boss", "account_created", "boss"),
        ("user", "account_created", "user"),
        ("command line", "account_created", "Root"),
        ("command line", "account_disabled", "Root"),
        ("command line", "account_enabled", "root"),
    ]


async def test_invalid_input_is_one_line(environment: dict[str, str], database_url: str) -> None:
    """G92: nothing is created, and the password is not printed."""
    for login, typed, said in [
        ("root", "too short", "A password must have 12 to 1024 characters."),
        ("no spaces", PASSWORD, "login: use 1 to 64 letters"),
    ]:
        answer = run(environment, "create", login, "--password-stdin", typed=typed)
        assert (answer.returncode, answer.stderr.count("\n")) == (2, 1)
        assert said in answer.stderr
        assert typed not in answer.stderr + answer.stdout
        async with open_database(database_url) as store:
            assert await stored(store, login) is None


async def test_password_prompt_hides_and_confirms(environment: dict[str, str], database_url: str) -> None:
    number, leader = pty.fork()
    if number == 0:
        os.execve(COMMAND[0], [*COMMAND, "create", "root"], environment)
    shown = b""
    # The space appears once the terminal stops echoing input.
    for question, typed in [
        (b"Password: ", "mistyped password"),
        (b"Repeat the password: ", PASSWORD),
        (b"Password: ", PASSWORD),
        (b"Repeat the password: ", PASSWORD),
        (b"can sign in", None),
    ]:
        seen = len(shown)
        while question not in shown[seen:]:
            shown += os.read(leader, 1024)
        if typed is not None:
            os.write(leader, f"{typed}\n".encode())
    assert os.waitpid(number, 0)[1] == 0
    os.close(leader)
    assert PASSWORD.encode() not in shown
    assert b"mistyped" not in shown
    async with open_database(database_url) as store:
        assert verify_password(PASSWORD, await stored(store, "root"))


def test_password_from_a_pipe_needs_its_option(environment: dict[str, str]) -> None:
    """A script without the option does not hang on a prompt."""
    answer = run(environment, "create", "root", typed=PASSWORD)
    assert (answer.returncode, "--password-stdin" in answer.stderr) == (2, True)


async def test_role_is_set_and_listed(environment: dict[str, str], registry: Registry) -> None:
    """By login or id, in any case; the settings decide about administrators of GitHub."""
    await signed_in(registry.app, "Judge")
    done = run(environment, "role", "judge", "reviewer")
    assert (done.returncode, done.stdout, done.stderr) == (0, "Judge has the role REVIEWER.\n", "")
    assert run(environment, "create", "root", "--password-stdin", typed=PASSWORD).returncode == 0
    rows = [line.split("│")[1:4] for line in run(environment, "list").stdout.splitlines() if "│" in line]
    assert [(row[0].strip(), row[2].strip()) for row in rows] == [("Judge", "REVIEWER"), ("root", "SUPER_ADMIN")]
    for account, role, status, said in [
        ("judge", "SUPER_ADMIN", 4, "ASSAY_ADMIN_LOGINS"),
        ("nobody", "MEMBER", 3, "There is no account nobody."),
        ("judge", "OWNER", 2, "OWNER"),
    ]:
        refused = run(environment, "role", account, role)
        assert (refused.returncode, said in refused.stderr) == (status, True), refused.stderr
    await signed_in(registry.app, "ROOT")
    several = run(environment, "role", "root", "MEMBER")
    assert (several.returncode, "Give an id" in several.stderr) == (4, True)
    number = several.stderr.partition(" (github)")[0].rpartition(" ")[2]
    assert run(environment, "role", number, "MEMBER").returncode == 0
    assert await audit_of(registry.app, "role_changed") == [
        ("command line", "role_changed", "Judge"),
        ("command line", "role_changed", "ROOT"),
    ]
