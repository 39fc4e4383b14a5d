"""Commits and trees of the fake GitHub."""

import pytest

from tests.support.fake_github import FakeGitHub
from tests.support.github.plain_client import SKILL


@pytest.mark.parametrize("ref", ["HEAD", "trunk", "heads/trunk", "refs/heads/trunk"])
async def test_ref_resolves_to_its_commit(visitor, tools, ref):
    """HEAD, branch or sha."""
    reply = await visitor.get(f"/api/repos/acme/tools/commits/{ref}")
    assert reply.status == 200
    assert tools.sha == reply.json["sha"]
    assert reply.json["commit"]["committer"]["date"] == "2026-01-01T00:00:00Z"
    assert reply.json["commit"]["message"] == "Add files"
    assert len(reply.json["commit"]["tree"]["sha"]) == 40
    assert reply.json == (await visitor.get(f"/api/repos/acme/tools/commits/{tools.sha}")).json


async def test_push_moves_the_branch(visitor, tools):
    """old commits stay."""
    old = tools.sha
    new = tools.push({"README.md": b"new", "more.txt": "more", "skills/pdf/run.py": None})
    commit = await visitor.get("/api/repos/acme/tools/commits/HEAD")
    assert (new, [{"sha": old}]) == (commit.json["sha"], commit.json["parents"])
    assert (await visitor.get("/raw/acme/tools/HEAD/README.md")).body == b"new"
    assert (await visitor.get(f"/raw/acme/tools/{old}/README.md")).body == b"# Tools"
    assert (await visitor.get("/raw/acme/tools/HEAD/skills/pdf/run.py")).status == 404


async def test_push_to_another_branch(visitor, tools):
    head = tools.sha
    sha = tools.push({"README.md": "dev"}, branch="work/dev")
    assert head == (await visitor.get("/api/repos/acme/tools/commits/HEAD")).json["sha"]
    assert sha == (await visitor.get("/api/repos/acme/tools/commits/work/dev")).json["sha"]
    assert (await visitor.get("/raw/acme/tools/work/dev/README.md")).body == b"dev"
    assert (await visitor.get("/raw/acme/tools/refs/heads/trunk/README.md")).body == b"# Tools"


async def test_unknown_ref_is_422(visitor, tools):
    reply = await visitor.get("/api/repos/acme/tools/commits/nowhere")
    assert (reply.status, reply.json["message"]) == (422, "No commit found for SHA: nowhere")


async def test_empty_repository_is_409(visitor, world):
    world.add_repository("acme/empty")
    assert (await visitor.get("/api/repos/acme/empty")).status == 200
    reply = await visitor.get("/api/repos/acme/empty/commits/HEAD")
    assert (reply.status, reply.json["message"]) == (409, "Git Repository is empty.")
    assert (await visitor.get("/codeload/acme/empty/tar.gz/HEAD")).status == 404


def test_shas_follow_git():
    first, second = (FakeGitHub().add_repository("a/b", {"hello.txt": "hello\n"}) for _ in range(2))
    assert first.sha == second.sha
    assert first.head.files["hello.txt"].sha == "ce013625030ba8dba906f756967f9e9ca394464a"
    assert first.head.tree.sha == "aaa96ced2d9a1c8e72c56b253a0e2fe78393feb7"
    assert first.push({"hello.txt": "bye\n"}) != second.sha


async def test_recursive_tree(visitor, tools):
    reply = await visitor.get(f"/api/repos/acme/tools/git/trees/{tools.sha}?recursive=1")
    assert [
        ("README.md", "100644", "blob", 7),
        ("skills", "040000", "tree", None),
        ("skills/pdf", "040000", "tree", None),
        ("skills/pdf/SKILL.md", "100644", "blob", len(SKILL)),
        ("skills/pdf/run.py", "100755", "blob", 1),
    ] == [(entry["path"], entry["mode"], entry["type"], entry.get("size")) for entry in reply.json["tree"]]
    assert (tools.head.tree.sha, False) == (reply.json["sha"], reply.json["truncated"])


async def test_tree_of_one_folder(visitor, tools):
    top = await visitor.get("/api/repos/acme/tools/git/trees/trunk")
    assert [entry["path"] for entry in top.json["tree"]] == ["README.md", "skills"]
    below = await visitor.get(f"/api/repos/acme/tools/git/trees/{top.json['tree'][1]['sha']}")
    assert [entry["path"] for entry in below.json["tree"]] == ["pdf"]
    assert (await visitor.get(f"/api/repos/acme/tools/git/trees/{'0' * 40}")).status == 404


async def test_large_tree_is_truncated(visitor, tools):
    tools.tree_limit = 2
    reply = await visitor.get("/api/repos/acme/tools/git/trees/HEAD?recursive=1")
    assert (len(reply.json["tree"]), reply.json["truncated"]) == (2, True)
