"""Skills in folders: discovery, locations and unreadable files."""

import re
from pathlib import Path

import pytest

from assay.cli.scan.folder import find_in_folder
from assay.cli.scan.skill import FailedSkill
from assay.cli.ui.exit_codes import Exit
from assay.fetch.limits import Limits
from assay.model.errors import Invalid
from tests.support.cli.here import assay_here, one_line
from tests.support.cli.skills_here import below, skills_of, written
from tests.support.skills import a_bad_skill, a_skill


def test_clean_skill_is_one_line(folder: Path) -> None:
    written(folder / "greet", {"SKILL.md": a_skill()})
    ran = assay_here("scan", "greet")
    assert (ran.code, ran.out, ran.err) == (0, "PASS     100 greet (greet)\n", "")


def test_finding_shows_location_reason_and_remedy(folder: Path) -> None:
    """G40: in a script beside SKILL.md."""
    written(folder / "skills" / "steal", a_bad_skill())
    ran = assay_here("scan", ".")
    assert ran.code == 1
    assert re.search(r"^FAIL +\d+ steal \(skills/steal\)$", ran.out, re.MULTILINE)
    assert re.search(r"^  critical EX-001 \S.* \(\d+% confidence\)$", ran.out, re.MULTILINE)
    assert "    skills/steal/scripts/setup.sh:2 cat ~/.ssh/id_rsa | curl" in ran.out
    assert re.search(r"^    why: \S.*\.$", ran.out, re.MULTILINE)
    assert re.search(r"^    fix: \S.*\.$", ran.out, re.MULTILINE)


def test_every_shipped_file_is_scanned(folder: Path) -> None:
    """G40: hidden and nested files too, but not Git's own, in any case, nor a file that points to it."""
    steal = a_bad_skill()["scripts/setup.sh"]
    git = {".git/hooks/run.sh": steal, "a/.GIT/run.sh": steal, "b/.git": steal}
    written(folder / "greet", {"SKILL.md": a_skill(), ".hidden/.x/run": steal} | git)
    assert {each["file"] for each in skills_of("greet")["greet"]["findings"]} == {".hidden/.x/run"}


def test_nested_skills_are_scanned_separately(folder: Path) -> None:
    """In path order; a file belongs to the innermost skill."""
    files = {"SKILL.md": a_skill("outer"), "notes.md": "Nothing.", "skills/pdf/SKILL.md": a_skill("pdf")}
    written(folder / "repo", files | below("skills/steal", a_bad_skill()))
    ran = assay_here("scan", "repo")
    assert re.findall(r"^(\w+) +\d+ (\w+) \((.*)\)$", ran.out, re.MULTILINE) == [
        ("PASS", "outer", "repo"),
        ("PASS", "pdf", "repo/skills/pdf"),
        ("FAIL", "steal", "repo/skills/steal"),
    ]
    assert ran.out.endswith("\n3 skills: 2 pass, 0 concerns, 1 fail.\n")
    assert list(skills_of("repo/SKILL.md")) == ["repo"]


def test_duplicate_argument_is_scanned_once(folder: Path) -> None:
    written(folder, below("skills/greet", {"SKILL.md": a_skill()}))
    assert list(skills_of(".", "skills", "skills/greet", "skills/greet/SKILL.md")) == ["skills/greet"]


def test_installed_packages_are_skipped_with_a_notice(folder: Path) -> None:
    """Inside a skill they are scanned."""
    steal = a_bad_skill()["scripts/setup.sh"]
    packages = below("node_modules/x", {"SKILL.md": a_skill("x")})
    written(folder, packages | {"greet/SKILL.md": a_skill(), "greet/node_modules/x.sh": steal})
    ran = assay_here("scan", ".", "--format", "json")
    assert [skill["place"] for skill in ran.json["skills"]] == ["greet"]
    assert ran.json["skills"][0]["outcome"] == "FAIL"
    assert "node_modules" in ran.err
    assert assay_here("scan", "node_modules").code == 0


def test_unreadable_skill_is_an_error_and_others_are_scanned(folder: Path) -> None:
    """Named in every format, with its own exit code."""
    written(folder, below("skills/a", {"SKILL.md": a_skill("a")}) | below("skills/b", {"SKILL.md": a_skill("b")}))
    (folder / "skills/b/secrets").symlink_to("/etc/passwd")
    ran = assay_here("scan", "skills")
    assert (ran.code, ran.out) == (
        7,
        "PASS     100 a (skills/a)\n1 skill: 1 pass, 0 concerns, 0 fail; 1 could not be scanned.\n",
    )
    link = folder / "skills/b/secrets"
    assert ran.err == f"assay: skills/b: '{link}' is a link or a device: only regular files are accepted.\n"
    document = assay_here("scan", "skills", "--format", "json").json
    assert [(each["place"], each["code"]) for each in document["errors"]] == [("skills/b", "unreadable")]
    assert (document["counts"]["error"], document["exitCode"]) == (1, 7)
    assert assay_here("scan", "skills", "--fail-on", "never").code == 7
    written(folder / "skills/c", a_bad_skill())
    assert assay_here("scan", "skills").code == 1, "a finding weighs more"


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"large.txt": "x" * (1024 * 1024 + 1)}, "a file may have 1,048,576"),
        ({f"{number}.txt": "" for number in range(1_000)}, "a skill may have 1,000"),
        ({"a\tb.txt": ""}, "must not contain control or invisible characters"),
    ],
)
def test_skill_beyond_the_limits_is_not_scanned(folder: Path, files: dict[str, str], said: str) -> None:
    written(folder / "greet", {"SKILL.md": a_skill()} | files)
    ran = assay_here("scan", "greet")
    assert (ran.code, said in one_line(ran)) == (7, True)


def test_unreadable_folder_is_an_error() -> None:
    """It may contain skills."""
    (skill,) = find_in_folder(Path("gone"), Limits()).skills
    assert isinstance(skill, FailedSkill)
    assert (skill.code, skill.exit) == ("unreadable", Exit.NOT_SCANNED)


def test_too_many_files_stop_the_walk(folder: Path) -> None:
    written(folder, {f"{number}/SKILL.md": a_skill() for number in range(5)})
    with pytest.raises(Invalid, match="more than 4 files"):
        find_in_folder(folder, Limits(archive_entries=4))


def test_scan_ignores_registry_settings(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A checkout may contain an assay.toml."""
    written(folder, {"greet/SKILL.md": a_skill(), "assay.toml": "nonsense = ["})
    monkeypatch.setenv("ASSAY_PORT", "nonsense")
    assert assay_here("scan", "greet").code == 0
    assert assay_here("scan", "https://github.com/acme/tools").code == 2


def test_own_build_files_pass(folder: Path) -> None:
    """G103: files that run when Assay is built, installed or tested in CI."""
    root = Path(__file__).parent.parent.parent.parent
    names = ("Makefile", "pyproject.toml", "action.yml", ".pre-commit-hooks.yaml", ".ci/run")
    written(folder / "ours", {name: (root / name).read_text() for name in names} | {"SKILL.md": a_skill("ours")})
    ran = assay_here("scan", "ours", "--fail-on", "concerns")
    assert ran.code == 0, ran.out
