"""`assay login`, `whoami` and `logout` against scripted registries; `tests/journeys/test_login.py` uses a real one."""

import json
import os
import select
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from assay.cli.registry.stored_logins import StoredLogin, save_login
from tests.support.cli.live import PATIENCE_SECONDS
from tests.support.cli.logins import OTHER_TOKEN, TOKEN, User, an_account
from tests.support.cli.output import one_line
from tests.support.cli.scripted import Script, ScriptedResponse, a_problem, a_script
from tests.support.processes import a_free_port
from tests.support.registry import SECRET

pytestmark = pytest.mark.process

ACCOUNT, TOKENS, CURRENT = "/api/v1/account", "/api/v1/account/tokens", "/api/v1/account/tokens/current"
EXCHANGE = "/api/v1/auth/github/exchange-for-vsk-token"
COOKIES = {"Set-Cookie": "assay_session=s3ss10n; Path=/; HttpOnly; SameSite=lax"}


@pytest.fixture
def registry(script: Script) -> Script:
    """Return a scripted registry with one account."""
    script.answers(f"GET {ACCOUNT}", ScriptedResponse(an_account()))
    script.answers(f"DELETE {CURRENT}", ScriptedResponse({"ok": True}))
    script.answers("POST /auth/sign-in", ScriptedResponse({"signedIn": True}, headers=COOKIES))
    script.answers("POST /auth/sign-out", ScriptedResponse({"signedIn": False}))
    script.answers(f"POST {TOKENS}", ScriptedResponse({"token": TOKEN, "id": "x"}))
    script.answers(f"POST {EXCHANGE}", ScriptedResponse({"token": TOKEN, "userId": "x"}))
    return script


@pytest.fixture
def user(tmp_path: Path) -> User:
    return User(tmp_path)


def stored(user: User) -> dict[str, str]:
    """Return the stored tokens by registry."""
    document = json.loads(user.credentials.read_text())
    return {url: login["token"] for url, login in document["registries"].items()}


def test_pasted_token_is_checked_and_stored_privately(registry: Script, user: User) -> None:
    """It is never printed, and only the user can read the file."""
    ran = user.assay("login", "--token-stdin", "--url", registry.url, typed=f"  {TOKEN} \n")
    assert (ran.code, ran.out) == (0, f"Signed in at {registry.url} as alice (namespace alice) until 2031-02-03.\n")
    assert ran.err == f"The token is stored in {user.credentials}, which only you can read.\n"
    assert stored(user) == {registry.url: TOKEN}
    assert stat.S_IMODE(user.credentials.stat().st_mode) == 0o600
    assert stat.S_IMODE(user.credentials.parent.stat().st_mode) == 0o700
    assert [each.name for each in user.credentials.parent.iterdir()] == ["credentials.json"]
    assert [(each.path, each.authorization) for each in registry.asked] == [(ACCOUNT, f"Bearer {TOKEN}")]


def test_password_creates_a_token_and_ends_the_session(registry: Script, user: User) -> None:
    """Writes with the cookie state that they are not from another site; neither password nor cookie is kept."""
    arguments = ("login", "--login", "alice", "--password-stdin", "--url", registry.url)
    ran = user.assay(*arguments, typed="pass word\n")
    assert (ran.code, stored(user)) == (0, {registry.url: TOKEN}), ran.err
    sign_in, create, sign_out, check = registry.asked
    assert json.loads(sign_in.body) == {"login": "alice", "password": "pass word"}
    assert json.loads(create.body)["scopes"] == ["read", "submit", "publish"]
    assert json.loads(create.body)["label"].startswith("assay login on ")
    assert [each.path for each in (create, sign_out, check)] == [TOKENS, "/auth/sign-out", ACCOUNT]
    assert {(each.site, each.cookie) for each in (create, sign_out)} == {("same-origin", "assay_session=s3ss10n")}
    assert check.cookie is None
    kept = user.credentials.read_text() + ran.out + ran.err
    assert ("pass word" in kept, "s3ss10n" in kept, TOKEN in ran.out + ran.err) == (False, False, False)


def test_scopes_of_the_new_token_can_be_chosen(registry: Script, user: User) -> None:
    """Always with `read`, which every command needs."""
    scopes = ("--scope", "moderate", "--scope", "moderate")
    arguments = ("login", "--login", "alice", "--password-stdin", *scopes, "--url", registry.url)
    assert user.assay(*arguments, typed="password\n").code == 0
    assert json.loads(registry.asked_for(TOKENS)[0].body)["scopes"] == ["read", "moderate"]


def test_github_token_is_exchanged(registry: Script, user: User) -> None:
    ran = user.assay("login", "--github-token-stdin", "--url", registry.url, typed="gho_abc\n")
    assert (ran.code, stored(user)) == (0, {registry.url: TOKEN}), ran.err
    assert json.loads(registry.asked_for(EXCHANGE)[0].body) == {"githubToken": "gho_abc"}
    assert "gho_abc" not in user.credentials.read_text()


def test_each_registry_has_its_own_login(registry: Script, user: User) -> None:
    with a_script() as other:
        other.answers(f"GET {ACCOUNT}", ScriptedResponse(an_account("bob", None)))
        for url, token in ((registry.url, TOKEN), (other.url, OTHER_TOKEN)):
            assert user.assay("login", "--token-stdin", "--url", url, typed=token).code == 0
        assert stored(user) == {registry.url: TOKEN, other.url: OTHER_TOKEN}
        assert user.assay("logout", "--url", registry.url).code == 0
        assert stored(user) == {other.url: OTHER_TOKEN}


def test_concurrent_logins_are_all_kept(user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(user.folder / "config"))
    urls = [f"https://{number}.example" for number in range(50)]
    with ThreadPoolExecutor(10) as threads:
        list(threads.map(lambda url: save_login(url, StoredLogin(url, "alice")), urls))
    assert stored(user) == {url: url for url in urls}


def test_refused_login_changes_nothing(registry: Script, user: User) -> None:
    """The message is the registry's; the former login stays."""
    user.with_login(registry.url)
    registry.answers(f"GET {ACCOUNT}", a_problem(401, "unauthenticated", "This token is unknown, revoked or expired."))
    registry.answers("POST /auth/sign-in", a_problem(401, "wrong_password", "Login or password is wrong."))
    registry.answers(f"POST {EXCHANGE}", a_problem(404, "oauth_off", "Signing in with GitHub is not configured."))
    for arguments, code, said in (
        (["--token-stdin"], 4, "This token is unknown, revoked or expired."),
        (["--login", "alice", "--password-stdin"], 4, "Login or password is wrong."),
        (["--github-token-stdin"], 3, "Signing in with GitHub is not configured."),
    ):
        ran = user.assay("login", *arguments, "--url", registry.url, typed="x" * 40)
        assert (ran.code, ran.out, one_line(ran.err)) == (code, "", said)
    assert stored(user) == {registry.url: OTHER_TOKEN}


def test_new_login_revokes_the_token_it_replaces(registry: Script, user: User) -> None:
    """Only if a login created it: a pasted one may be in use elsewhere."""
    arguments = ("login", "--token-stdin", "--url", registry.url)
    user.with_login(registry.url)
    assert user.assay(*arguments, typed=TOKEN).code == 0
    assert registry.asked_for(CURRENT) == []
    user.with_login(registry.url, isCreated=True)
    assert user.assay(*arguments, typed=TOKEN).code == 0
    assert [each.authorization for each in registry.asked_for(CURRENT)] == [f"Bearer {OTHER_TOKEN}"]


def test_created_token_that_is_not_stored_is_revoked(registry: Script, user: User) -> None:
    registry.answers(f"GET {ACCOUNT}", a_problem(403, "forbidden", "This account is disabled."))
    arguments = ("login", "--login", "alice", "--password-stdin", "--url", registry.url)
    ran = user.assay(*arguments, typed="password\n")
    assert (ran.code, ran.out, one_line(ran.err)) == (4, "", "This account is disabled.")
    assert [each.authorization for each in registry.asked_for(CURRENT)] == [f"Bearer {TOKEN}"]
    assert not user.credentials.exists()


def test_folder_that_cannot_hold_logins_is_reported_before_any_request(registry: Script, user: User) -> None:
    (user.folder / "config").write_text("not a folder")
    ran = user.assay("login", "--login", "alice", "--password-stdin", "--url", registry.url, typed="password\n")
    assert (ran.code, ran.out, registry.asked) == (2, "", [])
    assert one_line(ran.err) == f"The logins in '{user.credentials}' cannot be read: Not a directory."


@pytest.mark.parametrize(
    ("arguments", "typed", "said"),
    [
        (["--login", "a", "--token-stdin"], "", "--login, --token-stdin and --github-token-stdin are alternatives"),
        (["--scope", "read"], "", "--scope and --password-stdin require --login."),
        (["--password-stdin"], "", "--scope and --password-stdin require --login."),
        ([], TOKEN, "There is no terminal to ask for the token: use --token-stdin."),
        (["--login", "a"], "x", "There is no terminal to ask for the password: use --password-stdin."),
        (["--token-stdin"], "", "Standard input must have the token on its first line."),
        (["--token-stdin"], "x" * 10_000, "Standard input must have the token on its first line."),
        (["--token-stdin"], "vsk_a b", "A token has only letters, digits and punctuation, without spaces."),
        (["--token-stdin"], "vsk_\u00e4\x1b", "A token has only letters, digits and punctuation, without spaces."),
    ],
)
def test_invalid_use_is_one_line(registry: Script, user: User, arguments: list[str], typed: str, said: str) -> None:
    """Before any request."""
    ran = user.assay("login", *arguments, "--url", registry.url, typed=typed)
    assert (ran.code, ran.out, registry.asked) == (2, "", [])
    assert one_line(ran.err).startswith(said)
    assert not user.credentials.exists()


def test_unknown_scope_is_refused(user: User) -> None:
    ran = user.assay("login", "--login", "a", "--scope", "everything")
    assert (ran.code, "'everything' is not one of" in ran.err) == (2, True)


def test_unencrypted_connection_is_noted(user: User) -> None:
    """Except on this machine."""
    ran = user.assay("login", "--token-stdin", "--url", "http://registry.invalid", typed=TOKEN)
    first, second = ran.err.splitlines()
    assert first == (
        "The connection to http://registry.invalid is not encrypted: others on the network can read the token."
    )
    assert (ran.code, second.startswith("assay: No registry answers")) == (5, True)


def test_login_at_an_earlier_release(registry: Script, user: User) -> None:
    registry.answers(f"GET {ACCOUNT}", a_problem(404, "not_found", "There is nothing here."))
    ran = user.assay("login", "--token-stdin", "--url", registry.url, typed=TOKEN)
    assert (ran.code, one_line(ran.err)) == (
        5,
        f"{registry.url} runs an earlier release, which does not support logins: set ASSAY_TOKEN.",
    )


def test_typed_token_is_not_shown(registry: Script, user: User) -> None:
    """At a terminal."""
    leader, follower = os.openpty()
    command = [sys.executable, "-m", "assay", "login", "--url", registry.url]
    terminal = {"stdin": follower, "stdout": follower, "stderr": follower}
    process = subprocess.Popen(command, env=user.environment, start_new_session=True, **terminal)
    os.close(follower)
    seen, typed = b"", False
    try:
        while select.select([leader], [], [], PATIENCE_SECONDS)[0]:
            try:
                seen += os.read(leader, 4096)
            except OSError:  # the terminal is closed
                break
            if b"Token: " in seen and not typed:
                os.write(leader, f"{TOKEN}\n".encode())
                typed = True
        assert process.wait(PATIENCE_SECONDS) == 0, seen
    finally:
        process.kill()
        process.wait()
        os.close(leader)
    assert (TOKEN.encode() in seen, stored(user)) == (False, {registry.url: TOKEN})


def test_whoami_shows_account_and_token(registry: Script, user: User) -> None:
    namespaces = [{"name": "alice", "kind": "account"}, {"name": "acme", "kind": "github"}]
    registry.answers(f"GET {ACCOUNT}", ScriptedResponse(an_account(namespaces=namespaces)))
    user.with_login(registry.url)
    ran = user.assay("whoami", "--url", registry.url, TZ="UTC")
    assert (ran.code, ran.out.splitlines()) == (
        0,
        [
            f"alice at {registry.url}",
            "  handle:     alice",
            "  role:       USER",
            "  namespaces: alice (account), acme (github)",
            "  scopes:     read, submit, publish",
            "  expires:    2031-02-03 04:05",
            "  credential: assay login",
        ],
    )
    document = user.assay("whoami", "--url", registry.url, "--json", ASSAY_TOKEN=TOKEN).json
    assert (document["registry"], document["credential"]) == (registry.url, "setting")
    assert document["namespaces"] == namespaces
    assert document["token"] == {
        "label": "laptop",
        "scopes": ["read", "submit", "publish"],
        "namespaces": None,
        "expiresAt": "2031-02-03T04:05:06+00:00",
    }


def test_whoami_of_the_operator(registry: Script, user: User) -> None:
    operator = an_account("internal key", "local", role="SUPER_ADMIN", namespaces=[], token=None)
    registry.answers(f"GET {ACCOUNT}", ScriptedResponse(operator))
    ran = user.at_home_of(registry.url).with_key().assay("whoami")
    assert (ran.code, ran.out.splitlines()[0]) == (0, f"internal key at {registry.url}")
    assert "  credential: the internal key\n" in ran.out
    assert registry.asked[0].key == SECRET


def test_whoami_without_a_login(registry: Script, user: User) -> None:
    """Exit code 4, without a request."""
    ran = user.with_key().assay("whoami", "--url", registry.url)
    assert (ran.code, registry.asked, one_line(ran.err)) == (
        4,
        [],
        f"You are not signed in at {registry.url}: run `assay login --url {registry.url}`, or set ASSAY_TOKEN.",
    )


def test_logout_revokes_and_forgets(registry: Script, user: User) -> None:
    """A second one has nothing to do."""
    user.with_login(registry.url)
    ran = user.assay("logout", "--url", registry.url)
    assert (ran.code, ran.out, ran.err) == (0, f"Signed out of {registry.url}; the token of alice is forgotten.\n", "")
    assert [(each.method, each.path, each.authorization) for each in registry.asked] == [
        ("DELETE", CURRENT, f"Bearer {OTHER_TOKEN}")
    ]
    assert stored(user) == {}
    again = user.assay("logout", "--url", registry.url)
    assert (again.code, again.err) == (0, f"You are not signed in at {registry.url}.\n")


def test_logout_without_the_registry_forgets_the_token(user: User) -> None:
    """And says until when the token stays valid."""
    url = f"http://127.0.0.1:{a_free_port()}"
    ran = user.with_login(url).assay("logout", "--url", url)
    assert (ran.code, stored(user)) == (5, {})
    assert "The token was not revoked and stays valid until 2031-02-03.\n" in ran.err


def test_logout_with_an_invalid_token(registry: Script, user: User) -> None:
    registry.answers(f"DELETE {CURRENT}", a_problem(401, "unauthenticated", "This token is unknown."))
    ran = user.with_login(registry.url).assay("logout", "--url", registry.url, ASSAY_TOKEN=TOKEN)
    assert (ran.code, ran.err) == (0, "ASSAY_TOKEN is still set: commands use that token.\n")
    assert stored(user) == {}
