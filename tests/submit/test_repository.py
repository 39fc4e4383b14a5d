"""Whole repositories: every skill in the tree and in manifests."""

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
    """Return the response of `discover`."""
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
    """G22."""
    registry.github.add_repository("acme/tools", files={layout: a_skill("pdf"), "README.md": "hello"})
    assert [each["path"] for each in (await discovered(registry))["skills"]] == [layout]


@pytest.mark.parametrize("plugins", [[], [{"name": "office", "source": "./plugins/office"}]])
async def test_manifest_hides_nothing(registry: Registry, plugins: list[object]) -> None:
    """G22: the union of manifest and tree is used."""
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


async def test_skills_that_cannot_be_submitted_have_a_reason(registry: Registry) -> None:
    """G18: agent configuration folders, missing skills and unreadable manifests."""
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


@pytest.mark.process
async def test_repository_url_submits_all_skills(registry: Registry) -> None:
    """G22: idempotently."""
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


async def test_repository_without_skills_is_rejected(registry: Registry) -> None:
    """G18."""
    registry.github.add_repository("acme/politics", files={"README.md": "no skill here"})
    answer = await registry.client.post(SUBMIT, json={"repoUrl": f"{registry.web_url}/acme/politics"})
    assert (answer.status_code, answer.json()["code"]) == (422, "no_skill")
    assert (await registry.client.get(SUBMIT)).json()["total"] == 0


async def test_rate_limit_is_not_an_empty_repository(registry: Registry) -> None:
    """G34."""
    registry.github.add_repository("acme/tools", files=a_repository("pdf"))
    registry.github.secondary_limit("tree", retry_after=7, times=None)
    answer = await registry.client.post(DISCOVER, json={"repoUrl": f"{registry.web_url}/acme/tools"})
    assert (answer.status_code, answer.json()["code"], answer.headers["Retry-After"]) == (503, "rate_limited", "7")


async def test_truncated_tree_hides_no_skill(registry: Registry) -> None:
    """G22, G37: it is read folder by folder."""
    ballast = {f"data/{folder}/{number}.md": "x" for folder in "abcdef" for number in range(5)}
    skills = {f"skills/{group}/{name}/SKILL.md": a_skill(name) for group in "xyz" for name in ("one", "two", "three")}
    manifest = {".claude-plugin/marketplace.json": json.dumps({"plugins": [{"source": "./gone"}]})}
    files = ballast | skills | manifest | {"SKILL.md": a_skill("root"), "skills/x/one/deep/er/SKILL.md": a_skill("er")}
    repository = registry.github.add_repository("acme/tools", files=files)
    whole = await discovered(registry)
    registry.app.finder._inspections._results.clear()
    repository.tree_limit = 12
    registry.github.reset_calls()
    found = await discovered(registry)
    assert found["skills"] == whole["skills"]
    assert [each["path"] for each in found["leftOut"]] == ["gone"]
    assert len(found["skills"]) == 11
    # The root twice, three folders in it, and the two large ones with their own folders.
    assert registry.github.count("tree") == 2 + 3 + (1 + 6) + (1 + 3)
    submitted = await registry.client.post(SUBMIT, json={"repoUrl": f"{registry.web_url}/acme/tools"})
    assert (submitted.status_code, len(submitted.json()["batch"]["results"])) == (201, 11)


@pytest.mark.parametrize(
    ("files", "why"),
    [
        ({f"{number}.md": "x" for number in range(20)}, "a folder has more files than GitHub lists"),
        ({f"skills/{number}/x.md": "x" for number in range(600)}, "more folders than 500 responses"),
    ],
    ids=["folder", "folders"],
)
async def test_tree_that_cannot_be_listed_completely_is_rejected(
    registry: Registry, files: dict[str, str], why: str
) -> None:
    """G37: nothing is submitted."""
    repository = registry.github.add_repository("acme/tools", files=files | {"skills/pdf/SKILL.md": a_skill("pdf")})
    repository.tree_limit = 700 if "500" in why else 10
    answer = await registry.client.post(SUBMIT, json={"repoUrl": f"{registry.web_url}/acme/tools"})
    assert (answer.status_code, answer.json()["code"]) == (400, "tree_truncated")
    assert why in answer.json()["detail"]
    assert "by their paths" in answer.json()["detail"]
    assert (await registry.client.get(SUBMIT)).json()["total"] == 0


async def test_missing_repository_is_an_error(registry: Registry) -> None:
    answer = await registry.client.post(DISCOVER, json={"repoUrl": f"{registry.web_url}/acme/nothing"})
    assert (answer.status_code, answer.json()["code"]) == (404, "source_not_found")


async def test_renamed_repository_keeps_its_identity(registry: Registry) -> None:
    """G54."""
    repository = registry.github.add_repository("acme/tools", files=a_repository("pdf"))
    first = await registry.client.post(SUBMIT, json={"repoUrl": f"{registry.web_url}/acme/tools"})
    repository.rename("acme/better-tools")
    for name in ("acme/better-tools", "Acme/Better-Tools", "acme/tools"):
        again = await registry.client.post(SUBMIT, json={"repoUrl": f"{registry.web_url}/{name}.git"})
        assert (again.status_code, again.json()["id"]) == (200, first.json()["id"])


async def test_concurrent_lookups_share_one_request(registry: Registry) -> None:
    """G35."""
    registry.github.add_repository("acme/tools", files=a_repository("pdf"))
    for _ in range(5):
        await discovered(registry)
    assert registry.github.count("tree") == 1


def test_folders_with_the_same_name_get_distinct_names() -> None:
    """G55: known names are kept."""
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


def test_manifest_path_forms() -> None:
    """G22: plugin root, dots and lists; external paths are ignored."""
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
