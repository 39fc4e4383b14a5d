"""`assay scan`: skills of folders, archives and repositories, without a registry; what is shown, and the code."""

import json
import re
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from assay.cli.exits import Exit
from assay.cli.rulesets import read_ruleset, started
from assay.cli.scan.archive import find_in_archive
from assay.cli.scan.folder import find_in_folder
from assay.cli.scan.outcome import FailOn, Scan
from assay.cli.scan.place import WORKING_DIRECTORY, Place
from assay.cli.scan.skill import Examined, Failed, examine
from assay.fetch.limits import Limits
from assay.github.fake import FakeGitHub, FakeServer
from assay.judge.policy import Policy, judge_report
from assay.model.errors import Invalid
from assay.model.finding import Finding, Report, Severity
from assay.model.source import Source
from assay.scan.ruleset import load_ruleset
from assay.scan.scan import ENGINE
from tests.archives import a_tar, a_zip, an_odd_member
from tests.cli.here import assay_here, one_line
from tests.skills import a_bad_skill, a_repository, a_skill

RULE = """
family = "house_rules"

[[rule]]
id = "HR-001"
title = "The word is xyzzy"
severity = "{severity}"
confidence = 1.0
patterns = ['xyzzy']
rationale = "Nobody says that any more."
remediation = "Say something else."
references = ["CWE-78", "LLM01:2025"]
replaces = ["OLD-7"]
bad = "xyzzy"
benign = "plugh"
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, and an environment that knows of no registry."""
    for name in ("ASSAY_DATABASE_URL", "ASSAY_CONFIG", "ASSAY_DATA_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def written(folder: Path, files: dict[str, str]) -> Path:
    """These files, written down."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def below(folder: str, files: dict[str, str]) -> dict[str, str]:
    """The same files, in a folder."""
    return {f"{folder}/{path}": text for path, text in files.items()}


def rules(folder: Path, severity: str = "low") -> Path:
    """A ruleset of one's own, with one rule."""
    return written(folder / "house-rules", {"house.toml": RULE.format(severity=severity)})


def skills_of(*arguments: str | Path) -> dict[str, dict[str, object]]:
    """The scanned skills by their place."""
    return {skill["place"]: skill for skill in assay_here("scan", "--format", "json", *arguments).json["skills"]}


def test_a_clean_skill_is_one_line(folder: Path) -> None:
    written(folder / "greet", {"SKILL.md": a_skill()})
    ran = assay_here("scan", "greet")
    assert (ran.code, ran.out, ran.err) == (0, "PASS     100 greet (greet)\n", "")


def test_what_is_found_where_why_and_how_to_fix_it(folder: Path) -> None:
    """I80: it stands in a script beside SKILL.md, and is found there."""
    written(folder / "skills" / "steal", a_bad_skill())
    ran = assay_here("scan", ".")
    assert ran.code == 1
    assert re.search(r"^FAIL +\d+ steal \(skills/steal\)$", ran.out, re.MULTILINE)
    assert re.search(r"^  critical EX-001 \S.* \(\d+% sure\)$", ran.out, re.MULTILINE)
    assert "    skills/steal/scripts/setup.sh:2 cat ~/.ssh/id_rsa | curl" in ran.out
    assert re.search(r"^    why: \S.*\.$", ran.out, re.MULTILINE)
    assert re.search(r"^    fix: \S.*\.$", ran.out, re.MULTILINE)


def test_everything_that_ships_is_scanned(folder: Path) -> None:
    """I80: hidden files ship, too, however deep; only what belongs to Git itself does not."""
    steal = a_bad_skill()["scripts/setup.sh"]
    written(folder / "greet", {"SKILL.md": a_skill(), ".hidden/.x/run": steal, ".git/hooks/run.sh": steal})
    assert {each["file"] for each in skills_of("greet")["greet"]["findings"]} == {".hidden/.x/run"}


def test_many_skills_and_one_inside_another(folder: Path) -> None:
    """Each folder with a SKILL.md is a skill in the order of its path, and has the files that no inner one has."""
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


def test_an_argument_twice_is_scanned_once(folder: Path) -> None:
    written(folder, below("skills/greet", {"SKILL.md": a_skill()}))
    assert list(skills_of(".", "skills", "skills/greet", "skills/greet/SKILL.md")) == ["skills/greet"]


def test_installed_packages_beside_skills_are_passed_over_aloud(folder: Path) -> None:
    """Inside a skill they are a part of it."""
    steal = a_bad_skill()["scripts/setup.sh"]
    packages = below("node_modules/x", {"SKILL.md": a_skill("x")})
    written(folder, packages | {"greet/SKILL.md": a_skill(), "greet/node_modules/x.sh": steal})
    ran = assay_here("scan", ".", "--format", "json")
    assert [skill["place"] for skill in ran.json["skills"]] == ["greet"]
    assert ran.json["skills"][0]["outcome"] == "FAIL"
    assert "node_modules" in ran.err
    assert assay_here("scan", "node_modules").code == 0


def test_the_line_decides_the_code(folder: Path) -> None:
    """A skill that passes with a finding of low severity, one of concern, and one that fails, against every line."""
    own = rules(folder)
    for number, word in enumerate(("plover", "grue"), 2):
        rule = RULE.format(severity="high").replace("HR-001", f"HR-{number:03}").replace("xyzzy", word)
        written(own, {f"{word}.toml": rule})
    written(folder / "skills" / "low", {"SKILL.md": a_skill(body="Say xyzzy.")})
    written(folder / "skills" / "medium", {"SKILL.md": a_skill(body="Say plover to the grue.")})
    written(folder / "skills" / "worst", a_bad_skill())
    ruleset = read_ruleset(own)
    results = [
        examine(each, started(ruleset, quickly=True)) for each in find_in_folder(folder / "skills", Limits()).skills
    ]
    assert [each.verdict.outcome for each in results] == ["PASS", "CONCERNS", "FAIL"]
    codes = {line: [int(Scan(ruleset, line, (each,)).exit) for each in results] for line in FailOn}
    assert codes == {
        FailOn.CONCERNS: [0, 1, 1],
        FailOn.FAIL: [0, 0, 1],
        FailOn.CRITICAL: [0, 0, 1],
        FailOn.HIGH: [0, 1, 1],
        FailOn.MEDIUM: [0, 1, 1],
        FailOn.LOW: [1, 1, 1],
        FailOn.INFO: [1, 1, 1],
        FailOn.NEVER: [0, 0, 0],
    }
    for options, code in (([], 1), (["--fail-on", "fail"], 0), (["--fail-on", "high"], 1), (["--fail-on", "x"], 2)):
        assert assay_here("scan", "skills/medium", "--ruleset", own, *options).code == code


def test_the_json_document(folder: Path) -> None:
    """One typed document in the words of the API; a finding names the rules it replaces and its references."""
    files = {"SKILL.md": a_skill("magic", body="Say xyzzy.\nSay [bold]\x1b[31m xyzzy.")}
    written(folder / "magic", files)
    ran = assay_here("scan", "magic", "--format", "json", "--fail-on", "low", "--ruleset", rules(folder))
    document = ran.json
    assert (ran.code, document["exitCode"], document["failOn"], document["formatVersion"]) == (1, 1, "low", 1)
    assert document["engine"] == ENGINE
    assert document["ruleset"].startswith("sha256:")
    assert document["ruleset"] != load_ruleset().version
    assert document["counts"] == {"pass": 1, "concerns": 0, "fail": 0, "error": 0}
    assert document["errors"] == []
    (skill,) = document["skills"]
    source = Source({path: text.encode() for path, text in files.items()}, "")
    assert (skill["name"], skill["place"], skill["commit"], skill["digest"]) == ("magic", "magic", None, source.digest)
    assert (skill["outcome"], skill["score"], skill["decision"], skill["hasCode"]) == ("PASS", 97, "approve", False)
    assert set(skill["capabilities"]) == {"hosts", "programs", "environment", "outsideFiles", "tools"}
    finding = next(each for each in skill["findings"] if each["line"] == 8)
    assert {name: finding[name] for name in ("ruleId", "replaces", "references", "family", "severity", "file")} == {
        "ruleId": "HR-001",
        "replaces": ["OLD-7"],
        "references": ["CWE-78", "LLM01:2025"],
        "family": "house_rules",
        "severity": "low",
        "file": "SKILL.md",
    }
    assert (finding["message"], finding["rationale"]) == ("The word is xyzzy", "Nobody says that any more.")
    assert (finding["remediation"], finding["region"]) == ("Say something else.", "prose")
    assert "\x1b" not in ran.out


def test_text_of_others_steers_no_terminal(folder: Path) -> None:
    """Neither escapes nor the markup of what prints them."""
    written(folder / "x", {"SKILL.md": a_skill('"[red]\\e[31mx"', body="Say [bold]\x1b[31m xyzzy.")})
    ran = assay_here("scan", "x", "--ruleset", rules(folder))
    assert "[red]\\x1b[31mx (x)" in ran.out
    assert "Say [bold]" in ran.out
    assert "\x1b" not in ran.out


def test_many_skills_are_scanned_in_processes_with_the_same_results(folder: Path) -> None:
    """In the order of the skills, twice the same bytes, with nothing on standard error where there is no terminal."""
    files = {f"s{number:02}/SKILL.md": a_skill(f"s{number:02}", body="Say xyzzy.") for number in range(59)}
    written(folder / "skills", files | below("bad", a_bad_skill()))
    own = rules(folder)
    first, second = (assay_here("scan", "skills", "--format", "json", "--ruleset", own) for _ in range(2))
    assert first == second
    assert (first.code, first.err) == (1, "")
    shown = first.json["skills"]
    assert [skill["place"] for skill in shown] == ["skills/bad", *(f"skills/s{number:02}" for number in range(59))]
    alone = skills_of("skills/s07", "--ruleset", own)
    assert shown[8] == alone["skills/s07"]
    assert [finding["ruleId"] for finding in shown[8]["findings"]] == ["HR-001"]


def test_a_skill_that_cannot_be_read_is_an_error_and_the_others_are_scanned(folder: Path) -> None:
    """In every format it is named, and the code is not that of a scan."""
    written(folder, below("skills/a", {"SKILL.md": a_skill("a")}) | below("skills/b", {"SKILL.md": a_skill("b")}))
    (folder / "skills/b/secrets").symlink_to("/etc/passwd")
    ran = assay_here("scan", "skills")
    assert (ran.code, ran.out) == (
        7,
        "PASS     100 a (skills/a)\n1 skill: 1 pass, 0 concerns, 0 fail; 1 could not be scanned.\n",
    )
    assert ran.err == "assay: skills/b: 'b/secrets' is a link or a device: only files are scanned.\n"
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
def test_a_skill_beyond_the_limits_is_not_scanned(folder: Path, files: dict[str, str], said: str) -> None:
    written(folder / "greet", {"SKILL.md": a_skill()} | files)
    ran = assay_here("scan", "greet")
    assert (ran.code, said in one_line(ran)) == (7, True)


def test_a_folder_that_cannot_be_opened_is_an_error() -> None:
    """It may have held skills."""
    (skill,) = find_in_folder(Path("gone"), Limits()).skills
    assert isinstance(skill, Failed)
    assert (skill.code, skill.exit) == ("unreadable", Exit.NOT_EXAMINED)


def test_too_many_files_are_not_walked_through(folder: Path) -> None:
    written(folder, {f"{number}/SKILL.md": a_skill() for number in range(5)})
    with pytest.raises(Invalid, match="more than 4 files"):
        find_in_folder(folder, Limits(archive_entries=4))


def test_a_rule_that_could_not_be_tried_is_no_clean_result() -> None:
    """Also below the line: nobody has looked at everything."""
    finding = Finding("UX-000", "unexamined", Severity.HIGH, 1.0, "SKILL.md", 1, "", "XX-001 failed", "Look.")
    report = Report(ENGINE, "sha256:0", "sha256:1", (finding,), has_code=False, duration_ms=0)
    examined = Examined(Place(WORKING_DIRECTORY), "x", report, judge_report(report, Policy()))
    codes = {
        line: Scan(load_ruleset(), line, (examined,)).exit for line in (FailOn.FAIL, FailOn.NEVER, FailOn.CONCERNS)
    }
    assert codes == {FailOn.FAIL: 7, FailOn.NEVER: 7, FailOn.CONCERNS: 1}


@pytest.mark.parametrize(
    ("name", "pack"), [("bundle.zip", a_zip), ("bundle.tar.gz", a_tar), ("bundle.tgz", a_tar), ("bundle", a_zip)]
)
def test_skills_in_an_archive(folder: Path, name: str, pack: Callable[[dict[str, str]], bytes]) -> None:
    """The same digests and findings as of the folder; nothing is unpacked beside it."""
    files = a_repository("pdf", "csv") | below("skills/steal", a_bad_skill())
    (folder / name).write_bytes(pack(files))
    packed = skills_of(name)
    assert list(packed) == [f"{name}/skills/{each}" for each in ("csv", "pdf", "steal")]
    assert [path.name for path in folder.iterdir()] == [name]
    unpacked = skills_of(written(folder / "plain", files))
    assert [skill["digest"] for skill in packed.values()] == [skill["digest"] for skill in unpacked.values()]
    assert packed[f"{name}/skills/steal"]["findings"] == unpacked["plain/skills/steal"]["findings"]


def test_archives_that_cannot_be_read_do_not_hide_others(folder: Path) -> None:
    """A corrupt one, one that says it is something else, and a skill with a link in it."""
    whole = a_tar(a_repository("pdf"))
    (folder / "cut.tgz").write_bytes(whole[: len(whole) // 2])
    (folder / "not.zip").write_text("Not a zip.")
    link = an_odd_member("skills/csv/key", tarfile.SYMTYPE, "/etc/passwd")
    (folder / "link.tgz").write_bytes(a_tar(a_repository("csv", "tsv"), link))
    ran = assay_here("scan", "cut.tgz", "not.zip", "link.tgz")
    assert ran.code == 7
    assert ran.out.startswith("PASS     100 tsv (link.tgz/skills/tsv)\n")
    lines = ran.err.splitlines()
    assert [line.split(": ")[1] for line in lines] == ["cut.tgz", "not.zip", "link.tgz/skills/csv"]
    assert "cannot be read" in lines[0]
    assert "link" in lines[2]


def test_an_archive_is_read_through_limits(folder: Path) -> None:
    """A bomb is refused while it is read, and a file that is too large is not taken."""
    bomb, large = folder / "bomb.tgz", folder / "large.zip"
    bomb.write_bytes(a_tar({"SKILL.md": a_skill(), **{str(number): "0" * 100_000 for number in range(20)}}))
    (refused,) = find_in_archive(bomb, "bomb.tgz", Limits(archive_bytes=1_000_000))
    assert isinstance(refused, Failed)
    assert (refused.code, refused.where) == ("archive_too_large", "bomb.tgz")
    (unread,) = find_in_archive(bomb, "bomb.tgz", Limits(archive_bytes=1_000))
    assert isinstance(unread, Failed)
    assert unread.message == "The archive has more than 1,000 bytes."
    large.write_bytes(a_zip({"SKILL.md": a_skill(), "large": "0" * (1024 * 1024 + 1)}))
    ran = assay_here("scan", "large.zip")
    assert (ran.code, "a file may have" in one_line(ran)) == (7, True)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["missing"], "There is no such file or folder: 'missing'"),
        (["owner/repository"], "a repository is given by its https:// URL"),
        (["empty"], "'empty' holds no SKILL.md"),
        (["empty.zip"], "'empty.zip' contains no SKILL.md"),
        (["notes.txt"], "'notes.txt' is neither a folder, a SKILL.md nor an archive"),
        (["https://example.com/owner/repository"], "is no repository on GitHub"),
        (["greet", "missing"], "'missing'"),
        (["greet", "--ruleset", "missing"], "no such folder of rules: 'missing'"),
        (["greet", "--ruleset", "empty"], "holds no rules"),
        (["greet", "--ruleset", "broken"], "mine.toml: rule HR-001: "),
        (["greet", "--ruleset", "unreadable"], "mine.toml: "),
        (["greet", "--ruleset", "flat"], "mine.toml: rules are written as [[rule]]"),
        (["greet", "--output", "missing/file"], "--output must be a file in a folder that exists"),
    ],
)
def test_bad_input_is_one_clear_line(folder: Path, arguments: list[str], said: str) -> None:
    """Nothing is scanned, and standard output is empty."""
    written(folder, {"greet/SKILL.md": a_skill(), "empty/README.md": "", "notes.txt": "Notes."})
    (folder / "empty.zip").write_bytes(a_zip({"README.md": "Nothing."}))
    written(folder / "broken", {"mine.toml": RULE.format(severity="awful")})
    written(folder / "unreadable", {"mine.toml": "family ="})
    written(folder / "flat", {"mine.toml": 'family = "x"\nrule = "y"\n'})
    ran = assay_here("scan", *arguments)
    assert ran.code == 2
    assert said in one_line(ran)


def test_an_output_file_beside_the_table(folder: Path) -> None:
    """The document goes to the file, people see the table, and the code is the same."""
    written(folder / "steal", a_bad_skill())
    table = assay_here("scan", "steal")
    for form in ("json", "sarif"):
        printed = assay_here("scan", "steal", "--format", form)
        ran = assay_here("scan", "steal", "--format", form, "--output", f"out.{form}")
        assert ran == table
        assert json.loads((folder / f"out.{form}").read_text()) == printed.json
    assert assay_here("scan", "steal", "--output", "out.txt") == table
    assert (folder / "out.txt").read_text() == table.out


def test_our_own_build_files_pass(folder: Path) -> None:
    """I66: what runs when Assay itself is built, installed or tested in CI is scanned by its own rules."""
    root = Path(__file__).parent.parent.parent
    names = ("Makefile", "pyproject.toml", "action.yml", ".pre-commit-hooks.yaml", ".ci/run")
    written(folder / "ours", {name: (root / name).read_text() for name in names} | {"SKILL.md": a_skill("ours")})
    ran = assay_here("scan", "ours", "--fail-on", "concerns")
    assert ran.code == 0, ran.out


@pytest.fixture
def web(github_server: FakeServer, monkeypatch: pytest.MonkeyPatch) -> str:
    """The address of repositories."""
    for name, value in github_server.urls().items():
        monkeypatch.setenv(name, value)
    return github_server.urls()["ASSAY_GITHUB_WEB_URL"]


def test_a_repository_is_scanned_at_its_newest_commit(folder: Path, github: FakeGitHub, web: str) -> None:
    """Every skill of it, with the commit; one archive is downloaded, and nothing is kept on this machine."""
    files = a_repository("pdf", "csv") | below("skills/steal", a_bad_skill()) | below(".claude/skills/x", a_bad_skill())
    repository = github.add_repository("acme/tools", files)
    skills = skills_of(f"{web}/acme/tools")
    page = f"{web}/acme/tools/tree/{repository.sha}"
    assert list(skills) == [
        f"{page}/{path}" for path in (".claude/skills/x", "skills/csv", "skills/pdf", "skills/steal")
    ]
    assert {skill["commit"] for skill in skills.values()} == {repository.sha}
    assert [skill["outcome"] for skill in skills.values()] == ["FAIL", "PASS", "PASS", "FAIL"]
    assert github.count("archive") == 1
    assert list(folder.iterdir()) == []


def test_a_url_of_a_folder_or_a_file_or_a_commit(github: FakeGitHub, web: str) -> None:
    repository = github.add_repository(
        "acme/tools", a_repository("pdf", "csv") | {"skills/pdf/more/SKILL.md": a_skill()}
    )
    old = repository.sha
    new = repository.push({"skills/pdf/SKILL.md": a_skill("pdf", body="Say something new.")})

    def scanned(rest: str) -> list[str]:
        return [place.removeprefix(f"{web}/acme/tools/tree/") for place in skills_of(f"{web}/acme/tools/{rest}")]

    assert scanned("tree/main/skills/pdf") == [f"{new}/skills/pdf", f"{new}/skills/pdf/more"]
    assert scanned("blob/main/skills/pdf/SKILL.md") == [f"{new}/skills/pdf"]
    assert scanned(f"tree/{old}/skills/csv") == [f"{old}/skills/csv"]
    other = assay_here("scan", f"{web}/acme/tools/tree/dev/skills/csv")
    assert (other.code, "is scanned at main or at a whole commit id, not at 'dev'" in one_line(other)) == (2, True)
    none = assay_here("scan", f"{web}/acme/tools/tree/main/docs")
    assert (none.code, "has no SKILL.md below docs" in one_line(none)) == (2, True)


def test_what_github_does_not_give_is_an_error_beside_what_can_be_scanned(
    folder: Path, github: FakeGitHub, web: str
) -> None:
    """No such repository is code 3, GitHub away is code 5, and the folder beside them is scanned."""
    written(folder / "greet", {"SKILL.md": a_skill()})
    missing = assay_here("scan", "greet", f"{web}/acme/missing")
    assert (missing.code, missing.err.startswith(f"assay: {web}/acme/missing: GitHub has no ")) == (3, True)
    assert missing.out.startswith("PASS     100 greet (greet)\n")
    github.add_repository("acme/tools", a_repository("pdf"))
    github.fail("archive", 502, times=None)
    away = assay_here("scan", f"{web}/acme/tools")
    assert (away.code, "GitHub answered 502" in one_line(away)) == (5, True)


def test_a_folder_is_scanned_whatever_the_settings_are(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A checkout may hold an assay.toml of a registry; a scan does not read it."""
    written(folder, {"greet/SKILL.md": a_skill(), "assay.toml": "nonsense = ["})
    monkeypatch.setenv("ASSAY_PORT", "nonsense")
    assert assay_here("scan", "greet").code == 0
    assert assay_here("scan", "https://github.com/acme/tools").code == 2


def test_a_bar_is_shown_on_a_terminal_only(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And there on standard error, so that what is read from standard output stays whole."""
    written(folder, a_repository("pdf", "csv"))
    monkeypatch.setenv("TERM", "xterm")
    seen, unseen = (assay_here("scan", ".", "--format", "json", terminal=terminal) for terminal in (True, False))
    assert ("Scanning" in seen.err, unseen.err) == (True, "")
    assert seen.out == unseen.out
