"""The credentials that commands send, and in whose name they say that they act."""

import os
from pathlib import Path

import pytest

from assay.cli.registry.address import registry_url
from assay.cli.registry.credentials import acting_credential
from tests.support.cli.logins import OTHER_TOKEN, TOKEN, User, an_account
from tests.support.cli.output import one_line
from tests.support.cli.responses import ID, a_detail, a_page, an_acceptance, some_stats
from tests.support.cli.scripted import Script, ScriptedResponse, a_problem
from tests.support.cli.skills_here import written
from tests.support.cli.uploads import UPLOAD
from tests.support.registry import SECRET
from tests.support.skills import a_skill

pytestmark = pytest.mark.process

PAUSE = "/api/v1/admin/queue/pause"
SUBMIT, BULK = "/api/v1/submissions", "/api/v1/submissions/bulk"
KEY, BY_TOKEN, BY_LOGIN, NOTHING = (
    (SECRET, None),
    (None, f"Bearer {TOKEN}"),
    (None, f"Bearer {OTHER_TOKEN}"),
    (None,) * 2,
)
OPERATOR = "Acting as the operator of this registry (namespace local).\n"
ALICE = "Acting as alice (namespace alice).\n"


@pytest.fixture
def registry(script: Script) -> Script:
    """Return a scripted registry that accepts everything."""
    for path in (SUBMIT, UPLOAD):
        script.answers(f"POST {path}", ScriptedResponse(an_acceptance(), status=201))
    script.answers(f"POST {BULK}", ScriptedResponse({"results": []}))
    script.answers(f"DELETE {PAUSE}", ScriptedResponse({"ended": None}))
    script.answers("GET /api/v1/account", ScriptedResponse(an_account()))
    script.answers(f"GET {SUBMIT}", ScriptedResponse(a_page()))
    script.answers(f"GET {SUBMIT}/stats", ScriptedResponse(some_stats()))
    script.answers(f"GET {SUBMIT}/{ID}", ScriptedResponse(a_detail()))
    return script


@pytest.fixture
def user(tmp_path: Path) -> User:
    return User(tmp_path)


@pytest.fixture
def skill(tmp_path: Path) -> str:
    return str(written(tmp_path / "greet", {"SKILL.md": a_skill("greet")}))


def sent(registry: Script, path: str) -> set[tuple[str | None, str | None]]:
    """Return the credentials of the requests for a path."""
    return {(each.key, each.authorization) for each in registry.asked_for(path)}


def test_operator_uploads_with_the_key_of_the_data_directory(registry: Script, user: User, skill: str) -> None:
    """And says so; also for a repository, and with the registry's own URL."""
    operator = user.at_home_of(registry.url).with_key()
    for arguments in ([skill], ["acme/tools"], [skill, "--url", registry.url]):
        ran = operator.assay("submit", *arguments)
        assert (ran.code, ran.err) == (0, OPERATOR)
    assert {*sent(registry, UPLOAD), *sent(registry, SUBMIT)} == {KEY}


def test_token_precedes_login_and_login_precedes_key(registry: Script, user: User, skill: str) -> None:
    operator = user.at_home_of(registry.url).with_key().with_login(registry.url)
    ran = operator.assay("submit", skill, ASSAY_TOKEN=TOKEN)
    assert (ran.code, ran.err, sent(registry, UPLOAD)) == (0, ALICE, {BY_TOKEN})
    registry.asked.clear()
    ran = operator.assay("submit", skill)
    assert (ran.code, ran.err, sent(registry, UPLOAD)) == (0, ALICE, {BY_LOGIN})


def test_upload_to_another_registry_needs_a_token(registry: Script, user: User, skill: str) -> None:
    """The key of this machine and a login for another registry are not sent."""
    stranger = user.with_key().with_login("http://127.0.0.1:1")
    for command in (["submit", skill], ["submit", "acme/tools", skill], ["demo"]):
        ran = stranger.assay(*command, "--url", registry.url, ASSAY_INTERNAL_KEY=SECRET)
        assert (ran.code, ran.out) == (4, "")
        assert one_line(ran.err) == (
            f"Uploads to {registry.url} need a token: get one with `assay login --url {registry.url}`,"
            " or set ASSAY_TOKEN."
        )
    assert {(each.path, each.key, each.authorization) for each in registry.asked} == {("/api/v1/account", *NOTHING)}


def test_upload_on_this_machine_without_a_key_says_what_is_missing(registry: Script, user: User, skill: str) -> None:
    """Another user of the machine, or another data directory."""
    ran = user.at_home_of(registry.url).assay("submit", skill)
    assert (ran.code, sent(registry, UPLOAD)) == (4, set())
    assert one_line(ran.err) == (
        f"Uploads to {registry.url} need an account: run `assay login`. To act as the operator of this registry, set"
        " ASSAY_DATA_DIR to its data directory, which this user must be allowed to read."
    )


def test_repository_needs_no_credential(registry: Script, user: User) -> None:
    """Neither at another registry nor on this machine, if its key is missing or damaged."""
    assert user.with_key().assay("submit", "acme/tools", "--url", registry.url).err == ""
    (user.folder / "data" / "secrets.json").write_text("damaged")
    at_home = user.at_home_of(registry.url)
    assert (at_home.assay("submit", "acme/tools").err, sent(registry, SUBMIT)) == ("", {NOTHING})
    refused = at_home.assay("queue", "resume")
    assert (refused.code, one_line(refused.err)) == (
        4,
        f"The internal key in {user.folder / 'data'} cannot be read by this user.",
    )


def test_registry_for_accounts_only_says_how_to_sign_in(registry: Script, user: User) -> None:
    """`ASSAY_SUBMIT=signed-in` at the registry."""
    registry.answers(f"POST {SUBMIT}", a_problem(401, "unauthenticated", "Sign in to submit."))
    ran = user.assay("submit", "acme/tools", "--url", registry.url)
    assert (ran.code, f"Sign in to submit. Run `assay login --url {registry.url}`, or set" in ran.out) == (4, True)


def test_seed_acts_like_submit(registry: Script, user: User) -> None:
    at_home = user.at_home_of(registry.url).with_key()
    assert at_home.assay("seed", "--json").err == OPERATOR
    assert at_home.assay("seed", "--json", ASSAY_TOKEN=TOKEN).err == ALICE
    assert user.assay("seed", "--json", "--url", registry.url).err == ""
    assert [(each.key, each.authorization) for each in registry.asked_for(BULK)] == [KEY, BY_TOKEN, NOTHING]


@pytest.mark.parametrize(
    ("account", "said"),
    [
        (an_account("Alice@example", None), "Acting as Alice@example (without a namespace).\n"),
        (an_account("a\x1b[2J", "b"), "Acting as a\\x1b[2J (namespace b).\n"),
    ],
)
def test_note_shows_the_account(registry: Script, user: User, account: dict[str, object], said: str) -> None:
    registry.answers("GET /api/v1/account", ScriptedResponse(account))
    ran = user.with_login(registry.url).assay("submit", "acme/tools", "--url", registry.url)
    assert (ran.code, ran.err) == (0, said)


def test_note_with_a_registry_of_an_earlier_release(registry: Script, user: User) -> None:
    """It has no route for the account."""
    registry.answers("GET /api/v1/account", a_problem(404, "not_found", "There is nothing here."))
    arguments = ("submit", "acme/tools", "--url", registry.url)
    assert user.assay(*arguments, ASSAY_TOKEN=TOKEN).err == "Acting with the token in ASSAY_TOKEN.\n"
    assert user.with_login(registry.url).assay(*arguments).err == "Acting with your stored login.\n"


def test_refused_credential_says_how_to_get_another(registry: Script, user: User, skill: str) -> None:
    """And nothing is submitted."""
    registry.answers("GET /api/v1/account", a_problem(401, "unauthenticated", "This token is unknown."))
    registry.answers(f"DELETE {PAUSE}", a_problem(401, "unauthenticated", "This token is unknown."))
    at_home, to = user.at_home_of(registry.url), ("--url", registry.url)
    token = f"{registry.url} does not accept the token in ASSAY_TOKEN: it has expired, was revoked, or belongs to another registry."
    login = f"{registry.url} no longer accepts your login: run `assay login --url {registry.url}` again."
    own_login = f"{registry.url} no longer accepts your login: run `assay login` again."
    key = f"{registry.url} does not accept this key: set ASSAY_INTERNAL_KEY to the registry's key."
    assert one_line(user.assay("submit", skill, *to, ASSAY_TOKEN=TOKEN).err) == token
    assert one_line(at_home.with_key().assay("submit", skill).err) == key
    user.with_login(registry.url)
    for command in (["submit", skill], ["queue", "resume"], ["whoami"]):
        ran = user.assay(*command, *to)
        assert (ran.code, one_line(ran.err)) == (4, login)
    assert one_line(at_home.assay("submit", skill).err) == own_login
    assert sent(registry, UPLOAD) == set()


def test_reads_send_the_login_but_no_key_and_no_token(registry: Script, user: User) -> None:
    """ASSAY_TOKEN is not bound to a registry, so only commands that need an identity send it."""
    at_home = user.at_home_of(registry.url).with_key()
    commands = (["queue", "list"], ["queue", "show", ID], ["queue", "--json"])
    for command in commands:
        assert at_home.assay(*command, ASSAY_TOKEN=TOKEN).code == 0
    assert {(each.key, each.authorization) for each in registry.asked} == {NOTHING}
    registry.asked.clear()
    user.with_login(registry.url)
    for command in commands:
        assert user.assay(*command, "--url", registry.url).code == 0
    assert {(each.key, each.authorization) for each in registry.asked} == {BY_LOGIN}


def test_administrative_commands_prefer_the_key(registry: Script, user: User) -> None:
    """On this machine the stored one; for another registry only one that is set; then the token, then the login."""
    user.with_key().with_login(registry.url)
    assert user.at_home_of(registry.url).assay("queue", "resume", ASSAY_TOKEN=TOKEN).code == 0
    to = ("--url", registry.url)
    assert user.assay("queue", "resume", *to, ASSAY_TOKEN=TOKEN, ASSAY_INTERNAL_KEY=SECRET).code == 0
    assert user.assay("queue", "resume", *to, ASSAY_TOKEN=TOKEN).code == 0
    assert user.assay("queue", "resume", *to).code == 0
    assert [(each.key, each.authorization) for each in registry.asked] == [KEY, KEY, BY_TOKEN, BY_LOGIN]


@pytest.mark.parametrize("written_as", ["http://LOCALHOST:{port}", "http://localhost:{port}/"])
def test_login_is_found_by_every_form_of_the_url(registry: Script, user: User, written_as: str) -> None:
    port = registry.url.rpartition(":")[2]
    user.with_login(f"http://localhost:{port}")
    assert user.assay("whoami", "--url", written_as.format(port=port)).code == 0
    assert sent(registry, "/api/v1/account") == {BY_LOGIN}


def test_damaged_login_file_is_one_line(registry: Script, user: User) -> None:
    user.with_login(registry.url).credentials.write_text('{"registries": []}')
    for command in (["queue", "list"], ["submit", "acme/tools"], ["whoami"], ["logout"]):
        ran = user.assay(*command, "--url", registry.url)
        assert (ran.code, one_line(ran.err)) == (
            2,
            f"'{user.credentials}' is damaged: delete it, and run `assay login` again for each registry.",
        )
    assert registry.asked == []


@pytest.mark.parametrize(
    ("file", "variables", "is_sent"),
    [
        ('public_url = "https://registry.invalid"\ndata_dir = "{data}"', {}, False),
        ('host = "registry.invalid"\ndata_dir = "{data}"', {}, False),
        ('public_url = "https://registry.invalid"\ndata_dir = "link"', {}, False),
        ('public_url = "https://registry.invalid"', {"ASSAY_INTERNAL_KEY": SECRET}, False),
        ('public_url = "https://registry.invalid"\ndata_dir = "own"', {}, True),
        ('public_url = "https://registry.invalid"\ndata_dir = "{data}"', {"ASSAY_CONFIG": "assay.toml"}, True),
        ('data_dir = "{data}"', {"ASSAY_PUBLIC_URL": "https://registry.invalid"}, True),
        ('host = "0.0.0.0"\ndata_dir = "{data}"', {}, True),
        ('data_dir = "{data}"', {}, True),
    ],
)
def test_file_of_a_stranger_gets_no_key(
    user: User, monkeypatch: pytest.MonkeyPatch, file: str, variables: dict[str, str], is_sent: bool
) -> None:
    """An assay.toml in a checkout cannot send the key of this machine to its own address."""
    for name in [name for name in os.environ if name.startswith("ASSAY_")]:
        monkeypatch.delenv(name)
    for name, value in {"XDG_CONFIG_HOME": str(user.folder / "config"), **variables}.items():
        monkeypatch.setenv(name, value)
    checkout = user.with_key().folder / "checkout"
    User(checkout).with_key()
    (checkout / "data").rename(checkout / "own")
    (checkout / "link").symlink_to(user.folder / "data")
    (checkout / "assay.toml").write_text(file.format(data=user.folder / "data"))
    monkeypatch.chdir(checkout)
    assert bool(acting_credential(registry_url(None)).headers) is is_sent
