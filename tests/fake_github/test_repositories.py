"""Repositories of the fake GitHub: what they say of themselves, and what becomes of their names."""

import pytest


async def test_a_repository_describes_itself(visitor, tools, server):
    """The fields the registry reads are there, and names are compared without regard to case."""
    reply = await visitor.get("/api/repos/ACME/Tools")
    assert reply.status == 200
    assert reply.json["full_name"] == "acme/tools"
    assert reply.json["owner"] == {"login": "acme", "type": "Organization"}
    assert (tools.id, "tools", "trunk", 12, False, False) == tuple(
        reply.json[key] for key in ("id", "name", "default_branch", "stargazers_count", "private", "archived")
    )
    assert f"{server.base_url}/web/acme/tools" == reply.json["html_url"]
    assert {"description", "pushed_at", "size"} <= reply.json.keys()
    assert reply.headers["Content-Type"] == "application/json; charset=utf-8"


async def test_a_changed_field_shows_at_once(visitor, tools):
    """Answers are remembered only until the repository changes."""
    await visitor.get("/api/repos/acme/tools")
    tools.stars = 13
    assert (await visitor.get("/api/repos/acme/tools")).json["stargazers_count"] == 13


def test_a_misspelt_field_is_an_error(tools):
    """A test that sets a field nobody reads fails instead of passing for the wrong reason."""
    with pytest.raises(AttributeError):
        tools.star = 13


async def test_an_unknown_repository_is_not_found(visitor):
    """The body is GitHub's."""
    reply = await visitor.get("/api/repos/acme/nothing")
    assert reply.status == 404
    assert (reply.json["message"], reply.json["status"]) == ("Not Found", "404")
    assert "documentation_url" in reply.json


@pytest.mark.parametrize("path", ["/", "/api", "/api/", "/api/repos/acme", "/raw", "/codeload/acme", "/nowhere/x/y"])
async def test_an_unknown_path_is_not_found(visitor, path):
    """No path makes the fake stumble."""
    assert (await visitor.get(path)).status == 404


async def test_an_old_name_redirects_to_the_number(visitor, tools, server):
    """After a rename the API answers 301 with the address by number, which works."""
    tools.rename("other/better")
    reply = await visitor.get("/api/repos/Acme/Tools")
    assert reply.status == 301
    assert f"{server.base_url}/api/repositories/{tools.id}" == reply.headers["Location"] == reply.json["url"]
    assert reply.json["message"] == "Moved Permanently"
    assert (await visitor.get(f"/api/repositories/{tools.id}")).json["full_name"] == "other/better"
    assert (await visitor.get("/api/repos/other/better")).status == 200


async def test_endpoints_below_an_old_name_redirect_too(visitor, tools, server):
    """The rest of the path and the query are kept."""
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
async def test_the_other_hosts_redirect_to_the_new_name(visitor, tools, server, path):
    """Raw, codeload and web know no numbers."""
    tools.rename("acme/better")
    reply = await visitor.get(path.format("acme/tools"))
    assert reply.status == 301
    assert server.base_url + path.format("acme/better") == reply.headers["Location"]
    assert (await visitor.get(path.format("acme/better"))).status == 200


async def test_a_name_used_again_no_longer_redirects(visitor, world, tools):
    """A new repository under an old name is another one, with another number."""
    tools.rename("acme/better")
    squatter = world.add_repository("acme/tools", {"README.md": "mine"})
    reply = await visitor.get("/api/repos/acme/tools")
    assert reply.status == 200
    assert squatter.id == reply.json["id"] != tools.id


def test_a_taken_name_is_refused(world, tools):
    """Neither a new nor a renamed repository takes another's name."""
    other = world.add_repository("acme/other")
    with pytest.raises(ValueError, match="exists already"):
        world.add_repository("ACME/tools")
    with pytest.raises(ValueError, match="exists already"):
        other.rename("acme/Tools")


async def test_a_deleted_repository_is_gone_everywhere(visitor, tools):
    """By name, by old name, by number and on the other hosts."""
    tools.rename("acme/better")
    tools.delete()
    for path in ("/api/repos/acme/better", "/api/repos/acme/tools", f"/api/repositories/{tools.id}"):
        assert (await visitor.get(path)).status == 404
    for path in ("/raw/acme/better/HEAD/README.md", "/codeload/acme/better/tar.gz/HEAD", "/web/acme/better"):
        assert (await visitor.get(path)).status == 404


async def test_a_private_repository_shows_only_to_its_readers(visitor, world):
    """Everybody else learns nothing of it, on any host."""
    world.add_token("reader")
    world.add_repository("acme/secret", {"a": "b"}, private=True, readers=["reader"])
    for path in ("/api/repos/acme/secret", "/raw/acme/secret/HEAD/a", "/codeload/acme/secret/tar.gz/HEAD"):
        assert (await visitor.get(path)).status == 404
        assert (await visitor.get(path, "good")).status == 404
        assert (await visitor.get(path, "reader")).status == 200


async def test_a_blocked_repository_answers_451(visitor, tools):
    """With GitHub's reason."""
    tools.blocked = True
    reply = await visitor.get("/api/repos/acme/tools/commits/HEAD")
    assert reply.status == 451
    assert (reply.json["message"], reply.json["block"]["reason"]) == ("Repository access blocked", "dmca")
    assert (await visitor.get("/codeload/acme/tools/tar.gz/HEAD")).status == 451


async def test_a_request_without_a_user_agent_is_forbidden(visitor, tools):
    """As GitHub's administrative rules have it."""
    assert (await visitor.get("/api/repos/acme/tools", User_Agent="")).status == 403
