"""Signing in at a real registry, uploading to one's own namespace, and signing out."""

import json
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from tests.support.cli.live import Live, assay
from tests.support.cli.logins import User
from tests.support.cli.output import one_line
from tests.support.cli.skills_here import written
from tests.support.skills import a_repository, a_skill

pytestmark = pytest.mark.process

PASSWORD = "correct horse battery staple"


@pytest.fixture
def user(live: Live, tmp_path: Path, request: pytest.FixtureRequest) -> User:
    """Return a user of another machine with an account at the registry, whose login is that of the test."""
    login = request.node.name.replace("_", "-")[5:30].strip("-")
    created = assay("admin", "create", login, "--password-stdin", environment=live.environment, typed=PASSWORD)
    assert created.code == 0, created.err
    return User(tmp_path, {"LOGNAME": login})


def sign_in(user: User, live: Live, *options: str) -> None:
    arguments = ("login", "--login", user.settings["LOGNAME"], "--password-stdin", "--url", live.url)
    ran = user.assay(*arguments, *options, typed=PASSWORD)
    assert ran.code == 0, ran.err


def status_with(url: str, token: str) -> int:
    """Return the status of the account route for a token."""
    request = urllib.request.Request(f"{url}/api/v1/account", headers={"Authorization": f"Bearer {token}"})
    try:
        return urllib.request.urlopen(request, timeout=30).status
    except urllib.error.HTTPError as refused:
        return refused.code


def test_upload(live: Live, user: User, tmp_path: Path) -> None:
    """Refused before the login; then in the user's own namespace."""
    login, to = user.settings["LOGNAME"], ("--url", live.url)
    skill = str(written(tmp_path / "greet", {"SKILL.md": a_skill("greet")}))
    refused = user.assay("submit", skill, *to)
    assert (refused.code, f"`assay login --url {live.url}`" in one_line(refused.err)) == (4, True)
    sign_in(user, live)
    me = user.assay("whoami", *to, "--json").json
    assert (me["login"], me["handle"], me["token"]["scopes"]) == (login, login, ["read", "submit", "publish"])
    sent = user.assay("submit", skill, *to, "--wait")
    assert (sent.code, f"Acting as {login} (namespace {login}).\n" in sent.err) == (0, True), sent.err + sent.out
    assert f"greet: {live.url}/skills/{login}/uploads/greet\n" in sent.out


def test_repository_is_submitted_without_a_login(live: Live, user: User) -> None:
    live.github.add_repository("stranger/tools", files=a_repository("pdf"))
    web = live.environment["ASSAY_GITHUB_WEB_URL"]
    ran = user.assay("submit", f"{web}/stranger/tools", "--url", live.url, "--wait")
    assert (ran.code, "Acting" in ran.err) == (0, False), ran.err


def test_scopes(live: Live, user: User) -> None:
    """An administrator's login manages the queue only with the scope `admin`."""
    sign_in(user, live)
    refused = user.assay("queue", "resume", "--url", live.url)
    assert (refused.code, refused.out) == (4, "")
    sign_in(user, live, "--scope", "admin")
    allowed = user.assay("queue", "resume", "--url", live.url)
    assert (allowed.code, allowed.out) == (0, "The queue was not paused.\n"), allowed.err


def test_logout(live: Live, user: User) -> None:
    """The token is revoked at the registry; so is one that a second login replaces. No session stays open."""
    tokens = []
    for _ in range(2):
        sign_in(user, live)
        (entry,) = json.loads(user.credentials.read_text())["registries"].values()
        tokens.append(entry["token"])
    assert [status_with(live.url, each) for each in tokens] == [401, 200]
    ran = user.assay("logout", "--url", live.url)
    assert (ran.code, ran.err) == (0, "")
    assert status_with(live.url, tokens[1]) == 401
    again = user.assay("whoami", "--url", live.url)
    assert (again.code, one_line(again.err).startswith("You are not signed in at")) == (4, True)


def test_wrong_password(live: Live, user: User) -> None:
    arguments = ("login", "--login", user.settings["LOGNAME"], "--password-stdin", "--url", live.url)
    ran = user.assay(*arguments, typed="not the password")
    assert (ran.code, ran.out, user.credentials.exists()) == (4, "", False)
    assert "`assay login" not in one_line(ran.err)


def test_operator_of_the_machine(live: Live) -> None:
    ran = live.assay("whoami", "--json")
    assert (ran.code, ran.json["login"], ran.json["handle"]) == (0, "internal key", "local")
    assert (ran.json["credential"], ran.json["token"]) == ("internal_key", None)
