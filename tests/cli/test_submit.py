"""`assay submit` against real processes."""

import io
import os
import re
import signal
import subprocess
import tarfile
from pathlib import Path

import pytest

from assay.cli.skill_folders.pack import pack
from assay.cli.skill_folders.select import select_skills
from assay.cli.ui.exit_codes import Exit, exit_code_for_state, most_severe
from assay.fetch.limits import Limits
from assay.model.submission import State
from tests.support.cli.live import AT_A_KEYBOARD, PATIENCE_SECONDS, Live, assay, without_settings
from tests.support.cli.output import ANSI, one_line
from tests.support.cli.up import wait_for
from tests.support.processes import a_free_port
from tests.support.skills import a_bad_skill, a_repository, a_skill

pytestmark = pytest.mark.process

ID = r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}"


def a_folder(folder: Path, files: dict[str, str]) -> Path:
    """Write these files and return their folder."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def test_submit_repository(live: Live) -> None:
    """Verdicts have state, reason, rule, file, line and page; a refusal is exit code 1."""
    bad = {f"skills/steal/{path}": text for path, text in a_bad_skill().items()}
    live.github.add_repository("mixed/tools", files=a_repository("pdf", "csv") | bad)
    ran = live.assay("submit", "mixed/tools", "--wait")
    assert ran.code == 1
    assert re.search(rf"^created +RECEIVED +pdf {re.escape(live.url)}/submissions/{ID}$", ran.out, re.MULTILINE)
    assert "3 created." in ran.out
    for name, state, score in (("pdf", "PUBLISHED", 100), ("csv", "PUBLISHED", 100), ("steal", "TIER1_FAILED", 49)):
        assert re.search(rf"^{name} +│ {state} +│ +{score} │ \w", ran.out, re.MULTILINE), ran.out
    assert f"pdf: {live.url}/skills/mixed/tools/pdf\n" in ran.out
    assert re.search(rf"steal: {re.escape(live.url)}/submissions/{ID}\n  critical EX-001 scripts/setup.sh:2: ", ran.out)
    assert re.search(r"^steal .* Then submit the skill again\. *$", ran.out, re.MULTILINE), "a pipe folds no lines"
    assert re.search(r"^pdf PUBLISHED$", ran.err, re.MULTILINE), "each change is a line where there is no terminal"
    assert ANSI not in ran.out + ran.err


def test_json_output_is_one_document(live: Live) -> None:
    live.github.add_repository("json/tools", files=a_repository("pdf", "csv"))
    ran = live.assay("submit", f"{live.environment['ASSAY_GITHUB_WEB_URL']}/json/tools", "--wait", "--json")
    document = ran.json
    assert (ran.code, document["exitCode"]) == (0, 0)
    assert [each["skillName"] for each in document["results"]] == ["csv", "pdf"]
    assert {each["state"] for each in document["results"]} == {"PUBLISHED"}
    first = document["results"][0]
    assert first["page"] == f"{live.url}/skills/json/tools/csv"
    assert first["submission"]["scanResults"][0]["outcome"]


def test_submit_without_wait(live: Live) -> None:
    """Created, duplicate and reopened are all exit code 0."""
    live.github.add_repository("again/tools", files=a_repository("pdf"))
    with live.paused():
        first, second = (live.assay("submit", "again/tools") for _ in range(2))
    assert (first.code, first.out.split()[:2]) == (0, ["created", "RECEIVED"])
    assert (second.code, second.out.split()[:2]) == (0, ["duplicate", "RECEIVED"])
    assert live.assay("submit", "again/tools", "--wait").code == 0
    third = live.assay("submit", "again/tools", "--json")
    assert (third.code, third.json["results"][0]["outcome"]) == (0, "reopened")
    assert third.json["results"][0]["submission"] is None


def test_submit_one_skill_by_name_and_path(live: Live) -> None:
    """--path and --name need exactly one argument."""
    live.github.add_repository("one/tools", files=a_repository("pdf", "csv"))
    ran = live.assay("submit", "one/tools", "--path", "skills/csv/SKILL.md", "--name", "tables", "--json")
    assert [(each["skillName"], each["skillPath"]) for each in ran.json["results"]] == [
        ("tables", "skills/csv/SKILL.md")
    ]
    assert list(live.submissions_of("one/tools")) == ["tables"]
    two = live.assay("submit", "one/tools", "again/tools", "--name", "x")
    assert (two.code, one_line(two.err)[:19]) == (2, "--name and --path s")


def test_submit_all_skills_below_a_folder_url(live: Live) -> None:
    """A folder URL is one skill; with --all, every skill below it."""
    files = {f"{name}/SKILL.md": a_skill(name.rpartition("/")[2]) for name in ("a/pdf", "a/b/csv", "c/xls")}
    live.github.add_repository("deep/tools", files=files)
    url = f"{live.environment['ASSAY_GITHUB_WEB_URL']}/deep/tools/tree/main/a"
    assert live.assay("submit", url, "--all").code == 0
    assert sorted(live.submissions_of("deep/tools")) == ["csv", "pdf"]
    nothing = live.assay("submit", f"{url}/pdf/none", "--all")
    assert (nothing.code, "has no SKILL.md below a/pdf/none" in nothing.out) == (2, True)
    assert live.assay("submit", f"{url.removesuffix('/a')}/c/xls").code == 0
    assert sorted(live.submissions_of("deep/tools")) == ["csv", "pdf", "xls"]


def test_submit_local_folder(live: Live, tmp_path: Path) -> None:
    """Hidden files are sent and listed, except .git; unchanged files change nothing."""
    files = {
        "SKILL.md": a_skill("folder-skill"),
        "notes/a.md": "Hello.",
        ".hidden/b": "Hello.",
        ".git/config": "[core]",
    }
    folder = a_folder(tmp_path / "folder-skill", files)
    ran = live.assay("submit", str(folder), "--wait")
    assert (ran.code, "Not sent" in ran.err) == (0, False), ran.err
    assert "Acting as the operator of this registry (namespace local).\n" in ran.err
    assert "Hidden files that are sent: folder-skill/.hidden/b.\n" in ran.err
    kept = live.get("/skills/local/uploads/folder-skill")["files"]
    assert [each["path"] for each in kept] == [".hidden/b", "SKILL.md", "notes/a.md"]
    os.utime(folder / "SKILL.md", (1, 1))
    again = live.assay("submit", str(folder))
    assert (again.code, again.out.startswith("already verified PUBLISHED")) == (0, True), again.out


def test_submit_skills_below_a_local_folder(live: Live, tmp_path: Path) -> None:
    """A skill hides those inside it unless --all; installed packages beside skills are skipped."""
    files = {f"{name}/SKILL.md": a_skill(f"below-{name[-1]}") for name in ("x/a", "b", "b/inside/c", ".hidden/d")}
    a_folder(tmp_path, files | {"node_modules/e/SKILL.md": a_skill("below-e")})
    below = live.assay("submit", str(tmp_path), "--json")
    assert sorted(each["skillName"] for each in below.json["results"]) == [f"below-{letter}" for letter in "abcd"]
    assert "Not sent: node_modules (installed packages).\n" in below.err
    one = live.assay("submit", str(tmp_path / "b"), "--json")
    assert [each["skillName"] for each in one.json["results"]] == ["below-b"]
    assert "inside/c (a separate skill)" in one.err
    both = live.assay("submit", str(tmp_path / "b"), "--all", "--json")
    assert sorted(each["skillName"] for each in both.json["results"]) == ["below-b", "below-c"]


def test_archives_of_equal_files_are_identical(tmp_path: Path) -> None:
    """Times, owners and order are left out; executable bits are kept."""
    files = {f"{letter}.md": "x" for letter in "hgfedcba"} | {"SKILL.md": a_skill("pdf"), "run.sh": "exit"}
    first = a_folder(tmp_path / "1" / "pdf", files)
    second = a_folder(tmp_path / "2" / "pdf", dict(reversed(files.items())))
    os.utime(second / "a.md", (1, 1))
    (second / "a.md").chmod(0o600)
    packed = [pack(select_skills(each, Limits(), nested=False).skills[0], Limits()) for each in (first, second)]
    assert packed[0] == packed[1]
    assert packed[0][4:8] == bytes(4), "the time that gzip notes"
    with tarfile.open(fileobj=io.BytesIO(packed[0])) as archive:
        entries = archive.getmembers()
    assert [each.name for each in entries] == sorted(f"pdf/{name}" for name in files)
    assert {(each.mtime, each.uid, each.uname) for each in entries} == {(0, 0, "")}
    (second / "run.sh").chmod(0o755)
    assert packed[0] != pack(select_skills(second, Limits(), nested=False).skills[0], Limits())


def _a_link(folder: Path) -> str:
    a_folder(folder, {"SKILL.md": a_skill("linked"), "real.md": "x"})
    (folder / "notes").mkdir()
    (folder / "notes" / "link.md").symlink_to("../real.md")
    return f"'{folder}/notes/link.md' is a link or a device: only regular files are accepted."


def _a_linked_skill(folder: Path) -> str:
    a_folder(folder, {"real.md": a_skill("linked")})
    (folder / "SKILL.md").symlink_to("real.md")
    return f"'{folder}/SKILL.md' is a link or a device: only regular files are accepted."


def _a_large_file(folder: Path) -> str:
    a_folder(folder, {"SKILL.md": a_skill("large"), "a.bin": "x" * (1024 * 1024 + 1)})
    return f"'{folder}/a.bin' has 1,048,577 bytes; a file may have 1,048,576."


def _a_large_skill(folder: Path) -> str:
    a_folder(folder, {"SKILL.md": "x", **{f"{number}.bin": "x" * 1024 * 1024 for number in range(8)}})
    return f"'{folder}' has 8,388,609 bytes; a skill may have 8,388,608."


def _many_files(folder: Path) -> str:
    a_folder(folder, {"SKILL.md": a_skill("many"), **{f"{number}.md": "" for number in range(1000)}})
    return f"'{folder}' contains 1,001 files; a skill may have 1,000."


def _a_hostile_name(folder: Path) -> str:
    a_folder(folder, {"SKILL.md": a_skill("hostile"), "a\x1b[2Jb.md": "x"})
    return rf"The path of '{folder}/a\x1b[2Jb.md' must not contain control or invisible characters."


def _nothing(folder: Path) -> str:
    a_folder(folder, {"README.md": "x"})
    return f"There is no SKILL.md in or below '{folder}'."


@pytest.mark.parametrize(
    "make", [_a_link, _a_linked_skill, _a_large_file, _a_large_skill, _many_files, _a_hostile_name, _nothing]
)
def test_unsendable_folder_is_rejected_before_any_request(tmp_path: Path, make) -> None:
    said = make(tmp_path / "skill")
    ran = assay("submit", str(tmp_path / "skill"), environment=without_settings(ASSAY_PORT=str(a_free_port())))
    assert (ran.code, ran.out, one_line(ran.err)) == (2, "", said)


@pytest.mark.parametrize(
    ("argument", "said"),
    [
        ("./nowhere", "There is no folder './nowhere'."),
        ("a/b/c", "'a/b/c' is neither a folder nor a repository."),
        ("nonsense", "'nonsense' is neither a folder nor a repository."),
        (__file__, f"{__file__!r} is a file: pass the folder of the skill."),
    ],
)
def test_invalid_argument_stops_everything(live: Live, argument: str, said: str) -> None:
    """Exit code 2 and one line."""
    live.github.add_repository(f"stopped/tools{len(said)}", files=a_repository("pdf"))
    ran = live.assay("submit", f"stopped/tools{len(said)}", argument)
    assert (ran.code, ran.out, one_line(ran.err)) == (2, "", said)
    assert live.submissions_of(f"stopped/tools{len(said)}") == {}


def test_registry_rejections_have_exit_codes(live: Live) -> None:
    """Unaccepted host and no skill are 2, no repository is 3; the rest is submitted."""
    live.github.add_repository("refused/empty", files={"README.md": "x"})
    live.github.add_repository("refused/good", files=a_repository("pdf"))
    elsewhere = live.assay("submit", "https://elsewhere.example/owner/repository")
    assert (elsewhere.code, "repoUrl must look like" in elsewhere.out) == (2, True)
    empty = live.assay("submit", "refused/empty")
    assert (empty.code, "refused/empty has no SKILL.md" in empty.out) == (2, True)
    missing = live.assay("submit", "refused/nowhere", "refused/good", "--json")
    assert (missing.code, missing.json["exitCode"]) == (3, 3)
    assert [each["outcome"] for each in missing.json["results"]] == ["error", "created"]
    assert missing.json["results"][0]["detail"]


def test_submission_in_review_is_exit_code_6(live: Live, tmp_path: Path) -> None:
    """A missing repository ranks higher, a refusal highest."""
    doubtful = str(Path(__file__).parents[2] / "src/assay/cli/examples/system-cleanup")
    ran = live.assay("submit", doubtful, "--wait")
    assert (ran.code, "│ NEEDS_REVIEW │" in ran.out) == (6, True), ran.out
    assert re.search(r"system-cleanup: \S+\n  \w+ \w+-\d+ \S+:\d+: ", ran.out)
    assert live.assay("submit", doubtful, "review/nowhere", "--wait").code == 3
    bad = a_folder(tmp_path / "steal", a_bad_skill())
    assert live.assay("submit", doubtful, "review/nowhere", str(bad), "--wait").code == 1
    waiting = live.assay("submit", doubtful)
    assert (waiting.code, waiting.out.split()[:2]) == (6, ["duplicate", "NEEDS_REVIEW"])


def test_parked_submission_is_exit_code_7(live: Live) -> None:
    """With and without --wait."""
    live.github.add_repository("out/tools", files=a_repository("pdf"))
    with live.paused():
        created = live.assay("submit", "out/tools", "--json").json["results"][0]["id"]
        assert live.assay("queue", "hold", created, "--reason", "no").code == 0
    held = live.assay("submit", "out/tools")
    assert (held.code, held.out.split()[:2]) == (7, ["duplicate", "ON_HOLD"])
    waited = live.assay("submit", "out/tools", "--wait")
    assert (waited.code, re.search(r"pdf +│ ON_HOLD +│ +– │ \w", waited.out) is not None) == (7, True), waited.out


def test_timeout_is_exit_code_8(live: Live) -> None:
    """With the command that shows the result later."""
    live.github.add_repository("slow/tools", files=a_repository("pdf"))
    with live.paused():
        ran = live.assay("submit", "slow/tools", "--wait", "--timeout", "1")
    submission = live.submissions_of("slow/tools")["pdf"]
    assert (ran.code, "in progress" in ran.out) == (8, True)
    assert f"assay queue show {submission['id']} --url {live.url}" in ran.err


def test_ctrl_c_stops_only_the_wait(live: Live, tmp_path: Path) -> None:
    live.github.add_repository("interrupted/tools", files=a_repository("pdf"))
    with live.paused(), (tmp_path / "err").open("w") as err:
        process = subprocess.Popen(
            [*AT_A_KEYBOARD, "submit", "interrupted/tools", "--wait"],
            env=live.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=err,
        )
        try:
            wait_for(lambda: "pdf RECEIVED" in (tmp_path / "err").read_text(), "a command that waits")
            process.send_signal(signal.SIGINT)
            assert process.wait(PATIENCE_SECONDS) == 130
        finally:
            process.kill()
            process.wait()
        submission = live.submissions_of("interrupted/tools")["pdf"]
    said = (tmp_path / "err").read_text()
    assert "Stopped waiting. 1 submission is still in progress." in said
    assert f"assay queue show {submission['id']} --url {live.url}" in said
    assert "Traceback" not in said


def test_submit_without_a_registry(live: Live) -> None:
    """Exit code 5; another server is not mistaken for a registry."""
    url = f"http://127.0.0.1:{a_free_port()}"
    away = live.assay("submit", "away/tools", "--url", url, "--json")
    assert (away.code, away.out) == (5, "")
    assert one_line(away.err) == f"No registry answers at {url}: start it with `make up`, or set --url."
    other = live.environment["ASSAY_GITHUB_WEB_URL"]
    stranger = live.assay("submit", "away/tools", "--url", other)
    assert (stranger.code, one_line(stranger.err)) == (
        5,
        f"The server at {other} does not respond like an Assay registry.",
    )


@pytest.mark.parametrize(
    ("state", "accepted", "waited"),
    [
        (State.RECEIVED, 0, 8),
        (State.TIER1_SCANNING, 0, 8),
        (State.TIER2_SCANNING, 0, 8),
        (State.AUTO_APPROVED, 0, 8),
        (State.PUBLISHED, 0, 0),
        (State.NEEDS_REVIEW, 6, 6),
        (State.TIER1_FAILED, 1, 1),
        (State.REJECTED, 1, 1),
        (State.BLOCKED, 1, 1),
        (State.FAILED, 7, 7),
        (State.DEQUEUED, 7, 7),
        (State.ON_HOLD, 7, 7),
        ("A_STATE_OF_TOMORROW", 7, 7),
    ],
)
def test_every_state_has_an_exit_code(state: str, accepted: int, waited: int) -> None:
    """With and without --wait."""
    assert (accepted, waited) == (exit_code_for_state(state, waited=False), exit_code_for_state(state, waited=True))


def test_most_severe_exit_code_wins() -> None:
    """In the documented order."""
    order = [1, 2, 3, 4, 5, 7, 8, 6, 0]
    for place, code in enumerate(order):
        assert most_severe(map(Exit, reversed(order[place:]))) == code
    assert most_severe([]) == 0
