"""Uploads: an archive is processed like a repository, or rejected with file and reason."""

import asyncio
import gzip
import io
import struct
import tarfile
import tracemalloc
import zipfile
from typing import Any

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.fetch.limits import Limits
from assay.model.errors import Invalid
from assay.submit.upload import read_upload
from tests.support.archives import a_header, a_member, a_tar, a_zip, a_zip_with_link, an_odd_member, packed
from tests.support.registry import Registry
from tests.support.skills import a_bad_skill, a_skill
from tests.support.web.owners import KEY

MIB = 1024 * 1024
SKILL = {"SKILL.md": a_skill("greet"), "scripts/hello.py": "print('hello')\n", "技能.md": "你好"}
BELOW = {f"greet/{path}": content for path, content in SKILL.items()}
MAC_LITTER = {
    "__MACOSX/._greet": "junk",
    "__MACOSX/greet/._SKILL.md": "junk",
    "greet/.DS_Store": "junk",
    "greet/._SKILL.md": "junk",
    "greet/scripts/._hello.py": "junk",
}


async def send(registry: Registry, archive: bytes, name: str | None = None) -> httpx.Response:
    """Upload an archive over HTTP."""
    return await registry.client.post(
        "/api/v1/submissions/upload",
        files={"archive": ("skill.zip", archive)},
        data={"skillName": name} if name else {},
        headers=KEY,
    )


async def accepted(registry: Registry, archive: bytes, name: str | None = None) -> dict[str, Any]:
    """Return the response to an accepted upload."""
    answer = await send(registry, archive, name)
    assert answer.status_code in (200, 201), answer.text
    return answer.json()


async def served(registry: Registry, name: str = "local/uploads/greet") -> dict[str, Any]:
    """Return a listing over HTTP."""
    answer = await registry.client.get(f"/api/v1/skills/{name}")
    assert answer.status_code == 200, answer.text
    return answer.json()


def a_zip_with_folders() -> bytes:
    """Build a zip with folder entries, like desktop tools."""
    plain = io.BytesIO()
    with zipfile.ZipFile(plain, "w", zipfile.ZIP_DEFLATED) as archive:
        for folder in ("greet/", "greet/scripts/"):
            archive.writestr(folder, "")
        for path, content in BELOW.items():
            archive.writestr(path, content)
    return plain.getvalue()


GOOD = {
    "zip": a_zip(SKILL),
    "zip with a folder": a_zip(BELOW),
    "zip with folder entries": a_zip_with_folders(),
    "zip without compression": a_zip(BELOW, zipfile.ZIP_STORED),
    "zip made on a Mac": a_zip(BELOW | MAC_LITTER),
    "tar": a_tar(SKILL),
    "tar with a folder": a_tar(BELOW, an_odd_member("greet", tarfile.DIRTYPE)),
    "tar of the current folder": a_tar({f"./{path}": content for path, content in SKILL.items()}),
    "tar made on a Mac": a_tar(BELOW | {"greet/._SKILL.md": "junk", "._greet": "junk"}),
    "a file beside the folder": a_zip(BELOW | {"README.md": "outside"}),
}


@pytest.mark.process
@pytest.mark.parametrize("form", GOOD)
async def test_usual_archive_layouts_are_published(registry: Registry, form: str) -> None:
    """G18: with the same files and digest."""
    answer = await accepted(registry, GOOD[form])
    assert answer["state"] == "RECEIVED"
    await registry.work()
    detail = await registry.read(answer["id"])
    assert (detail["state"], detail["publishedSkillName"]) == ("PUBLISHED", "local/uploads/greet")
    listed = await served(registry)
    assert {file["path"] for file in listed["files"]} == set(SKILL)
    assert listed["skill"]["contentDigest"] == read_upload(GOOD["zip"], Limits()).source.digest


@pytest.mark.process
async def test_nested_skill_is_not_part_of_the_upload(registry: Registry) -> None:
    await accepted(registry, a_zip(SKILL | {"examples/other/SKILL.md": a_skill("other"), "examples/a.md": ""}))
    await registry.work()
    assert {file["path"] for file in (await served(registry))["files"]} == {*SKILL, "examples/a.md"}


async def test_name_precedence(registry: Registry) -> None:
    """given name, front matter, folder."""
    nameless = "---\ndescription: Says hello.\n---\n# Hello\n"
    names = [
        (await accepted(registry, a_zip(BELOW), "Given Name"), "Given Name"),
        (await accepted(registry, a_zip(BELOW)), "greet"),
        (await accepted(registry, a_zip({"a-folder/SKILL.md": nameless})), "a-folder"),
    ]
    for answer, name in names:
        assert (await registry.read(answer["id"]))["skillName"] == name
    refused = await send(registry, a_zip({"SKILL.md": nameless}))
    assert (refused.status_code, refused.json()["code"]) == (400, "bad_skill_name")


@pytest.mark.process
async def test_uploaded_skill_is_scanned(registry: Registry) -> None:
    """G18, G40."""
    answer = await accepted(registry, a_zip(a_bad_skill()))
    await registry.work()
    detail = await registry.read(answer["id"])
    assert detail["state"] == "TIER1_FAILED"
    assert "scripts/setup.sh line 2" in detail["reason"]["message"]


# Uploading again


@pytest.mark.process
async def test_same_content_is_known(registry: Registry) -> None:
    """G21: however it is packed."""
    first = await accepted(registry, a_zip(BELOW))
    await registry.work()
    answer = await send(registry, a_tar(SKILL))
    assert answer.status_code == 200
    again = answer.json()
    assert (again["id"], again["state"], again["duplicate"], again["alreadyVerified"]) == (
        first["id"],
        "PUBLISHED",
        True,
        True,
    )
    await registry.work()
    assert [version["version"] for version in (await served(registry))["versions"]] == ["1.0.0"]


@pytest.mark.process
async def test_changed_content_creates_a_version(registry: Registry) -> None:
    """G50, G52."""
    first = await accepted(registry, a_zip(BELOW))
    await registry.work()
    again = await accepted(registry, a_zip(BELOW | {"greet/more.md": "more"}))
    assert (again["id"], again["state"], again["duplicate"]) == (first["id"], "RECEIVED", False)
    await registry.work()
    listed = await served(registry)
    assert [version["version"] for version in listed["versions"]] == ["1.0.1", "1.0.0"]
    assert "more.md" in {file["path"] for file in listed["files"]}


async def test_same_content_while_waiting_is_a_duplicate(registry: Registry) -> None:
    """G15."""
    answers = await asyncio.gather(*(accepted(registry, a_zip(BELOW)) for _ in range(20)))
    assert len({answer["id"] for answer in answers}) == 1
    assert sum(not answer["duplicate"] for answer in answers) == 1


@pytest.mark.process
async def test_other_content_while_waiting_is_rejected(registry: Registry) -> None:
    """G21: it can be sent afterwards."""
    first = await accepted(registry, a_zip(BELOW))
    changed = a_zip(BELOW | {"greet/more.md": "more"})
    refused = await send(registry, changed)
    assert (refused.status_code, refused.json()["code"]) == (409, "upload_under_way")
    assert "greet is still RECEIVED" in refused.json()["detail"]
    await registry.work()
    assert (await accepted(registry, changed))["id"] == first["id"]
    await registry.work()
    assert "more.md" in {file["path"] for file in (await served(registry))["files"]}


# Rejected uploads


def a_zip_that_lies(content: bytes, claimed: int) -> bytes:
    """Build a zip whose headers claim a wrong size."""
    honest = bytearray(a_zip({"SKILL.md": content}))
    where = honest.index(b"PK\x01\x02")
    struct.pack_into("<I", honest, where + 24, claimed)
    struct.pack_into("<I", honest, 22, claimed)
    return bytes(honest)


def an_encrypted_zip() -> bytes:
    """Build a zip with the encryption flag."""
    sealed = bytearray(a_zip(SKILL))
    sealed[6] |= 1
    sealed[sealed.index(b"PK\x01\x02") + 8] |= 1
    return bytes(sealed)


def a_zip_of_a_device() -> bytes:
    """Build a zip with a character device."""
    device = zipfile.ZipInfo("dev")
    device.create_system = 3
    device.external_attr = 0o020666 << 16
    plain = io.BytesIO(a_zip(SKILL))
    with zipfile.ZipFile(plain, "a") as archive:
        archive.writestr(device, "")
    return plain.getvalue()


def a_zip_with_twins() -> bytes:
    """Build a zip with a duplicate name."""
    plain = io.BytesIO(a_zip(SKILL))
    with zipfile.ZipFile(plain, "a") as archive, pytest.warns(UserWarning, match="Duplicate name"):
        archive.writestr("SKILL.md", "evil")
    return plain.getvalue()


SEVERAL = {"a/SKILL.md": a_skill("one"), "b/SKILL.md": a_skill("two")}
REFUSED = {
    "empty": (b"", "bad_archive", "zip or tar.gz"),
    "text": (b"hello", "bad_archive", "zip or tar.gz"),
    "a bare tar": (a_header("SKILL.md") + bytes(1024), "bad_archive", "zip or tar.gz"),
    "an empty zip": (a_zip({}), "bad_archive", "zip or tar.gz"),
    "an empty tar": (a_tar({}), "no_skill", "no SKILL.md"),
    "only the start of a zip": (a_zip(SKILL)[:100], "bad_archive", "cannot be read"),
    "only the start of a tar": (a_tar(SKILL)[:100], "bad_archive", "cannot be read"),
    "gzip of something else": (gzip.compress(b"hello"), "bad_archive", "cannot be read"),
    "an encrypted zip": (an_encrypted_zip(), "bad_archive", "password"),
    "no skill in a zip": (a_zip({"README.md": "# Politics"}), "no_skill", "no SKILL.md"),
    "no skill in a tar": (a_tar({"skill.md": a_skill()}), "no_skill", "no SKILL.md"),
    "several skills": (a_zip(SEVERAL), "several_skills", "a/SKILL.md, b/SKILL.md"),
    "several skills in a tar": (a_tar(SEVERAL), "several_skills", "a/SKILL.md, b/SKILL.md"),
    "zip slip": (a_zip(BELOW | {"../../etc/cron.d/evil": "x"}), "unsafe_file", "'../../etc/cron.d/evil'"),
    "zip slip within": (a_zip(BELOW | {"greet/../../evil": "x"}), "unsafe_file", "'greet/../../evil'"),
    "absolute": (a_zip(BELOW | {"/etc/passwd": "x"}), "unsafe_file", "'/etc/passwd'"),
    "backslashes": (a_zip(BELOW | {"greet\\evil.md": "x"}), "unsafe_file", "forward slashes"),
    "control characters": (a_zip(BELOW | {"greet/a\x1b[2Jb": "x"}), "unsafe_file", "control"),
    "text that runs backwards": (a_zip(BELOW | {"greet/\u202edm.exe": "x"}), "unsafe_file", "invisible"),
    "too deep": (a_zip(BELOW | {"greet/" + "x/" * 40 + "y": "x"}), "unsafe_file", "deeper"),
    "tar slip": (a_tar(BELOW | {"../../etc/cron.d/evil": "x"}), "unsafe_file", "'../../etc/cron.d/evil'"),
    "zip with a link": (a_zip_with_link(BELOW, "greet/link", "/etc/passwd"), "unsafe_file", "'greet/link'"),
    "zip with a link outside": (a_zip_with_link(BELOW, "link", "/etc/passwd"), "unsafe_file", "'link'"),
    "zip with a device": (a_zip_of_a_device(), "unsafe_file", "'dev'"),
    "tar with a link": (
        a_tar(BELOW, an_odd_member("greet/link", tarfile.SYMTYPE, "/etc/passwd")),
        "unsafe_file",
        "'greet/link'",
    ),
    "tar with a hard link": (
        a_tar(BELOW, an_odd_member("greet/link", tarfile.LNKTYPE, "greet/SKILL.md")),
        "unsafe_file",
        "'greet/link'",
    ),
    "names that differ in case": (a_zip(SKILL | {"skill.MD": "x"}), "unsafe_file", "'skill.MD'"),
    "zip with twins": (a_zip_with_twins(), "bad_archive", "'SKILL.md' twice"),
    "tar with twins": (packed([a_member("SKILL.md", "a"), a_member("SKILL.md", "b")]), "bad_archive", "twice"),
    "a large file": (a_zip(SKILL | {"large.bin": bytes(MIB + 1)}), "file_too_large", "large.bin has 1048577 bytes"),
    "a zip bomb": (a_zip({f"{number}": bytes(MIB) for number in range(9)}), "archive_too_large", "more than 8388608"),
    "a tar bomb": (a_tar({f"{number}": bytes(MIB) for number in range(9)}), "archive_too_large", "more than 8388608"),
    "many files": (a_zip(SKILL | {f"{number}.md": "" for number in range(1000)}), "skill_too_large", "1003 files"),
    "a size that is too small": (a_zip_that_lies(bytes(10_000), 100), "bad_archive", "CRC"),
    "a size that is too large": (a_zip_that_lies(bytes(100), 10_000), "bad_archive", "middle of 'SKILL.md'"),
    "bzip2 in a zip": (a_zip(SKILL, zipfile.ZIP_BZIP2), "unsafe_file", "compression"),
    "lzma in a zip": (a_zip(SKILL, zipfile.ZIP_LZMA), "unsafe_file", "compression"),
}


async def test_invalid_upload_is_rejected_with_file_and_reason(registry: Registry) -> None:
    """G13, G18: nothing is stored."""
    for form, (archive, code, says) in REFUSED.items():
        answer = await send(registry, archive, "greet")
        assert answer.status_code == 400, (form, answer.text)
        assert answer.headers["content-type"].startswith("application/problem+json"), form
        body = answer.json()
        assert (form, body["status"], body["code"]) == (form, 400, code)
        assert says in body["detail"], (form, body["detail"])
    assert (await registry.client.get("/api/v1/submissions")).json()["total"] == 0
    assert [file for file in (registry.app.settings.data_dir / "blobs").rglob("*") if file.is_file()] == []


async def test_upload_without_an_archive_is_rejected(registry: Registry) -> None:
    answer = await registry.client.post("/api/v1/submissions/upload", files={"skillName": (None, "greet")}, headers=KEY)
    assert answer.status_code == 400
    assert "archive" in answer.json()["detail"]


def test_decompression_bomb_uses_no_memory() -> None:
    """G39: zip and bzip2."""
    zeros = bytes(64 * MIB)
    for bomb in (a_zip({"SKILL.md": zeros}), a_zip({"SKILL.md": zeros}, zipfile.ZIP_BZIP2), a_tar({"SKILL.md": zeros})):
        tracemalloc.start()
        with pytest.raises(Invalid):
            read_upload(bomb, Limits())
        _, peak_bytes = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak_bytes < 4 * MIB


def test_entries_are_counted_before_they_are_read() -> None:
    """G39."""
    crowd = a_zip({f"{number}": "" for number in range(30)})
    with pytest.raises(Invalid) as refused:
        read_upload(crowd, Limits(archive_entries=29))
    assert refused.value.code == "archive_too_large"


@settings(deadline=None)
@given(st.data(), st.sampled_from([a_zip(BELOW), a_zip(BELOW, zipfile.ZIP_STORED), a_zip_with_link(BELOW, "l", "x")]))
def test_damaged_zip_is_rejected_or_read(data: st.DataObject, whole: bytes) -> None:
    """Any other exception would be a 500."""
    damaged = bytearray(whole)
    for _ in range(data.draw(st.integers(1, 6))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    try:
        upload = read_upload(bytes(damaged), Limits())
    except Invalid as refused:
        assert refused.message
    else:
        assert upload.source.skill_md is not None
