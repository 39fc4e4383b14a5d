"""Checks that tables, edge copy, search, feed, pages and JSON agree about the catalogue."""

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sqlalchemy import text

from assay.store.feed.edge_rows import read_lag
from assay.store.submissions.counts import count_all_rows, count_by_state
from tests.support.edge_copies import expected, meaning_of
from tests.support.edge_stores import contents_of
from tests.support.processes import until
from tests.support.registry import SECRET, Registry

BROWSER = {"accept": "text/html"}
DOWN = frozenset({"tombstone", "unlist"})


@dataclass
class Told:
    """A listing as one view describes it: status, live version, and all versions with their status, oldest first."""

    name: str
    is_live: bool
    current: str
    versions: dict[str, str] = field(default_factory=dict)
    deprecated: set[str] = field(default_factory=set)
    tags: dict[str, str] = field(default_factory=dict)


async def check_agreement(registry: Registry, folder: Path) -> int:
    """Compare all views while nothing is being written, and return the number of live listings."""
    await until(lambda: _is_level(registry))
    truth = await _truth(registry)
    live = {each.name: each for each in truth.values() if each.is_live}
    assert await replay(registry) == truth, "the feed tells something else than the tables"
    await _check_edge(registry, folder, live)
    await _check_lists(registry, live)
    for told in truth.values():
        await _check_listing(registry, told)
    await _check_blocklist(registry)
    async with registry.app.store.begin() as db:
        assert await count_by_state(db) == await count_all_rows(db)
    return len(live)


async def replay(registry: Registry) -> dict[str, Told]:
    """Rebuild the catalogue from the change feed alone, by listing id."""
    known: dict[str, Told] = {}
    since, has_more = 0, True
    while has_more:
        page = (await registry.client.get("/api/v1/changes", params={"since": since, "limit": 500})).json()
        serials = [each["serial"] for each in page["changes"]]
        assert serials == sorted(set(serials))
        for each in page["changes"]:
            if each["skillId"] is not None:
                _follow(known, each["skillId"], each["kind"], each["data"])
        since, has_more = page["nextSince"], page["hasMore"]
    return known


def _follow(known: dict[str, Told], skill_id: str, kind: str, data: dict[str, Any]) -> None:
    """Apply one change like a mirror."""
    if kind == "publish":
        assert skill_id not in known, "published for the first time twice"
        known[skill_id] = Told(data["name"], True, data["version"], {data["version"]: "live"})
        return
    told = known[skill_id]
    version = data.get("version")
    match kind:
        case "version":
            assert version not in told.versions
            told.versions[version] = "live"
            told.current = version
        case "update":
            told.current = version
        case "yank" | "withdraw":
            told.versions[version] = "yanked" if kind == "yank" else "withdrawn"
            _fall_back(told)
        case "unyank":
            order = list(told.versions)
            is_usable = told.versions[told.current] == "live"
            told.versions[version] = "live"
            if not is_usable or order.index(version) > order.index(told.current):
                told.current = version
            _fall_back(told)
        case "deprecate":
            told.deprecated.add(version)
        case "undeprecate":
            told.deprecated.discard(version)
        case "tag":
            told.tags |= {data["tag"]: version}
            told.tags = {tag: each for tag, each in told.tags.items() if each is not None}
        case "rename":
            assert told.name == data["from"]
            told.name = data["name"]
        case "restore":
            assert not told.is_live, "brought back though it was live"
            told.is_live = True
            _fall_back(told)
        case _:
            assert kind in DOWN, kind
            told.is_live = False
    if kind not in ("rename", "publish"):
        assert told.name == data["name"]


def _fall_back(told: Told) -> None:
    """Keep the live version if it is usable, otherwise fall back to the newest usable one."""
    usable = [version for version, status in told.versions.items() if status == "live"]
    if told.versions[told.current] != "live" and usable:
        told.current = usable[-1]


async def _truth(registry: Registry) -> dict[str, Told]:
    """Return the catalogue from the tables."""
    async with registry.app.store.snapshot() as db:
        rows = await db.execute(
            text(
                "SELECT skill.id, skill.name, standing = 'live' AS is_live, version, status,"
                " deprecation_code IS NOT NULL AS is_deprecated, skill_version.id = current_version_id AS is_current"
                " FROM skill JOIN skill_version ON skill_version.skill_id = skill.id ORDER BY skill.id, ordinal"
            )
        )
        known: dict[str, Told] = {}
        for row in rows:
            told = known.setdefault(str(row.id), Told(row.name, row.is_live, ""))
            told.versions[row.version] = row.status
            if row.is_current:
                told.current = row.version
            if row.is_deprecated:
                told.deprecated.add(row.version)
        tags = await db.execute(
            text("SELECT dist_tag.skill_id, tag, version FROM dist_tag JOIN skill_version ON id = version_id")
        )
        for row in tags:
            known[str(row.skill_id)].tags[row.tag] = row.version
    return known


async def _is_level(registry: Registry) -> bool:
    """Return whether the workers have projected every change."""
    async with registry.app.store.begin() as db:
        return (await read_lag(db, await registry.app.edge.read_serial())).waiting == 0


async def _check_edge(registry: Registry, folder: Path, live: dict[str, Told]) -> None:
    """Compare the edge copy with a rebuilt one and with the live listings."""
    edge = registry.app.edge
    keys = {key.removeprefix("skill:") for key in await contents_of(edge) if key.startswith("skill:")}
    assert keys == set(live)
    meaning, wanted = await meaning_of(edge), await expected(registry, folder)
    both = {key: (meaning.get(key), wanted.get(key)) for key in meaning.keys() | wanted.keys()}
    assert {key: pair for key, pair in both.items() if pair[0] != pair[1]} == {}
    registry.app.copy.forget()
    cards = (await registry.app.copy.snapshot()).cards
    assert {card.name for card in cards} == set(live)
    for name, told in live.items():
        assert (await registry.app.copy.find(name)).skill.current_version == told.current
    health = await registry.client.get("/api/v1/admin/health/skills", headers={"X-Internal-Key": SECRET})
    found = health.json()
    counts = (found["prisma_count"], found["kv_enumerated_count"], found["counter_count"])
    assert (counts, found["differences"]) == ((len(live),) * 3, []), found


async def _check_lists(registry: Registry, live: dict[str, Told]) -> None:
    """Compare the list, its total, the counters, the statistics and the page."""
    page = (await registry.client.get("/api/v1/skills", params={"limit": 100})).json()
    listed = {each["name"]: each["currentVersion"] for each in page["skills"]}
    assert listed == {name: told.current for name, told in live.items()}
    assert page["total"] == len(live)
    categories = Counter(each["category"] for each in page["skills"])
    assert {kind: number for kind, number in page["facets"]["category"].items() if number} == categories
    stats = (await registry.client.get("/api/v1/stats")).json()
    assert stats["skills"] == len(live)
    usable = [version for told in live.values() for version in told.versions.values() if version == "live"]
    assert stats["versions"] == len(usable)
    shown = (await registry.client.get("/skills", headers=BROWSER)).text
    if 0 < len(live) <= 20:
        assert all(f'href="/skills/{name}"' in shown for name in live)


async def _check_listing(registry: Registry, told: Told) -> None:
    """Compare a listing's JSON, page, versions and search result."""
    get = registry.client.get
    answer = await get(f"/api/v1/skills/{told.name}")
    shown = await get(f"/skills/{told.name}", headers=BROWSER)
    assert answer.status_code == shown.status_code == (200 if told.is_live else 410), (told, answer.text)
    results = (await get("/api/v1/skills/search", params={"q": told.name})).json()["results"]
    found = [each["name"] for each in results if not each["isBlocked"]]
    if not told.is_live:
        assert told.name not in found
        return
    assert found[0] == told.name
    body = answer.json()
    assert (body["skill"]["currentVersion"], body["tags"]) == (told.current, told.tags)
    assert {each["version"]: each["status"] for each in body["versions"]} == told.versions
    assert {each["version"] for each in body["versions"] if each["deprecated"]} == told.deprecated
    assert told.current in shown.text
    newest = await get(f"/api/v1/skills/{told.name}/versions/latest")
    assert newest.json()["version"] == told.current


async def _check_blocklist(registry: Registry) -> None:
    """Check that nothing blocked is live, and that list, edge copy and tables have the same entries."""
    holding = {each["id"] for each in (await registry.client.get("/api/v1/blocklist")).json()["entries"]}
    async with registry.app.store.begin() as db:
        rows = await db.execute(text("SELECT id FROM blocklist_entry WHERE lifted_at IS NULL"))
        assert {str(number) for number in rows.scalars()} == holding
    assert {str(entry.id) for entry in await registry.app.copy.blocklist()} == holding
    skills = (await registry.client.get("/api/v1/skills", params={"limit": 100})).json()["skills"]
    for each in skills:
        checked = await registry.client.get("/api/v1/blocklist/check", params={"name": each["name"]})
        assert not checked.json()["blocked"], each["name"]
