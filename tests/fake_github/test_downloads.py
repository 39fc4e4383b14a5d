"""Raw files, archives and pages of the fake GitHub."""

import io
import tarfile

import pytest

from tests.support.fake_github import FakeFile
from tests.support.github.plain_client import SKILL


async def test_raw_file(visitor, world):
    repository = world.add_repository("acme/raw", {"a b/ü.bin": b"\x00\xff"})
    for ref in ("main", "HEAD", repository.sha):
        reply = await visitor.get(f"/raw/acme/raw/{ref}/a%20b/%C3%BC.bin")
        assert (reply.status, reply.body) == (200, b"\x00\xff")
    assert (await visitor.get("/raw/acme/raw/HEAD/a b/ü.bin", If_None_Match=reply.headers["ETag"])).status == 304


@pytest.mark.parametrize("path", ["acme/tools/HEAD/missing", "acme/tools/nowhere/README.md", "no/body/HEAD/x"])
async def test_missing_raw_file_is_text(visitor, tools, path):
    reply = await visitor.get(f"/raw/{path}")
    assert (reply.status, reply.body) == (404, b"404: Not Found")


@pytest.mark.parametrize("ref", ["trunk", "refs/heads/trunk", "HEAD", None])
async def test_archive_of_a_commit(visitor, tools, ref):
    reply = await visitor.get(f"/codeload/acme/tools/tar.gz/{ref or tools.sha}")
    assert reply.status == 200
    assert "Content-Length" not in reply.headers
    with tarfile.open(fileobj=io.BytesIO(reply.body)) as tar:
        top = f"tools-{tools.sha}"
        assert tools.sha == tar.pax_headers["comment"]
        assert [
            top,
            f"{top}/README.md",
            f"{top}/skills",
            f"{top}/skills/pdf",
            f"{top}/skills/pdf/SKILL.md",
            f"{top}/skills/pdf/run.py",
        ] == tar.getnames()
        assert tar.extractfile(f"{top}/skills/pdf/SKILL.md").read() == SKILL
        assert tar.getmember(f"{top}/skills/pdf/run.py").mode == 0o775


async def test_link_in_tree_and_archive(visitor, world):
    repository = world.add_repository("acme/links", {"passwd": FakeFile(b"/etc/passwd", "120000")})
    tree = await visitor.get("/api/repos/acme/links/git/trees/HEAD")
    archive = await visitor.get("/codeload/acme/links/tar.gz/HEAD")
    assert tree.json["tree"][0]["mode"] == "120000"
    with tarfile.open(fileobj=io.BytesIO(archive.body)) as tar:
        member = tar.getmember(f"links-{repository.sha}/passwd")
        assert (member.issym(), member.linkname) == (True, "/etc/passwd")


async def test_archive_of_an_unknown_ref(visitor, tools):
    assert (await visitor.get("/codeload/acme/tools/tar.gz/nowhere")).status == 404
    assert (await visitor.get("/codeload/acme/tools/zip/trunk")).status == 404


async def test_hostile_archive_can_be_served(visitor, tools):
    await visitor.get("/codeload/acme/tools/tar.gz/HEAD")
    tools.archive_override = b"not an archive"
    assert (await visitor.get("/codeload/acme/tools/tar.gz/HEAD")).body == b"not an archive"


async def test_web_page(visitor, tools):
    reply = await visitor.get("/web/acme/tools")
    assert (reply.status, reply.headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    assert (await visitor.get("/web/acme/nothing")).status == 404
