"""Skills in repositories on GitHub and other hosts."""

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
    """Start a git server whose repositories are accepted."""
    with serve_git(tmp_path_factory.mktemp("repositories")) as server:
        monkeypatch.setenv("ASSAY_GIT_HOSTS", server.host)
        yield server


def test_repository_is_scanned_at_its_newest_commit(folder: Path, github: FakeGitHub, web: str) -> None:
    """One archive is downloaded, and nothing is kept."""
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


def test_url_of_a_folder_file_or_commit(github: FakeGitHub, web: str) -> None:
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
    assert (other.code, "can only be scanned at main or at a complete commit id, not at 'dev'" in one_line(other)) == (
        2,
        True,
    )
    none = assay_here("scan", f"{web}/acme/tools/tree/main/docs")
    assert (none.code, "has no SKILL.md below docs" in one_line(none)) == (2, True)


def test_github_errors_do_not_stop_other_scans(folder: Path, github: FakeGitHub, web: str) -> None:
    """Not found is exit code 3, GitHub down is 5."""
    written(folder / "greet", {"SKILL.md": a_skill()})
    missing = assay_here("scan", "greet", f"{web}/acme/missing")
    assert (missing.code, missing.err.startswith(f"assay: {web}/acme/missing: GitHub has no ")) == (3, True)
    assert missing.out.startswith("PASS     100 greet (greet)\n")
    github.add_repository("acme/tools", a_repository("pdf"))
    github.fail("archive", 502, times=None)
    away = assay_here("scan", f"{web}/acme/tools")
    assert (away.code, "GitHub answered with status 502" in one_line(away)) == (5, True)


def test_truncated_tree_is_read_completely(github: FakeGitHub, web: str) -> None:
    """G37."""
    ballast = {f"data/{number}.md": "x" for number in range(8)}
    github.add_repository("acme/tools", a_repository("pdf", "csv") | ballast).tree_limit = 9
    assert [place.rpartition("/")[2] for place in skills_of(f"{web}/acme/tools")] == ["csv", "pdf"]


def test_repository_of_another_host_is_scanned(folder: Path, git: GitServer) -> None:
    """Whole, by folder page, and at a commit."""
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
    assert (other.code, "can only be scanned at trunk or at a complete commit id, not at 'dev'" in one_line(other)) == (
        2,
        True,
    )
    assert list(folder.iterdir()) == []


def test_errors_of_another_host(git: GitServer) -> None:
    """Not found is exit code 3, host down is 5; neither is "no skill"."""
    missing = assay_here("scan", git.url("acme/missing"))
    assert (missing.code, "it was deleted, is private, or never existed" in one_line(missing)) == (3, True)
    git.push("acme/tools", {"README.md": "nothing"})
    none = assay_here("scan", git.url("acme/tools"))
    assert (none.code, "has no SKILL.md" in one_line(none)) == (2, True)

    def away(request: object) -> bool:
        request.send_error(502)  # type: ignore[attr-defined]
        return True

    git.intercept = away
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
def test_scan_rejects_the_same_urls_as_submit(git: GitServer, url: str) -> None:
    """G16: unaccepted hosts, credentials, git options, other protocols; no request is made."""
    refused = assay_here("scan", url.replace("{host}", git.host))
    assert (refused.code, one_line(refused) != "") == (2, True)
    assert git.requests == []


def test_host_resolving_to_a_private_address_is_rejected(web: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """G16."""
    monkeypatch.setenv("ASSAY_GIT_HOSTS", "git.example.org")
    # The default event loop resolves names without Python.
    monkeypatch.setattr(uvloop, "new_event_loop", asyncio.new_event_loop)
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: [(2, 1, 6, "", ("169.254.169.254", 443))])
    refused = assay_here("scan", "https://git.example.org/acme/tools")
    assert "not on the public internet" in one_line(refused)
