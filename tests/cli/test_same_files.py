"""`assay scan` and `assay submit` see the same files; credentials are not sent by accident."""

import os
from pathlib import Path

import pytest

from assay.cli.skill_folders.pack import pack
from assay.cli.skill_folders.select import select_skills
from assay.fetch.limits import Limits
from assay.model.errors import Invalid
from assay.model.source import Source
from tests.support.cli.live import Ran, assay, without_settings
from tests.support.cli.output import one_line
from tests.support.cli.responses import ID, a_detail, an_acceptance
from tests.support.cli.scripted import Script, ScriptedResponse, a_problem
from tests.support.cli.skills_here import written
from tests.support.cli.uploads import UPLOAD, files_sent
from tests.support.skills import a_skill

pytestmark = pytest.mark.process

TOKEN = f"vsk_{'x' * 43}"
# Divided, so that this file holds no key itself.
KEY = "-----BEGIN {}PRIVATE " + "KEY{}-----\nMIIE\n"
PGP = KEY.format("PGP ", " BLOCK")
SKILL = {"SKILL.md": a_skill("greet")}


@pytest.fixture
def registry(script: Script) -> Script:
    """Return a scripted registry that accepts every upload."""
    script.answers(f"POST {UPLOAD}", ScriptedResponse(an_acceptance(), status=201))
    script.answers(f"GET /api/v1/submissions/{ID}", ScriptedResponse(a_detail()))
    return script


def submit(registry: Script, folder: Path, *options: str) -> Ran:
    """Upload the skills of a folder."""
    environment = without_settings(ASSAY_TOKEN=TOKEN, XDG_CONFIG_HOME=str(folder.parent / "config"))
    return assay("submit", str(folder), *options, "--url", registry.url, environment=environment)


def test_scanned_files_are_the_files_sent(registry: Script, tmp_path: Path) -> None:
    """Paths and bytes, for hidden files, nested skills, and packages inside and beside skills."""
    skills = {
        "outer": {
            **{"SKILL.md": a_skill("outer"), ".hidden": "1", ".config/.deep/file": "2", "run.sh": "echo 3\r\n"},
            **{"node_modules/left/index.js": "4", ".venv/lib/five.py": "5", "empty": "", "a b/ü.md": "6"},
        },
        "inner": {"SKILL.md": a_skill("inner"), ".dotted": "7", "notes/n.md": "8"},
        "hidden": {"SKILL.md": a_skill("hidden"), "x.md": "9"},
    }
    places = {"outer": "outer", "inner": "outer/parts/inner", "hidden": ".claude/skills/hidden"}
    tree = tmp_path / "tree"
    for name, place in places.items():
        written(tree / place, skills[name])
    never_part = {".git/config": "x", "outer/.GIT/hooks/pre-commit": "x", "outer/vendor/.git": "gitdir: x"}
    written(tree, never_part | {"node_modules/pack/SKILL.md": a_skill("pack"), ".env": "BESIDE=1", "README.md": "x"})

    sent = submit(registry, tree)
    assert sent.code == 0, sent.err
    files = files_sent(registry)
    assert files == {
        name: {path: content.encode() for path, content in wanted.items()} for name, wanted in skills.items()
    }
    scanned = assay("scan", str(tree), "--format", "json", environment=without_settings())
    assert {each["name"]: each["digest"] for each in scanned.json["skills"]} == {
        name: Source(content, commit="").digest for name, content in files.items()
    }
    assert "node_modules" in scanned.err
    assert "Not sent: node_modules (installed packages).\n" in sent.err


def test_hidden_files_that_are_sent_are_listed(registry: Script, tmp_path: Path) -> None:
    skill = written(tmp_path / "greet", SKILL | {".editorconfig": "x", "a/.b/c": "x", ".git/config": "x", "d": "x"})
    ran = submit(registry, skill)
    assert (ran.code, "Hidden files that are sent: greet/.editorconfig; greet/a/.b/c.\n" in ran.err) == (0, True)
    many = written(tmp_path / "many", SKILL | {f".{number:02}": "x" for number in range(22)})
    ran = submit(registry, many)
    assert (ran.code, "many/.18; many/.19; 2 more.\n" in ran.err) == (0, True), ran.err


@pytest.mark.parametrize(
    ("path", "content"),
    [
        (".env", "A=1"),
        (".env.local", "A=1"),
        (".ENVRC", "A=1"),
        ("deploy/.env.d/production", "A=1"),
        ("keys/id_rsa", "x"),
        ("id_ed25519", "x"),
        ("deploy_key", "\n" + KEY.format("OPENSSH ", "")),
        ("tls/server.pem", "# certificate and key\n" + KEY.format("", "")),
        ("server.KEY", KEY.format("EC ", "")),
        ("backup.asc", PGP),
        ("store.p12", "x"),
        (".netrc", "x"),
        (".git-credentials", "x"),
        ("home/.aws/credentials", "x"),
        (".npmrc", "registry=https://r.example\n//r.example/:_authToken=npm_abc\n"),
        (".npmrc", "//r.example/:_password = abc\n"),
        (".yarnrc.yml", "npmAuthToken: abc\n"),
        (".pypirc", "[pypi]\nusername = __token__\npassword = pypi-abc\n"),
        ("service-account.json", '{"private_key": "-----BEGIN ' + 'PRIVATE KEY-----\\nMII"}'),
    ],
)
def test_credential_file_is_refused_before_any_request(
    registry: Script, tmp_path: Path, path: str, content: str
) -> None:
    """The error names the file and the option that sends it."""
    skill = written(tmp_path / "greet", SKILL | {path: content})
    refused = submit(registry, skill)
    assert (refused.code, registry.asked) == (2, [])
    assert one_line(refused.err) == (
        f"Nothing was sent because of this file, which holds credentials: '{skill / path}'."
        " Delete it, or pass --include-hidden."
    )
    assert submit(registry, skill, "--include-hidden").code == 0
    assert files_sent(registry)["greet"][path] == content.encode()


def test_every_credential_file_is_named(registry: Script, tmp_path: Path) -> None:
    """Those of all skills, and none that stays here."""
    written(tmp_path / "tree", {"a/SKILL.md": a_skill("a"), "a/.env": "x", "a/b/id_rsa": "x", ".env": "stays"})
    written(tmp_path / "tree", {"c/SKILL.md": a_skill("c"), "c/.netrc": "x"})
    line = one_line(submit(registry, tmp_path / "tree").err)
    named = [str(tmp_path / "tree" / path) for path in ("a/.env", "a/b/id_rsa", "c/.netrc")]
    assert f"these files, which hold credentials: {', '.join(map(repr, named))}. Delete them, or" in line


@pytest.mark.parametrize(
    ("path", "content"),
    [
        (".npmrc", "//r.example/:_authToken=${NPM_TOKEN}\n# _authToken=old\n"),
        (".yarnrc.yml", "npmAuthToken: ${NPM_TOKEN}\n"),
        (".pypirc", "[pypi]\nrepository = https://r.example\n"),
        ("server.pem", "-----BEGIN CERTIFICATE-----\nMII\n"),
        ("id_rsa.pub", "ssh-rsa AAAA"),
        ("docs.md", "A key file begins with `-----BEGIN " + "PRIVATE KEY-----`."),
        ("environment.md", "x"),
        ("config.json", "{}"),
    ],
)
def test_harmless_file_is_sent(registry: Script, tmp_path: Path, path: str, content: str) -> None:
    skill = written(tmp_path / "greet", SKILL | {path: content})
    assert submit(registry, skill).code == 0
    assert files_sent(registry)["greet"][path] == content.encode()


@pytest.mark.parametrize("replace", [lambda path: path.symlink_to("/etc/passwd"), os.mkfifo, Path.mkdir])
def test_file_replaced_after_the_walk_is_not_read(tmp_path: Path, replace) -> None:
    """Neither a link is followed nor a pipe waited for."""
    folder = written(tmp_path / "greet", SKILL | {"notes.md": "x"})
    (skill,) = select_skills(folder, Limits(), nested=False).skills
    (folder / "notes.md").unlink()
    replace(folder / "notes.md")
    with pytest.raises(Invalid, match=r"notes\.md"):
        pack(skill, Limits())


def test_terminal_is_safe_from_file_names(registry: Script, tmp_path: Path) -> None:
    """Names of files that are refused or left out are printed escaped."""
    written(tmp_path / "tree", {"a/SKILL.md": a_skill("a")})
    (tmp_path / "tree" / "x\x1b[2J").symlink_to("a")
    ran = submit(registry, tmp_path / "tree")
    assert (ran.code, "\x1b" in ran.err, r"Not sent: x\x1b[2J." in ran.err) == (0, False, True)


def test_registry_that_needs_a_higher_role_is_reported(registry: Script, tmp_path: Path) -> None:
    """The registry decides; its reason is shown."""
    refusal = a_problem(403, "scope_missing", "This token may not publish.")
    registry.answers(f"POST {UPLOAD}", refusal)
    ran = submit(registry, written(tmp_path / "greet", SKILL))
    assert (ran.code, "This token may not publish." in ran.out) == (4, True)
