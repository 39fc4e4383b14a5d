"""Repositories of the fake GitHub."""

import pytest

from tests.support.fake_github.repository import id_of_login


async def test_repository_fields(visitor, tools, server):
    """names are case-insensitive."""
    reply = await visitor.get("/api/repos/ACME/Tools")
    assert reply.status == 200
    assert reply.json["full_name"] == "acme/tools"
    assert reply.json["owner"] == {"login": "acme", "id": id_of_login("acme"), "type": "Organization"}
    assert (tools.id, "tools", "trunk", 12, False, False) == tuple(
        reply.json[key] for key in ("id", "name", "default_branch", "stargazers_count", "private", "archived")
    )
    assert f"{server.base_url}/web/acme/tools" == reply.json["html_url"]
    assert {"description", "pushed_at", "size"} <= reply.json.keys()
    assert reply.headers["Content-Type"] == "application/json; charset=utf-8"


async def test_changed_field_shows_at_once(visitor, tools):
    await visitor.get("/api/repos/acme/tools")
    tools.stars = 13
    assert (await visitor.get("/api/repos/acme/tools")).json["stargazers_count"] == 13


def test_misspelt_field_is_an_error(tools):
    with pytest.raises(AttributeError):
        tools.star = 13


async def test_unknown_repository_is_404(visitor):
    reply = await visitor.get("/api/repos/acme/nothing")
    assert reply.status == 404
    assert (reply.json["message"], reply.json["status"]) == ("Not Found", "404")
    assert "documentation_url" in reply.json


@pytest.mark.parametrize("path", ["/", "/api", "/api/", "/api/repos/acme", "/raw", "/codeload/acme", "/nowhere/x/y"])
async def test_unknown_path_is_404(visitor, path):
    assert (await visitor.get(path)).status == 404


async def test_old_name_redirects_to_the_id(visitor, tools, server):
    tools.rename("other/better")
    reply = await visitor.get("/api/repos/Acme/Tools")
    assert reply.status == 301
    assert f"{server.base_url}/api/repositories/{tools.id}" == reply.headers["Location"] == reply.json["url"]
    assert reply.json["message"] == "Moved Permanently"
    assert (await visitor.get(f"/api/repositories/{tools.id}")).json["full_name"] == "other/better"
    assert (await visitor.get("/api/repos/other/better")).status == 200


async def test_paths_below_an_old_name_redirect(visitor, tools, server):
    tools.rename("acme/better")
    by_number = f"{server.base_url}/api/repositories/{tools.id}"
    commit = await visitor.get("/api/repos/acme/tools/commits/HEAD")
    tree = await visitor.get(f"/api/repos/acme/tools/git/trees/{tools.sha}?recursive=1")
    assert f"{by_number}/commits/HEAD" == commit.headers["Location"]
    assert f"{by_number}/git/trees/{tools.sha}?recursive=1" == tree.headers["Location"]
    assert (await visitor.get(commit.headers["Location"].removeprefix(server.base_url))).status == 200
    assert (await visitor.get(tree.headers["Location"].removeprefix(server.base_url))).status == 200


@pytest.mark.parametrize(
    "path", ["/raw/{}/HEAD/README.md", "/codeload/{}/tar.gz/trunk", "/web/{}"], ids=["raw", "codeload", "web"]
)
async def test_other_hosts_redirect_to_the_new_name(visitor, tools, server, path):
    tools.rename("acme/better")
    reply = await visitor.get(path.format("acme/tools"))
    assert reply.status == 301
    assert server.base_url + path.format("acme/better") == reply.headers["Location"]
    assert (await visitor.get(path.format("acme/better"))).status == 200


async def test_reused_name_does_not_redirect(visitor, world, tools):
    tools.rename("acme/better")
    squatter = world.add_repository("acme/tools", {"README.md": "mine"})
    reply = await visitor.get("/api/repos/acme/tools")
    assert reply.status == 200
    assert squatter.id == reply.json["id"] != tools.id


def test_taken_name_is_rejected(world, tools):
    other = world.add_repository("acme/other")
    with pytest.raises(ValueError, match="exists already"):
        world.add_repository("ACME/tools")
    with pytest.raises(ValueError, match="exists already"):
        other.rename("acme/Tools")


async def test_deleted_repository_is_gone_everywhere(visitor, tools):
    tools.rename("acme/better")
    tools.delete()
    for path in ("/api/repos/acme/better", "/api/repos/acme/tools", f"/api/repositories/{tools.id}"):
        assert (await visitor.get(path)).status == 404
    for path in ("/raw/acme/better/HEAD/README.md", "/codeload/acme/better/tar.gz/HEAD", "/web/acme/better"):
        assert (await visitor.get(path)).status == 404


async def test_private_repository_is_hidden(visitor, world):
    world.add_token("reader")
    world.add_repository("acme/secret", {"a": "b"}, private=True, readers=["reader"])
    for path in ("/api/repos/acme/secret", "/raw/acme/secret/HEAD/a", "/codeload/acme/secret/tar.gz/HEAD"):
        assert (await visitor.get(path)).status == 404
        assert (await visitor.get(path, "good")).status == 404
        assert (await visitor.get(path, "reader")).status == 200


async def test_blocked_repository_is_451(visitor, tools):
    tools.blocked = True
    reply = await visitor.get("/api/repos/acme/tools/commits/HEAD")
    assert reply.status == 451
    assert (reply.json["message"], reply.json["block"]["reason"]) == ("Repository access blocked", "dmca")
    assert (await visitor.get("/codeload/acme/tools/tar.gz/HEAD")).status == 451


async def test_request_without_user_agent_is_403(visitor, tools):
    assert (await visitor.get("/api/repos/acme/tools", User_Agent="")).status == 403
