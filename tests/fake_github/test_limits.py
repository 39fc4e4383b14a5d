"""Rate limits of the fake GitHub."""

import pytest


@pytest.mark.parametrize("path", ["/api/repos/acme/tools", "/api/repos/acme/tools/commits/HEAD"])
async def test_unchanged_response_is_304_and_free(visitor, world, tools, path):
    first = await visitor.get(path, "good")
    again = await visitor.get(path, "good", If_None_Match=first.headers["ETag"])
    assert (304, b"", first.remaining) == (again.status, again.body, again.remaining)
    assert first.headers["ETag"] == again.headers["ETag"]
    assert world.count_api() == 1
    tools.push({"README.md": "new"})
    changed = await visitor.get(path, "good", If_None_Match=first.headers["ETag"])
    assert (200, first.remaining - 1) == (changed.status, changed.remaining)


async def test_etag_belongs_to_its_token(visitor, world, tools):
    world.add_token("other")
    etag = (await visitor.get("/api/repos/acme/tools", "good")).headers["ETag"]
    assert (await visitor.get("/api/repos/acme/tools", "other", If_None_Match=etag)).status == 200
    world.etags_differ_by_token = False
    etag = (await visitor.get("/api/repos/acme/tools", "good")).headers["ETag"]
    assert (await visitor.get("/api/repos/acme/tools", "other", If_None_Match=etag)).status == 304


async def test_anonymous_304_can_cost(visitor, world, tools):
    first = await visitor.get("/api/repos/acme/tools")
    free = await visitor.get("/api/repos/acme/tools", If_None_Match=first.headers["ETag"])
    world.anonymous_304_is_free = False
    charged = await visitor.get("/api/repos/acme/tools", If_None_Match=first.headers["ETag"])
    assert [free.status, charged.status] == [304, 304]
    assert [first.remaining, first.remaining - 1] == [free.remaining, charged.remaining]


async def test_rate_limit_headers(visitor, tools, clock):
    await visitor.get("/api/repos/acme/tools", "good")
    reply = await visitor.get("/api/repos/acme/nothing", "good")
    told = {name: reply.headers[f"X-RateLimit-{name}"] for name in ("Limit", "Remaining", "Used", "Resource")}
    assert told == {"Limit": "5000", "Remaining": "4998", "Used": "2", "Resource": "core"}
    assert int(clock.time) + 3600 == int(reply.headers["X-RateLimit-Reset"])


async def test_both_authorization_schemes(visitor, tools):
    assert (await visitor.get("/api/repos/acme/tools", Authorization="Bearer good")).remaining == 4999
    assert (await visitor.get("/api/repos/acme/tools", Authorization="token good")).remaining == 4998
    assert (await visitor.get("/api/repos/acme/tools")).remaining == 59


async def test_unknown_token_is_401(visitor, world, tools):
    world.revoke_token("good")
    for reply in (
        await visitor.get("/api/repos/acme/tools", "wrong"),
        await visitor.get("/api/repos/acme/tools", "good"),
        await visitor.get("/api/repos/acme/tools", Authorization="Basic eDp5"),
    ):
        assert (reply.status, reply.json["message"]) == (401, "Bad credentials")


async def test_exhausted_token_is_refused_until_reset(visitor, world, tools, clock):
    world.add_token("small", limit=10, used=9)
    assert (await visitor.get("/api/repos/acme/tools", "small")).remaining == 0
    refused = await visitor.get("/api/repos/acme/tools", "small")
    assert (refused.status, refused.headers["x-ratelimit-remaining"]) == (403, "0")
    assert refused.json["message"].startswith("API rate limit exceeded for user ID ")
    assert (await visitor.get("/api/repos/acme/tools", "good")).status == 200
    clock.time = float(refused.headers["X-RateLimit-Reset"])
    assert (
        (again := await visitor.get("/api/repos/acme/tools", "small")).status,
        again.remaining,
    ) == (200, 9)


async def test_exhausted_anonymous_client_is_refused(visitor, world, tools):
    world.limit_anonymous(1)
    world.exhausted_status = 429
    await visitor.get("/api/repos/acme/tools")
    refused = await visitor.get("/api/repos/acme/tools")
    assert (refused.status, refused.remaining) == (429, 0)
    assert refused.json["message"].startswith("API rate limit exceeded for 127.0.0.1.")
    assert world.count_api() == 1


async def test_rate_limit_endpoint_is_free(visitor, world, tools):
    world.add_token("small", limit=1)
    await visitor.get("/api/repos/acme/tools", "small")
    reply = await visitor.get("/api/rate_limit", "small")
    assert reply.status == 200
    assert {name: bucket["remaining"] for name, bucket in reply.json["resources"].items()} == {
        "core": 0,
        "search": 30,
        "code_search": 10,
    }
    assert reply.json["rate"] == reply.json["resources"]["core"]
    assert world.count_api() == 1


async def test_downloads_cost_nothing(visitor, world, tools):
    world.limit_anonymous(0)
    for path in ("/raw/acme/tools/HEAD/README.md", "/codeload/acme/tools/tar.gz/HEAD", "/web/acme/tools"):
        reply = await visitor.get(path)
        assert reply.status == 200
        assert "X-RateLimit-Limit" not in reply.headers
    assert world.count_api() == 0
