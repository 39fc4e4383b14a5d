"""Lists and searches of the catalogue over HTTP: filters, orders, pages, numbers."""

from typing import Any
from uuid import uuid4

from assay.model.blocklist import BlocklistEntry, Target, Threat
from assay.model.finding import Severity
from assay.model.listing_status import Standing
from assay.moderation.blocklist import block
from assay.moderation.withdraw import remark, restore, unlist, withdraw, yank
from assay.serve.skills.query import SkillQuery
from assay.serve.skills.search import read_skills
from assay.store.versions.status import lock_skill, rename
from tests.support.catalogue import publish as publish_versions
from tests.support.registry import Registry
from tests.support.skills import a_skill
from tests.support.web.listings import NOW, a_catalogue, listed, run
from tests.web.skills.test_api import LIST, SEARCH, found, publish

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


async def test_filters_narrow_lists_and_searches_alike(registry: Registry) -> None:
    """G59: every filter, alone and together; with and without words the same listings."""
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
    # Unknown is not zero: it comes after it.
    "stars": ["scan", "pdf", "poem", "csv"],
    "trending": ["csv", "pdf", "scan", "poem"],
    "name": ["csv", "pdf", "poem", "scan"],
}


async def test_every_order_by_cursor_and_by_page(registry: Registry) -> None:
    """G58: the pages of every order, with and without filters and words, are the whole list, each once, in order."""
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
    """All pages of a list, one row each, by cursor."""
    seen, cursor = [], None
    while cursor is not None or not seen:
        query = {**given, "limit": 1, **({"cursor": cursor} if cursor else {})}
        page = (await registry.client.get(LIST, params=query)).json()
        seen += [each["name"].rpartition("/")[2] for each in page["skills"]]
        cursor = page["nextCursor"]
    return seen


async def test_a_cursor_is_of_one_list(registry: Registry) -> None:
    """G59: with other words, filters or another order it is refused and not misunderstood."""
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


async def test_hits_by_cursor_are_all_hits_while_others_are_published(registry: Registry) -> None:
    """G58: nothing that was there is left out or comes twice, whatever is published meanwhile."""
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


async def test_numbers_are_the_same_everywhere(registry: Registry) -> None:
    """G12: list, categories, statistics, facets and page say the same, and so they do after something is gone."""
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
                await unlist(db, "zeta/kit/poem", remark("unlisted", "My wish.", at=NOW, by="zeta"))


async def test_what_is_published_or_taken_down_is_seen_in_the_same_transaction(registry: Registry) -> None:
    """G62: there is no index that lags behind: words, lists and numbers follow before the commit."""
    await publish(registry, "acme/tools", {"pdf": "Reads documents."})

    async def hits(words: str = "documents") -> list[str]:
        page = await read_skills(db, SkillQuery(words))
        everything = await read_skills(db, SkillQuery())
        assert len(everything.hits) == everything.total
        return [hit.skill.name for hit in page.hits]

    why = remark("test", "Because of the test.", at=NOW, by="tester")
    entry = BlocklistEntry(
        uuid4(), Target(repository="acme/tools"), Threat.MALWARE, Severity.CRITICAL, "Steals.", (), NOW, "admin", None
    )
    async with registry.app.store.begin() as db:
        for act, bring_back in (
            (lambda: unlist(db, "acme/tools/pdf", why), Standing.UNLISTED),
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
        await rename(db, await lock_skill(db, "acme/tools/pdf"), "zeta/things/reader")
        assert (
            await hits("things") == await hits("zeta/things/reader") == await hits("reader") == ["zeta/things/reader"]
        )
        # The old name is another way to it.
        assert await hits("acme/tools/pdf") == ["zeta/things/reader"]


async def test_a_new_version_is_found_by_what_it_says(registry: Registry) -> None:
    """G62: the words of the version that is live, and no others; those of the one before when it is yanked."""
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
        await yank(db, "acme/tools/pdf", listing.current_version, remark("yanked", "It is broken.", at=NOW, by="acme"))
    assert (await found(registry, "spreadsheets"), await found(registry, "novels")) == ([], ["acme/tools/pdf"])


async def test_equal_content_is_one_hit(registry: Registry) -> None:
    """G57: the one with most stars stands for all, the oldest if they are equal; whoever is asked for stands for itself."""
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
    # A list is of listings: all of them are there.
    assert len(await listed(registry)) == 3
    # What is taken down stands for nobody.
    await run(registry, "UPDATE skill SET standing = 'gone', standing_code = 'x', standing_message = 'y', "
              "standing_at = now(), standing_by = 'z' WHERE name = 'fork/tools/pdf'")  # fmt: skip
    assert await found(registry, "documents") == ["first/tools/pdf"]


async def test_copies_in_one_repository_are_all_there(registry: Registry) -> None:
    """G57: only other repositories are alternates, so nothing of one's own is hidden."""
    same = a_skill("pdf", "Reads documents.")
    registry.github.add_repository("acme/tools", files={"a/SKILL.md": same, "b/SKILL.md": same})
    for folder in ("a", "b"):
        await registry.submit("acme/tools", f"pdf-{folder}", f"{folder}/SKILL.md")
    await registry.work()
    assert sorted(await found(registry, "documents")) == ["acme/tools/pdf-a", "acme/tools/pdf-b"]


async def test_pages_of_copies_show_each_content_once(registry: Registry) -> None:
    """G57, G58: forks of forks do not come again on the next page, by cursor or by offset."""
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


async def test_whoever_asks_for_what_was_blocked_is_warned(registry: Registry) -> None:
    """G56: by its name only, marked, and never before a live one of the same name."""
    await publish(registry, "acme/tools", {"pdf": "Reads documents."})
    await publish(registry, "evil/tools", {"pdf": "Reads documents, says it.", "csv": "Reads tables."})
    entry = BlocklistEntry(
        uuid4(),
        Target(repository="evil/tools"),
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
    # A list has only what is live.
    assert await listed(registry, q="pdf") == ["pdf"]
    page = (await registry.client.get("/skills?q=evil/tools/csv")).text
    assert "Do not use it (malware, critical)." in page
    assert "Steals keys." in page


async def test_the_vskill_cli_finds_all_it_reads(registry: Registry) -> None:
    """G60: the fields of the client that the old platform had."""
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


async def test_who_has_an_answer_already_is_told_so(registry: Registry) -> None:
    """G99: a tag for lists and searches, which changes exactly if the answer does; nobody asks the registry itself."""
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
