"""A whole repository: every skill of its tree and of its manifests, by path."""

import json
from typing import Any

import pytest

from assay.model.repository import Host, RepositoryName
from assay.submit.repository import folders_in, name_skills
from tests.support.registry import Registry
from tests.support.skills import a_repository, a_skill

DISCOVER = "/api/v1/submissions/discover"
SUBMIT = "/api/v1/submissions"
ACME = RepositoryName(Host.GITHUB, "acme", "tools")


async def discovered(registry: Registry, repository: str = "acme/tools") -> dict[str, Any]:
    """What `discover` answers."""
    answer = await registry.client.post(DISCOVER, json={"repoUrl": f"{registry.web_url}/{repository}"})
    assert answer.status_code == 200, answer.text
    return answer.json()


@pytest.mark.parametrize(
    "layout",
    [
        "SKILL.md",
        "pdf/SKILL.md",
        "skills/pdf/SKILL.md",
        "skills/documents/pdf/SKILL.md",
        "plugins/office/skills/pdf/SKILL.md",
        "a/b/c/d/e/f/pdf/SKILL.md",
    ],
)
async def test_every_layout_is_found(registry: Registry, layout: str) -> None:
    """G22: wherever the folder lies."""
    registry.github.add_repository("acme/tools", files={layout: a_skill("pdf"), "README.md": "hello"})
    assert [each["path"] for each in (await discovered(registry))["skills"]] == [layout]


@pytest.mark.parametrize("plugins", [[], [{"name": "office", "source": "./plugins/office"}]])
async def test_a_manifest_hides_nothing(registry: Registry, plugins: list[object]) -> None:
    """G22: the union of manifest and tree; an empty manifest is not an empty repository."""
    files = {
        ".claude-plugin/marketplace.json": json.dumps({"name": "m", "plugins": plugins}),
        "plugins/office/skills/pdf/SKILL.md": a_skill("pdf"),
        "other/csv/SKILL.md": a_skill("csv"),
    }
    registry.github.add_repository("acme/tools", files=files)
    found = await discovered(registry)
    assert [each["path"] for each in found["skills"]] == [
        "other/csv/SKILL.md",
        "plugins/office/skills/pdf/SKILL.md",
    ]
    assert found["leftOut"] == []


async def test_what_cannot_be_submitted_says_why(registry: Registry) -> None:
    """G18: an agent's own folder, a promise without a skill, and a manifest that cannot be read."""
    files = {
        ".claude-plugin/marketplace.json": json.dumps(
            {"plugins": [{"source": "./gone"}, {"source": {"source": "npm"}}]}
        ),
        ".agents/plugins/marketplace.json": "{not json",
        ".claude/skills/own/SKILL.md": a_skill("own"),
        "skills/pdf/SKILL.md": a_skill("pdf"),
    }
    registry.github.add_repository("acme/tools", files=files)
    found = await discovered(registry)
    assert [each["name"] for each in found["skills"]] == ["pdf"]
    assert {each["path"] for each in found["leftOut"]} == {
        "gone",
        ".agents/plugins/marketplace.json",
        ".claude/skills/own/SKILL.md",
    }
    assert all(each["why"] for each in found["leftOut"])


async def test_a_repository_alone_submits_all_its_skills(registry: Registry) -> None:
    """G22: one URL, every skill; each goes its own way, and sending it again changes nothing."""
    registry.github.add_repository("acme/tools", files=a_repository("pdf", "csv", "greet"))
    body = {"repoUrl": f"{registry.web_url}/acme/tools"}
    first = await registry.client.post(SUBMIT, json=body)
    assert first.status_code == 201
    assert {each["skillName"] for each in first.json()["batch"]["results"]} == {"pdf", "csv", "greet"}
    again = await registry.client.post(SUBMIT, json=body)
    assert (again.status_code, again.json()["duplicate"], again.json()["batch"]["duplicates"]) == (200, True, 3)
    await registry.work()
    assert {each["status"] for each in (await discovered(registry))["skills"]} == {"verified"}
    after = await registry.client.post(SUBMIT, json=body)
    assert (after.json()["alreadyVerified"], after.json()["batch"]["reopened"]) == (True, 3)


async def test_a_repository_without_a_skill_is_told_so(registry: Registry) -> None:
    """G18: before anything is written."""
    registry.github.add_repository("acme/politics", files={"README.md": "no skill here"})
    answer = await registry.client.post(SUBMIT, json={"repoUrl": f"{registry.web_url}/acme/politics"})
    assert (answer.status_code, answer.json()["code"]) == (422, "no_skill")
    assert (await registry.client.get(SUBMIT)).json()["total"] == 0


async def test_a_rate_limit_is_not_an_empty_repository(registry: Registry) -> None:
    """G34: it says so, and when to come back."""
    registry.github.add_repository("acme/tools", files=a_repository("pdf"))
    registry.github.secondary_limit("tree", retry_after=7, times=None)
    answer = await registry.client.post(DISCOVER, json={"repoUrl": f"{registry.web_url}/acme/tools"})
    assert (answer.status_code, answer.json()["code"], answer.headers["Retry-After"]) == (503, "rate_limited", "7")


async def test_a_tree_that_one_answer_does_not_hold_hides_no_skill(registry: Registry) -> None:
    """G22, G37: read part by part: folders that fit into an answer, and the folders of one that does not."""
    ballast = {f"data/{folder}/{number}.md": "x" for folder in "abcdef" for number in range(5)}
    skills = {f"skills/{group}/{name}/SKILL.md": a_skill(name) for group in "xyz" for name in ("one", "two", "three")}
    manifest = {".claude-plugin/marketplace.json": json.dumps({"plugins": [{"source": "./gone"}]})}
    files = ballast | skills | manifest | {"SKILL.md": a_skill("root"), "skills/x/one/deep/er/SKILL.md": a_skill("er")}
    repository = registry.github.add_repository("acme/tools", files=files)
    whole = await discovered(registry)
    registry.app.finder._looks._results.clear()
    repository.tree_limit = 12
    registry.github.reset_calls()
    found = await discovered(registry)
    assert found["skills"] == whole["skills"]
    assert [each["path"] for each in found["leftOut"]] == ["gone"]
    assert len(found["skills"]) == 11
    # The root twice, three folders in it, and the two that do not fit into one answer with their own folders.
    assert registry.github.count("tree") == 2 + 3 + (1 + 6) + (1 + 3)
    submitted = await registry.client.post(SUBMIT, json={"repoUrl": f"{registry.web_url}/acme/tools"})
    assert (submitted.status_code, len(submitted.json()["batch"]["results"])) == (201, 11)


@pytest.mark.parametrize(
    ("files", "why"),
    [
        ({f"{number}.md": "x" for number in range(20)}, "a folder with more files than GitHub lists"),
        ({f"skills/{number}/x.md": "x" for number in range(600)}, "more folders than 500 answers"),
    ],
    ids=["folder", "folders"],
)
async def test_what_cannot_be_listed_whole_is_refused_and_never_a_part_of_it(
    registry: Registry, files: dict[str, str], why: str
) -> None:
    """G37: nothing is submitted of it, and the error says what to do."""
    repository = registry.github.add_repository("acme/tools", files=files | {"skills/pdf/SKILL.md": a_skill("pdf")})
    repository.tree_limit = 700 if "500" in why else 10
    answer = await registry.client.post(SUBMIT, json={"repoUrl": f"{registry.web_url}/acme/tools"})
    assert (answer.status_code, answer.json()["code"]) == (400, "tree_truncated")
    assert why in answer.json()["detail"]
    assert "by their paths" in answer.json()["detail"]
    assert (await registry.client.get(SUBMIT)).json()["total"] == 0


async def test_a_repository_that_is_not_there(registry: Registry) -> None:
    """A typed answer, not an empty list."""
    answer = await registry.client.post(DISCOVER, json={"repoUrl": f"{registry.web_url}/acme/nothing"})
    assert (answer.status_code, answer.json()["code"]) == (404, "source_not_found")


async def test_a_renamed_repository_keeps_its_identity(registry: Registry) -> None:
    """G54: the old name, the new name and any spelling lead to the same submissions."""
    repository = registry.github.add_repository("acme/tools", files=a_repository("pdf"))
    first = await registry.client.post(SUBMIT, json={"repoUrl": f"{registry.web_url}/acme/tools"})
    repository.rename("acme/better-tools")
    for name in ("acme/better-tools", "Acme/Better-Tools", "acme/tools"):
        again = await registry.client.post(SUBMIT, json={"repoUrl": f"{registry.web_url}/{name}.git"})
        assert (again.status_code, again.json()["id"]) == (200, first.json()["id"])


async def test_looks_at_the_same_time_are_one_look(registry: Registry) -> None:
    """G35: a burst of people with the same link costs GitHub one look."""
    registry.github.add_repository("acme/tools", files=a_repository("pdf"))
    for _ in range(5):
        await discovered(registry)
    assert registry.github.count("tree") == 1


def test_folders_that_are_called_alike_are_told_apart() -> None:
    """G55: each path gets a name of its own; a name that is known stays."""
    paths = ["plugins/a/skills/pdf/SKILL.md", "plugins/b/skills/pdf/SKILL.md", "pdf/SKILL.md", "x/y/pdf/SKILL.md"]
    names = name_skills(ACME, paths, {"plugins/b/skills/pdf/SKILL.md": "pdf-by-b"})
    assert names == {
        "plugins/b/skills/pdf/SKILL.md": "pdf-by-b",
        "pdf/SKILL.md": "pdf",
        "plugins/a/skills/pdf/SKILL.md": "a-pdf",
        "x/y/pdf/SKILL.md": "y-pdf",
    }
    assert name_skills(ACME, ["SKILL.md"], {}) == {"SKILL.md": "tools"}
    assert name_skills(ACME, ["x/SKILL.md"], {}) == {"x/SKILL.md": "x-2"}, "one letter is too short for a name"


def test_manifest_paths_are_read_in_all_their_forms() -> None:
    """G22: plugin root, dots, lists of skills; what lives elsewhere is not ours."""
    manifest = {
        "metadata": {"pluginRoot": "./plugins"},
        "plugins": [
            {"source": "./office/", "skills": ["./skills/pdf", "skills/csv"]},
            {"source": "tools", "skills": "./all"},
            {"source": {"source": "github", "repo": "other/repo"}},
        ],
    }
    assert folders_in(json.dumps(manifest).encode()) == {
        "plugins/office",
        "plugins/office/skills/pdf",
        "plugins/office/skills/csv",
        "plugins/tools",
        "plugins/tools/all",
    }
