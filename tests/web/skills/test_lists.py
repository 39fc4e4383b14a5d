"""Lists and searches over HTTP: filters, orders, pages, counts."""

from typing import Any
from uuid import uuid4

import pytest

from assay.model.blocklist import BlocklistEntry, BlocklistTarget, Threat
from assay.model.finding import Severity
from assay.model.skill import ListingStatus
from assay.moderation.blocklist import block
from assay.moderation.withdraw import restore, status_reason, unlist, withdraw, yank
from assay.serve.skills.query import SkillQuery
from assay.serve.skills.search import read_skills
from assay.store.skills.locks import lock_skill
from assay.store.skills.names import rename_listing
from tests.support.catalogue import publish as publish_versions
from tests.support.registry import Registry
from tests.support.skills import a_skill
from tests.support.web.listings import NOW, a_catalogue, listed, run
from tests.support.web.skills import LIST, SEARCH, found, publish

pytestmark = pytest.mark.process

FILTERED = [
    ({"category": "security"}, {"scan"}),
    ({"tier": "SCANNED"}, {"pdf", "poem"}),
    ({"category": "documents", "tier": "SCANNED"}, {"pdf"}),
    ({"category": "documents", "tier": "CERTIFIED"}, set()),
    ({"minTrust": "T2"}, {"csv", "scan", "poem"}),
    ({"minTrust": "T0"}, {"pdf", "csv", "scan", "poem"}),
    ({"author": "ACME"}, {"pdf", "csv"}),
    ({"author": "acme/tools"}, set()),
    ({"source": "zeta"}, {"scan", "poem"}),
    ({"source": "Zeta/Kit"}, {"scan", "poem"}),
    ({"source": "https://github.com/acme/tools.git"}, {"pdf", "csv"}),
    ({"source": "zeta/other"}, set()),
    ({"labels": "files"}, {"pdf", "csv"}),
    ({"labels": "OFFICE"}, {"pdf", "poem"}),
    ({"labels": "office, files"}, {"pdf"}),
    ({"labels": "it's \\ & | ! 'files'"}, set()),
    ({"labels": "office", "minTrust": "T2", "tier": "SCANNED", "source": "zeta"}, {"poem"}),
]


async def test_filters_apply_to_lists_and_searches(registry: Registry) -> None:
    """G59: every filter, alone and combined, with and without words."""
    await a_catalogue(registry)
    for given, wanted in FILTERED:
        assert set(await listed(registry, **given)) == wanted, given
        assert set(await listed(registry, **given, q="reads")) == wanted, given
        assert {name.rpartition("/")[2] for name in await found(registry, "reads", **given)} == wanted, given
        answer = (await registry.client.get(LIST, params=given)).json()
        assert (answer["total"], answer["totalIsExact"]) == (len(wanted), True), given
        assert answer["pagination"] == {"page": 1, "limit": 50, "total": len(wanted), "totalPages": bool(wanted)}


ORDERS = {
    "updated": ["poem", "scan", "csv", "pdf"],
    "newest": ["pdf", "csv", "scan", "poem"],
    "installs": ["poem", "pdf", "csv", "scan"],
    # Unknown is not zero and sorts after it.
    "stars": ["scan", "pdf", "poem", "csv"],
    "trending": ["csv", "pdf", "scan", "poem"],
    "name": ["csv", "pdf", "poem", "scan"],
}


async def test_every_order_by_cursor_and_by_page(registry: Registry) -> None:
    """G58: with and without filters and words, the pages contain every row once, in order."""
    await a_catalogue(registry)
    assert await listed(registry) == ORDERS["updated"]
    for sort, wanted in ORDERS.items():
        for given in ({}, {"q": "reads"}, {"minTrust": "T1"}, {"q": "reads", "minTrust": "T1"}):
            assert await pages(registry, sort=sort, **given) == wanted, (sort, given)
            numbered = [
                name
                for page in (1, 2, 3, 4, 5)
                for name in await listed(registry, sort=sort, limit=1, page=page, **given)
            ]
            assert numbered == wanted, (sort, given)


async def pages(registry: Registry, **given: Any) -> list[str]:
    """Return all pages of a list, one row each, by cursor."""
    seen, cursor = [], None
    while cursor is not None or not seen:
        query = {**given, "limit": 1, **({"cursor": cursor} if cursor else {})}
        page = (await registry.client.get(LIST, params=query)).json()
        seen += [each["name"].rpartition("/")[2] for each in page["skills"]]
        cursor = page["nextCursor"]
    return seen


async def test_cursor_of_another_list_is_rejected(registry: Registry) -> None:
    """G59: other words, filters or order."""
    await a_catalogue(registry)
    page = (await registry.client.get(LIST, params={"limit": 1, "sort": "stars", "q": "reads"})).json()
    cursor = page["nextCursor"]
    for other in (
        {"sort": "stars"},
        {"q": "reads", "sort": "trending"},
        {"q": "reads", "sort": "stars", "tier": "SCANNED"},
    ):
        answer = await registry.client.get(LIST, params={"limit": 1, "cursor": cursor, **other})
        assert (answer.status_code, answer.json()["code"]) == (400, "bad_cursor"), other


async def test_cursor_pages_are_stable_during_publishing(registry: Registry) -> None:
    """G58: no row is skipped or repeated."""
    names = {f"skill-{number}": f"One of many, the {number}th." for number in range(9)}
    await publish(registry, "acme/many", names)
    seen, cursor = [], None
    while cursor is not None or not seen:
        query = {"q": "many", "limit": 2, **({"cursor": cursor} if cursor else {})}
        page = (await registry.client.get(SEARCH, params=query)).json()
        seen += [each["name"] for each in page["results"]]
        if len(seen) == 4:
            await publish(registry, "zeta/many", {f"many-{number}": f"Many more, {number}." for number in range(3)})
        cursor = page["nextCursor"]
    assert sorted(name for name in seen if name.startswith("acme")) == sorted(f"acme/many/{name}" for name in names)
    assert len(seen) == len(set(seen))


async def test_catalogue_counts_agree(registry: Registry) -> None:
    """G12: list, categories, statistics, facets and page, also after a withdrawal."""
    await a_catalogue(registry)
    for total in (4, 3):
        answer = (await registry.client.get(LIST)).json()
        categories = (await registry.client.get("/api/v1/categories")).json()
        stats = (await registry.client.get("/api/v1/submissions/stats")).json()
        assert {answer["total"], categories["total"], stats["skills"], len(answer["skills"])} == {total}
        counted = {each["category"]: each["skills"] for each in categories["categories"]}
        assert answer["facets"]["category"] == {name: number for name, number in counted.items() if number}
        assert sum(counted.values()) == sum(answer["facets"]["tier"].values()) == total
        words = (await registry.client.get(LIST, params={"q": "reads"})).json()
        assert (words["facets"], words["total"]) == (answer["facets"], total)
        assert f"Skills {total}" in " ".join(
            (await registry.client.get("/skills")).text.replace("<", " <").split()
        ).replace('Skills <span class="quiet">', "Skills ")
        async with registry.app.store.begin() as db:
            if total == 4:
                await unlist(db, "zeta/kit/poem", status_reason("unlisted", "My wish.", at=NOW, by="zeta"))


async def test_search_reflects_changes_in_the_same_transaction(registry: Registry) -> None:
    """G62: words, lists and counts."""
    await publish(registry, "acme/tools", {"pdf": "Reads documents."})

    async def hits(words: str = "documents") -> list[str]:
        page = await read_skills(db, SkillQuery(words))
        everything = await read_skills(db, SkillQuery())
        assert len(everything.hits) == everything.total
        return [hit.skill.name for hit in page.hits]

    why = status_reason("test", "Because of the test.", at=NOW, by="tester")
    entry = BlocklistEntry(
        uuid4(),
        BlocklistTarget(repository="acme/tools"),
        Threat.MALWARE,
        Severity.CRITICAL,
        "Steals.",
        (),
        NOW,
        "admin",
        None,
    )
    async with registry.app.store.begin() as db:
        for act, bring_back in (
            (lambda: unlist(db, "acme/tools/pdf", why), ListingStatus.UNLISTED),
            (lambda: yank(db, "acme/tools/pdf", "1.0.0", why), None),
        ):
            savepoint = await db.begin_nested()
            assert await hits() == ["acme/tools/pdf"]
            await act()
            assert await hits() == []
            if bring_back:
                await restore(db, "acme/tools/pdf", of=bring_back, by="tester")
                assert await hits() == ["acme/tools/pdf"]
            await savepoint.rollback()
        for taken_down in (lambda: withdraw(db, "acme/tools/pdf", "1.0.0", why), lambda: block(db, entry)):
            savepoint = await db.begin_nested()
            await taken_down()
            assert await hits() == []
            await savepoint.rollback()
        await rename_listing(db, await lock_skill(db, "acme/tools/pdf"), "zeta/things/reader")
        assert (
            await hits("things") == await hits("zeta/things/reader") == await hits("reader") == ["zeta/things/reader"]
        )
        # The old name is an alias.
        assert await hits("acme/tools/pdf") == ["zeta/things/reader"]


async def test_search_uses_the_live_version(registry: Registry) -> None:
    """G62: the previous version's words match again after a yank."""
    files = {"skills/pdf/SKILL.md": a_skill("pdf", "Reads novels.")}
    repository = registry.github.add_repository("acme/tools", files=files)
    await registry.submit("acme/tools", "pdf", "skills/pdf/SKILL.md")
    await registry.work()
    repository.push({"skills/pdf/SKILL.md": a_skill("pdf", "Converts spreadsheets.")})
    await registry.submit("acme/tools", "pdf", "skills/pdf/SKILL.md")
    await registry.work()
    assert (await found(registry, "spreadsheets"), await found(registry, "novels")) == (["acme/tools/pdf"], [])
    async with registry.app.store.begin() as db:
        listing = await lock_skill(db, "acme/tools/pdf")
        await yank(
            db, "acme/tools/pdf", listing.current_version, status_reason("yanked", "It is broken.", at=NOW, by="acme")
        )
    assert (await found(registry, "spreadsheets"), await found(registry, "novels")) == ([], ["acme/tools/pdf"])


async def test_equal_content_is_one_hit(registry: Registry) -> None:
    """G57: represented by the listing with the most stars, then the oldest; an exact name represents itself."""
    same = a_skill("pdf", "Reads documents.")
    for repository in ("first/tools", "fork/tools", "other/tools"):
        registry.github.add_repository(repository, files={"SKILL.md": same})
        await registry.submit(repository, "pdf")
        await registry.work()
    assert await found(registry, "documents") == ["first/tools/pdf"]
    await run(registry, "UPDATE skill SET stars = 10 WHERE name = 'fork/tools/pdf'")
    answer = (await registry.client.get(SEARCH, params={"q": "documents"})).json()
    (hit,) = answer["results"]
    assert (hit["name"], answer["total"]) == ("fork/tools/pdf", 3)
    assert hit["alternateRepos"] == [
        {"ownerSlug": owner, "repoSlug": "tools", "repoUrl": f"{registry.web_url}/{owner}/tools"}
        for owner in ("first", "other")
    ]
    assert "Same content in first/tools, other/tools" in (await registry.client.get("/skills?q=documents")).text
    for asked in ("other/tools", "other/tools/pdf"):
        assert (await found(registry, asked))[0] == "other/tools/pdf"
    assert await found(registry, "documents", source="other") == ["other/tools/pdf"]
    # A list shows every listing.
    assert len(await listed(registry)) == 3
    # A withdrawn listing represents no others.
    await run(registry, "UPDATE skill SET standing = 'gone', standing_code = 'x', standing_message = 'y', "
              "standing_at = now(), standing_by = 'z' WHERE name = 'fork/tools/pdf'")  # fmt: skip
    assert await found(registry, "documents") == ["first/tools/pdf"]


async def test_copies_within_a_repository_are_all_listed(registry: Registry) -> None:
    """G57: only listings of other repositories are alternates."""
    same = a_skill("pdf", "Reads documents.")
    registry.github.add_repository("acme/tools", files={"a/SKILL.md": same, "b/SKILL.md": same})
    for folder in ("a", "b"):
        await registry.submit("acme/tools", f"pdf-{folder}", f"{folder}/SKILL.md", as_operator=True)
    await registry.work()
    assert sorted(await found(registry, "documents")) == ["acme/tools/pdf-a", "acme/tools/pdf-b"]


async def test_search_pages_show_equal_content_once(registry: Registry) -> None:
    """G57, G58: by cursor and by offset."""
    for owner in ("one", "two", "three"):
        await publish(registry, f"{owner}/tools", {f"skill-{number}": f"Reads things {number}." for number in range(4)})
    for step in ("cursor", "offset"):
        seen: list[str] = []
        query: dict[str, Any] = {"q": "things", "limit": 1}
        while True:
            page = (await registry.client.get(SEARCH, params=query)).json()
            seen += [each["skillSlug"] for each in page["results"]]
            if not page["pagination"]["hasMore"]:
                break
            query[step] = page["nextCursor"] if step == "cursor" else query.get("offset", 0) + 1
        assert sorted(seen) == [f"skill-{number}" for number in range(4)], step


async def test_exact_name_of_a_blocked_skill_returns_a_warning(registry: Registry) -> None:
    """G56: marked, and never before a live listing of the same name."""
    await publish(registry, "acme/tools", {"pdf": "Reads documents."})
    await publish(registry, "evil/tools", {"pdf": "Reads documents, says it.", "csv": "Reads tables."})
    entry = BlocklistEntry(
        uuid4(),
        BlocklistTarget(repository="evil/tools"),
        Threat.MALWARE,
        Severity.CRITICAL,
        "Steals keys.",
        (),
        NOW,
        "admin",
        None,
    )
    async with registry.app.store.begin() as db:
        await block(db, entry)
    assert await found(registry, "documents") == ["acme/tools/pdf"]
    assert await found(registry, "evil") == []
    results = (await registry.client.get(SEARCH, params={"q": "PDF"})).json()["results"]
    assert [(each["name"], each["isBlocked"], each["threatType"], each["severity"]) for each in results] == [
        ("acme/tools/pdf", False, None, None),
        ("evil/tools/pdf", True, "malware", "critical"),
    ]
    answer = (await registry.client.get(SEARCH, params={"q": "evil/tools/csv"})).json()
    assert [each["isBlocked"] for each in answer["results"]] == [True]
    assert (answer["total"], answer["facets"]["category"]) == (0, {})
    # A list contains only live listings.
    assert await listed(registry, q="pdf") == ["pdf"]
    page = (await registry.client.get("/skills?q=evil/tools/csv")).text
    assert "Do not use this skill (malware, critical)." in page
    assert "Steals keys." in page


async def test_vskill_cli_finds_its_fields(registry: Registry) -> None:
    """G60."""
    await publish(registry, "acme/tools", {"pdf": "Reads documents."})
    answer = await registry.client.get(SEARCH, params={"q": "pdf", "limit": 7})
    (hit,) = answer.json()["results"]
    assert {
        **{"name": "acme/tools/pdf", "author": "acme", "repoUrl": f"{registry.web_url}/acme/tools"},
        **{"certTier": "SCANNED", "description": "Reads documents.", "vskillInstalls": 0, "isTainted": False},
        **{"isBlocked": False, "threatType": None, "severity": None, "ownerSlug": "acme", "repoSlug": "tools"},
        **{"skillSlug": "pdf", "currentVersion": "1.0.0", "alternateRepos": []},
    }.items() <= hit.items()
    assert {"trustScore", "certScore", "githubStars", "trustTier"} <= hit.keys()
    assert answer.json()["pagination"]["hasMore"] is False
    assert answer.headers["X-Search-Source"] == "postgres"
    assert answer.headers["Server-Timing"].startswith("wait;dur=")
    assert (await registry.client.get(LIST)).headers["X-Search-Source"] == "postgres"


async def test_unchanged_list_returns_304(registry: Registry) -> None:
    """G99: the ETag changes exactly when the response does, without querying the catalogue."""
    name = await publish_versions(registry, "acme/tools", "Says hello.")
    for path in ("/api/v1/skills", "/api/v1/skills/search?q=greet"):
        first = await registry.client.get(path)
        known = {"If-None-Match": first.headers["etag"]}
        again = await registry.client.get(path, headers=known)
        assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", first.headers["etag"])
        await publish_versions(registry, "acme/tools", f"Says hello, after {path}.")
        changed = await registry.client.get(path, headers=known)
        assert (changed.status_code, changed.headers["etag"] == first.headers["etag"]) == (200, False)
        assert name in changed.text
