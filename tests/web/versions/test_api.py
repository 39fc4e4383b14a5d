"""Versions over HTTP: names, lists, details, comparisons, files and downloads."""

import hashlib
import io
import json
import tarfile
import zipfile
from typing import Any

import pytest

from assay.serve.versions.archive import ArchiveFormat, pack
from assay.serve.versions.compare import LARGEST_PATCHES_BYTES, LARGEST_TEXT_BYTES
from assay.store.skills.names import add_alias
from assay.store.skills.skills import get_skill
from tests.support.catalogue import agree, changes, publish, read
from tests.support.registry import SECRET, Registry
from tests.support.skills import a_skill
from tests.support.web.people import PAGE
from tests.support.web.submissions import refused

pytestmark = pytest.mark.process

SKILLS = "/api/v1/skills"


async def fetch(registry: Registry, path: str, **given: Any) -> Any:
    """Return the JSON of an existing path."""
    answer = await registry.client.get(path, params=given)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def publish_files(registry: Registry, repository: str, *commits: dict[str, str | bytes | None]) -> str:
    """Publish a skill with one version per set of files and return its name."""
    first, *others = commits
    known = registry.github.add_repository(repository, files={k: v for k, v in first.items() if v is not None})
    await registry.submit(repository, "greet")
    await registry.work()
    for files in others:
        known.push(files)
        await registry.submit(repository, "greet")
        await registry.work()
    return f"{repository}/greet"


async def test_skill_is_found_under_all_its_names(registry: Registry) -> None:
    """G55: full name in any case, short name, and former names; never another author's."""
    name = await publish(registry, "acme/tools", "Says hello.")
    async with registry.app.store.begin() as db:
        await add_alias(db, "Old-Greeter", (await get_skill(db, name)).id)
    for wanted in (name, "ACME/Tools/GREET", "greet", "GREET", "old-greeter", "-/-/greet"):
        answer = await registry.client.get(f"{SKILLS}/{wanted}")
        assert answer.status_code == 200, wanted
        assert answer.json()["skill"]["name"] == name
        moved = f"{SKILLS}/{name}" if wanted.lower() != name else None
        assert answer.headers.get("content-location") == moved, wanted
    for path, there in [
        ("greet/versions", f"{SKILLS}/{name}/versions"),
        ("greet/versions/1.0.0", f"{SKILLS}/{name}/versions/1.0.0"),
        ("greet/versions/1.0.0/files", f"{SKILLS}/{name}/versions/1.0.0/files"),
        ("greet/security", f"{SKILLS}/{name}/security"),
        ("greet/versions/diff?from=1.0.0", f"{SKILLS}/{name}/versions/diff"),
        ("greet/versions/compare?from=1.0.0&to=1.0.0", f"{SKILLS}/{name}/versions/compare"),
    ]:
        answer = await registry.client.get(f"{SKILLS}/{path}")
        assert (answer.status_code, answer.headers["content-location"]) == (200, there), answer.text
    for page in ("/skills/greet", "/skills/old-greeter"):
        answer = await registry.client.get(page, headers=PAGE)
        assert (answer.status_code, answer.headers["location"]) == (301, f"/skills/{name}")


async def test_repository_may_be_named_like_a_route(registry: Registry) -> None:
    """G55: `acme/versions/greet` and `acme/security/greet` are skills."""
    for repository in ("acme/versions", "acme/security", "acme/installs"):
        name = await publish(registry, repository, f"Of {repository}.")
        assert (await read(registry, name))["skill"]["name"] == name
        for part in ("versions", "security", "versions/latest", "versions/1.0.0/files"):
            assert (await fetch(registry, f"{SKILLS}/{name}/{part}"))["name"] == name


async def test_ambiguous_name_returns_300(registry: Registry) -> None:
    """G55: with all matches, best known first; the page offers a choice."""
    for owner, stars in (("acme", 3), ("umbrella", 50)):
        registry.github.add_repository(f"{owner}/kit", files={"SKILL.md": a_skill("pdf", f"Of {owner}.")}, stars=stars)
        await registry.submit(f"{owner}/kit", "pdf")
    await registry.work()
    choices = ["umbrella/kit/pdf", "acme/kit/pdf"]
    for path in ("pdf", "pdf/versions", "pdf/security", "PDF"):
        answer = await registry.client.get(f"{SKILLS}/{path}")
        assert (answer.status_code, answer.headers["content-type"]) == (300, "application/problem+json")
        assert (answer.json()["code"], answer.json()["choices"]) == ("ambiguous", choices)
    page = await registry.client.get("/skills/pdf", headers=PAGE)
    assert page.status_code == 300
    for each in choices:
        assert f'href="/skills/{each}"' in page.text
    refused(await registry.client.get(f"{SKILLS}/nobody"), 404, "There is no skill nobody")


async def test_renamed_repository_renames_its_listings(registry: Registry) -> None:
    """G54: the old name redirects; versions, feed and search agree."""
    name = await publish(registry, "acme/old", "Says hello.")
    known, _ = registry.github.directory.find("acme/old")
    known.rename("acme/new")
    await publish(registry, "acme/new", "Says goodbye.")
    listing = await read(registry, name)
    assert listing["skill"]["name"] == "acme/new/greet"
    assert [each["version"] for each in listing["versions"]] == ["1.0.1", "1.0.0"]
    assert (await registry.client.get(f"/skills/{name}", headers=PAGE)).headers["location"] == "/skills/acme/new/greet"
    assert [each["data"] for each in await changes(registry, "rename")] == [{"name": "acme/new/greet", "from": name}]
    await agree(registry, "acme/new/greet")


async def test_rename_does_not_take_over_an_existing_name(registry: Registry) -> None:
    """G55: a reused name belongs to its new listing."""
    await publish(registry, "acme/one", "First.")
    await publish(registry, "acme/two", "Second.")
    async with registry.app.store.begin() as db:
        await add_alias(db, "acme/two/greet", (await get_skill(db, "acme/one/greet")).id)
    assert (await read(registry, "acme/two/greet"))["skill"]["description"] == "Second."
    await agree(registry, "acme/one/greet", "acme/two/greet")


async def test_versions_are_listed_newest_first_with_their_changes(registry: Registry) -> None:
    """G50, G51: one numbering, cursor pages, and a `sha` for clients."""
    name = await publish_files(
        registry,
        "acme/tools",
        {"SKILL.md": a_skill("greet")},
        {"scripts/run.sh": "echo hello\n"},
        {"scripts/run.sh": None, "SKILL.md": a_skill("greet", "Says goodbye."), "a.txt": "a\n", "b.txt": "b\n"},
    )
    page = await fetch(registry, f"{SKILLS}/{name}/versions")
    assert [(each["version"], each["diffSummary"]) for each in page["versions"]] == [
        ("1.0.2", "2 files added, SKILL.md changed, scripts/run.sh removed"),
        ("1.0.1", "scripts/run.sh added"),
        ("1.0.0", "First version"),
    ]
    newest = page["versions"][0]
    assert newest.keys() >= {"certTier", "certScore", "createdAt", "contentHash", "status", "deprecated"}
    assert (page["currentVersion"], page["nextCursor"]) == ("1.0.2", None)
    seen, cursor = [], None
    for _ in range(3):
        part = await fetch(registry, f"{SKILLS}/{name}/versions", limit=1, **({"cursor": cursor} if cursor else {}))
        seen += part["versions"]
        cursor = part["nextCursor"]
    assert (seen, cursor) == (page["versions"], None)
    detail = await fetch(registry, f"{SKILLS}/{name}/versions/latest")
    text = a_skill("greet", "Says goodbye.")
    assert (detail["version"], detail["previous"], detail["content"]) == ("1.0.2", "1.0.1", text)
    assert detail["sha"] == hashlib.sha256(text.encode()).hexdigest()
    listing = await read(registry, name)
    assert (listing["skill"]["sha"], listing["skill"]["content"]) == (detail["sha"], text)
    assert listing["versions"] == page["versions"]
    for odd in ("9.9.9", "beta", "%00", "1.0.0%2Fx", "x" * 300):
        refused(await registry.client.get(f"{SKILLS}/{name}/versions/{odd}"), 404, "")


async def test_text_hash_ignores_line_endings(registry: Registry) -> None:
    """A byte order mark and carriage returns change the bytes, not the text."""
    text = a_skill("greet")
    name = await publish_files(
        registry, "acme/tools", {"SKILL.md": b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode()}
    )
    listing = (await read(registry, name))["skill"]
    assert listing["content"] == text
    assert listing["sha"] == hashlib.sha256(text.encode()).hexdigest()


async def test_comparing_two_versions(registry: Registry) -> None:
    """Files, lines and capabilities, in both directions, and a version with itself."""
    name = await publish_files(
        registry,
        "acme/tools",
        {"SKILL.md": a_skill("greet", body="Old text."), "logo.png": b"\x89PNG\x00\x01", "notes.md": "Same.\n"},
        {
            "SKILL.md": a_skill("greet", body="New text.\n\nRun `scripts/get.sh`."),
            "logo.png": b"\x89PNG\x00\x02",
            "notes.md": None,
            "docs/notes.md": "Same.\n",
            "scripts/get.sh": '#!/bin/sh\ncurl -s https://api.weather-service.io/v1 -H "X: $GREETING_TOKEN"\n',
        },
    )
    found = await fetch(registry, f"{SKILLS}/{name}/versions/compare", **{"from": "1.0.0", "to": "1.0.1"})
    files = {each["filename"]: each for each in found["files"]}
    assert {path: each["status"] for path, each in files.items()} == {
        "SKILL.md": "modified", "logo.png": "modified", "docs/notes.md": "renamed", "scripts/get.sh": "added",
    }  # fmt: skip
    assert files["docs/notes.md"]["previousFilename"] == "notes.md"
    assert (files["logo.png"]["binary"], files["logo.png"]["patch"]) == (True, None)
    assert (files["SKILL.md"]["additions"], files["SKILL.md"]["deletions"]) == (3, 1)
    assert "-Old text.\n+New text.\n" in files["SKILL.md"]["patch"]
    assert found["capabilities"]["added"]["hosts"] == ["api.weather-service.io"]
    assert found["capabilities"]["added"]["environment"] == ["GREETING_TOKEN"]
    assert "curl" in found["capabilities"]["added"]["programs"]
    assert not any(found["capabilities"]["removed"].values())
    assert found["githubCompareUrl"] == (
        f"{registry.web_url}/acme/tools/compare/{found['baseSha']}...{found['headSha']}"
    )
    diff = await fetch(registry, f"{SKILLS}/{name}/versions/diff", **{"from": "1.0.0"})
    assert (diff["from"], diff["to"], diff["diffSummary"]) == ("1.0.0", "1.0.1", found["diffSummary"])
    assert "Binary files a/logo.png and b/logo.png differ\n" in diff["contentDiff"]
    assert "--- /dev/null\n+++ b/scripts/get.sh\n@@ -0,0 +1,2 @@\n+#!/bin/sh\n" in diff["contentDiff"]
    back = await fetch(registry, f"{SKILLS}/{name}/versions/compare", **{"from": "1.0.1", "to": "1.0.0"})
    assert back["capabilities"]["removed"]["hosts"] == ["api.weather-service.io"]
    same = await fetch(registry, f"{SKILLS}/{name}/versions/diff", **{"from": "1.0.0", "to": "1.0.0"})
    assert (same["contentDiff"], same["diffSummary"]) == ("", "No file changed")
    refused(await registry.client.get(f"{SKILLS}/{name}/versions/diff"), 400, "from")
    refused(await registry.client.get(f"{SKILLS}/{name}/versions/compare?from=7.7.7"), 404, "has no version 7.7.7")
    page = await registry.client.get(f"/skills/{name}/compare?from=1.0.0&to=1.0.1", headers=PAGE)
    for shown in ("api.weather-service.io", "New text.", "Renamed from notes.md", "not text"):
        assert shown in page.text


async def test_comparison_is_bounded(registry: Registry) -> None:
    """Large files are listed but not shown; the total is limited."""
    large = {f"{number}.txt": f"{number}\n" * 40_000 for number in range(8)}
    huge = {"huge.txt": "x\n" * LARGEST_TEXT_BYTES}
    name = await publish_files(registry, "acme/tools", {"SKILL.md": a_skill("greet")}, {**large, **huge})
    found = await fetch(registry, f"{SKILLS}/{name}/versions/compare", **{"from": "1.0.0"})
    files = {each["filename"]: each for each in found["files"]}
    assert len(files) == 9
    assert files["huge.txt"]["patch"] is None
    assert 0 < sum(len(each["patch"] or "") for each in files.values()) <= LARGEST_PATCHES_BYTES * 1.5
    assert any(each["patch"] is None for path, each in files.items() if path != "huge.txt")


async def test_files_are_served_inertly(registry: Registry) -> None:
    """As text or attachment; never sniffed, framed or scripted."""
    page = "<!doctype html><script>alert(1)</script>"
    name = await publish_files(
        registry, "acme/tools", {"SKILL.md": a_skill("greet"), "docs/ä page.html": page, "logo.png": b"\x89PNG\x00"}
    )
    listed = await fetch(registry, f"{SKILLS}/{name}/versions/1.0.0/files")
    assert [each["path"] for each in listed["files"]] == ["SKILL.md", "docs/ä page.html", "logo.png"]
    url = f"{SKILLS}/{name}/versions/1.0.0/files"
    answer = await registry.client.get(f"{url}/docs/ä page.html")
    assert (answer.text, answer.headers["content-type"]) == (page, "text/plain; charset=utf-8")
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "sandbox" in answer.headers["content-security-policy"]
    tag = answer.headers["etag"]
    assert tag == f'"{hashlib.sha256(page.encode()).hexdigest()}"'
    again = await registry.client.get(f"{url}/docs/ä page.html", headers={"If-None-Match": f'"other", {tag}'})
    assert (again.status_code, again.content) == (304, b"")
    answer = await registry.client.get(f"{url}/logo.png")
    assert (answer.content, answer.headers["content-type"]) == (b"\x89PNG\x00", "application/octet-stream")
    assert answer.headers["content-disposition"].startswith("attachment")
    for odd in ("nothing.txt", "../SKILL.md", "%2e%2e/SKILL.md", "docs", "%00"):
        answer = await registry.client.get(f"{url}/{odd}")
        assert answer.status_code == 404, odd
    shown = await registry.client.get(f"/skills/{name}/versions/1.0.0/files/docs/ä page.html", headers=PAGE)
    assert shown.status_code == 200
    assert "&lt;script&gt;alert(1)" in shown.text
    assert "<script>alert" not in shown.text


@pytest.mark.parametrize("kind", ["zip", "tar.gz"])
async def test_download_is_reproducible(registry: Registry, kind: str) -> None:
    """Same bytes, sorted, without times or owners, also for two listings of the same content."""
    files = {"SKILL.md": a_skill("greet"), "z.txt": "z" * 200_000, "a/b.sh": "echo\n", "empty": "", "p" * 150: "long\n"}
    name = await publish_files(registry, "acme/tools", files)
    fork = await publish_files(registry, "umbrella/fork", dict(reversed(list(files.items()))))
    url = f"{SKILLS}/{name}/versions/1.0.0/download"
    answer = await registry.client.get(url, params={"format": kind})
    assert answer.status_code == 200
    other = await registry.client.get(f"{SKILLS}/{fork}/versions/latest/download", params={"format": kind})
    assert answer.content == other.content
    assert (
        answer.headers["etag"] == other.headers["etag"] == f'"{(await read(registry, name))["skill"]["contentDigest"]}"'
    )
    assert f"greet-1.0.0.{kind}" in answer.headers["content-disposition"]
    again = await registry.client.get(url, params={"format": kind}, headers={"If-None-Match": answer.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert unpacked(answer.content, kind) == {f"greet/{path}": text.encode() for path, text in files.items()}
    refused(await registry.client.get(url, params={"format": "rar"}), 400, "format")


def unpacked(archive: bytes, kind: str) -> dict[str, bytes]:
    """Return the files of an archive after checking their order and metadata."""
    if kind == "zip":
        with zipfile.ZipFile(io.BytesIO(archive)) as opened:
            assert opened.testzip() is None
            assert {each.date_time for each in opened.infolist()} == {(1980, 1, 1, 0, 0, 0)}
            assert opened.namelist() == sorted(opened.namelist())
            return {each: opened.read(each) for each in opened.namelist()}
    with tarfile.open(fileobj=io.BytesIO(archive), mode="r:gz") as tar:
        members = tar.getmembers()
        assert {(each.mtime, each.uid, each.gid, each.uname, each.mode) for each in members} == {(0, 0, 0, "", 0o644)}
        assert [each.name for each in members] == sorted(each.name for each in members)
        return {each.name: tar.extractfile(each).read() for each in members}


def test_archive_bytes_do_not_change_between_releases() -> None:
    """A mirror can verify hashes from a year ago."""
    files = {"SKILL.md": b"# Hello\n", "scripts/run.sh": b"echo\n" * 30_000}
    made = {kind: hashlib.sha256(b"".join(pack(files, "greet", kind))).hexdigest() for kind in ArchiveFormat}
    assert made == {
        ArchiveFormat.ZIP: "132f00fde84d333f8e2da0d67b9eae8a87bc392cfe67563d18accf24a7948525",
        ArchiveFormat.TAR_GZ: "c8effa52b17833fdd1ac6dc57ae51be1489c10850ccc8a441458ee46927b154b",
    }


async def test_equal_content_has_one_canonical_listing(registry: Registry) -> None:
    """G57: most stars, then oldest; the others are alternates on the page and in the API."""
    for repository, stars in (("acme/first", 5), ("umbrella/known", 70), ("late/copy", 5)):
        registry.github.add_repository(repository, files={"SKILL.md": a_skill("greet")}, stars=stars)
        await registry.submit(repository, "greet")
        await registry.work()
    await publish(registry, "other/thing", "Not the same.")
    for name in ("acme/first/greet", "umbrella/known/greet", "late/copy/greet"):
        listing = await read(registry, name)
        order = ["umbrella/known/greet", "acme/first/greet", "late/copy/greet"]
        assert listing["canonical"] == order[0]
        assert [each["name"] for each in listing["alternates"]] == [each for each in order if each != name]
    assert (await read(registry, "other/thing/greet"))["alternates"] == []
    page = (await registry.client.get("/skills/late/copy/greet", headers=PAGE)).text
    assert 'href="/skills/umbrella/known/greet"' in page
    assert "the preferred listing" in page
    # If it is removed, the next one becomes canonical.
    url = "/api/v1/skills/umbrella/known/greet/versions/1.0.0/yank"
    answer = await registry.client.post(url, json={"reason": "Moved away."}, headers={"X-Internal-Key": SECRET})
    assert answer.status_code == 200, answer.text
    left = await read(registry, "late/copy/greet")
    assert (left["canonical"], [each["name"] for each in left["alternates"]]) == (
        "acme/first/greet", ["acme/first/greet"],
    )  # fmt: skip


async def test_security_summary_for_installers(registry: Registry) -> None:
    """PASS with one provider per scan and no critical finding."""
    name = await publish(registry, "acme/tools", "Says hello.")
    found = await fetch(registry, f"{SKILLS}/{name}/security")
    assert (found["overallVerdict"], found["reportUrl"]) == ("PASS", f"{registry.app.settings.base_url}/skills/{name}")
    assert [(each["status"], each["criticalCount"]) for each in found["providers"]] == [
        ("PASS", 0),
        *[("PENDING", 0)] * 3,
    ]
    assert json.dumps(found)
