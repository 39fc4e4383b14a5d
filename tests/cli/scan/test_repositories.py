"""Skills in repositories on GitHub: at which commit, and what happens if GitHub has none."""

from pathlib import Path

from assay.github.fake import FakeGitHub
from tests.cli.here import assay_here, one_line
from tests.cli.scan.skills_here import below, skills_of, written
from tests.skills import a_bad_skill, a_repository, a_skill


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
