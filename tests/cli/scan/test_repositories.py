"""Skills in repositories on GitHub and other hosts: at which commit, and what happens if there are none."""

import asyncio
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
import uvloop

from tests.support.cli.here import assay_here, one_line
from tests.support.cli.skills_here import below, skills_of, written
from tests.support.fake_github import FakeGitHub
from tests.support.git_server import GitServer, serve_git
from tests.support.skills import a_bad_skill, a_repository, a_skill


@pytest.fixture
def git(tmp_path_factory: pytest.TempPathFactory, web: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[GitServer]:
    """A git server whose repositories are accepted here."""
    with serve_git(tmp_path_factory.mktemp("repositories")) as server:
        monkeypatch.setenv("ASSAY_GIT_HOSTS", server.host)
        yield server


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


def test_a_tree_that_one_answer_does_not_hold_hides_nothing(github: FakeGitHub, web: str) -> None:
    """G37: it is read part by part."""
    ballast = {f"data/{number}.md": "x" for number in range(8)}
    github.add_repository("acme/tools", a_repository("pdf", "csv") | ballast).tree_limit = 9
    assert [place.rpartition("/")[2] for place in skills_of(f"{web}/acme/tools")] == ["csv", "pdf"]


def test_a_repository_of_another_host_is_scanned_too(folder: Path, git: GitServer) -> None:
    """Whole, by the page of a folder as hosts write it, and at a commit; nothing is kept on this machine."""
    old = git.push("acme/agents/tools", a_repository("pdf", "csv"))
    new = git.push("acme/agents/tools", a_repository("pdf", "csv") | below("skills/steal", a_bad_skill()))
    url = git.url("acme/agents/tools")

    def scanned(rest: str) -> dict[str, object]:
        found = skills_of(f"{url}{rest}")
        return {place.removeprefix(f"{url}@"): skill["outcome"] for place, skill in found.items()}

    paths = ("skills/csv", "skills/pdf", "skills/steal")
    assert scanned("") == dict(zip((f"{new}/{path}" for path in paths), ("PASS", "PASS", "FAIL"), strict=True))
    assert scanned(".git") == scanned("/-/tree/trunk/skills") == scanned("")
    assert scanned("/-/blob/trunk/skills/pdf/SKILL.md") == {f"{new}/skills/pdf": "PASS"}
    assert scanned(f"/-/tree/{old}") == {f"{old}/{path}": "PASS" for path in paths[:2]}
    other = assay_here("scan", f"{url}/-/tree/dev/skills")
    assert (other.code, "is scanned at trunk or at a whole commit id, not at 'dev'" in one_line(other)) == (2, True)
    assert list(folder.iterdir()) == []


def test_what_another_host_does_not_give_is_an_error(git: GitServer) -> None:
    """No such repository is code 3, a host that is away code 5; neither is "no skill"."""
    missing = assay_here("scan", git.url("acme/missing"))
    assert (missing.code, "deleted, private or never there" in one_line(missing)) == (3, True)
    git.push("acme/tools", {"README.md": "nothing"})
    none = assay_here("scan", git.url("acme/tools"))
    assert (none.code, "has no SKILL.md" in one_line(none)) == (2, True)

    def away(request: object) -> bool:
        request.send_error(502)  # type: ignore[attr-defined]
        return True

    git.spoil = away
    assert assay_here("scan", git.url("acme/tools")).code == 5


@pytest.mark.parametrize(
    "url",
    [
        "https://gitlab.com/acme/tools",
        "http://{host}@evil.example/acme/tools",
        "http://user:secret@{host}/acme/tools",
        "http://{host}/--upload-pack=x/tools",
        "http://{host}/acme/-tools",
        "http://{host}/acme/../../tools",
        "https://127.0.0.1/acme/tools",
        "file:///etc/passwd",
        "ext::sh -c id://x",
    ],
)
def test_what_no_submission_may_name_no_scan_may_either(git: GitServer, url: str) -> None:
    """G16: hosts that are not accepted, users, options of git, other protocols; nobody is asked."""
    refused = assay_here("scan", url.replace("{host}", git.host))
    assert (refused.code, one_line(refused) != "") == (2, True)
    assert git.asked == []


def test_a_host_that_leads_inside_is_refused(web: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """G16: whatever the DNS says of an accepted name."""
    monkeypatch.setenv("ASSAY_GIT_HOSTS", "git.example.org")
    # The usual loop looks names up without Python.
    monkeypatch.setattr(uvloop, "new_event_loop", asyncio.new_event_loop)
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: [(2, 1, 6, "", ("169.254.169.254", 443))])
    refused = assay_here("scan", "https://git.example.org/acme/tools")
    assert "not on the public internet" in one_line(refused)
