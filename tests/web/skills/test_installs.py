"""Installs, updates, counts and badges; nothing about the installing client is stored."""

import asyncio
import hashlib
import json
from datetime import timedelta
from typing import Any
from xml.etree import ElementTree

import httpx
import pytest
from sqlalchemy import text

from assay.maintenance.schedule import count_installs
from assay.store.skills.installs import find_wrong_installs
from assay.web.app import create_app
from tests.support.catalogue import publish, read
from tests.support.registry import Registry, open_registry
from tests.support.skills import a_repository, a_skill
from tests.support.web.owners import ask
from tests.support.web.people import MovableTime, a_browser, a_token, bearer, with_settings

pytestmark = pytest.mark.process

SKILLS = "/api/v1/skills"


async def report(
    registry: Registry,
    name: str,
    address: str = "192.0.2.1",
    agent: str = "vskill-cli",
    token: str | None = None,
    **body: Any,
) -> Any:
    """Report an install from a client."""
    headers = {"user-agent": agent, **(bearer(token) if token else {})}
    async with a_browser(create_app(registry.app), address=(address, 1)) as client:
        answer = await client.post(f"{SKILLS}/{name}/installs", json=body, headers=headers)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def fold(registry: Registry) -> None:
    """Run the periodic job that folds installs."""
    async with registry.app.store.begin() as db:
        await count_installs(db, clock=registry.app.clock)
        assert await find_wrong_installs(db, registry.app.clock.now().date()) == []


async def numbers(registry: Registry, name: str) -> tuple[int, int, int]:
    """Return total, 7-day and 30-day installs."""
    skill = (await read(registry, name))["skill"]
    assert skill["installs"] == skill["vskillInstalls"]
    return skill["installs"], skill["trendingScore7d"], skill["trendingScore30d"]


async def test_install_counts_once_per_client_and_day(registry: Registry) -> None:
    """G14: no address is stored."""
    name = await publish(registry, "acme/tools", "Says hello.")
    first = await report(registry, name, version="1.0.0", source="cli", platform="linux", cliVersion="1.0.18")
    assert first == {"ok": True, "received": 1, "counted": 1, "unknown": []}
    assert (await report(registry, name))["counted"] == 0
    assert (await report(registry, "greet"))["counted"] == 0
    assert (await report(registry, name, address="192.0.2.2"))["counted"] == 1
    assert await numbers(registry, name) == (0, 0, 0)
    await fold(registry)
    await fold(registry)
    assert await numbers(registry, name) == (2, 2, 2)
    async with registry.app.store.begin() as db:
        kept = (await db.execute(text("SELECT * FROM install_event"))).mappings().all()
    assert "192.0.2" not in str([dict(row) for row in kept])
    plain = {hashlib.sha256(f"192.0.2.1{gap}vskill-cli".encode()).hexdigest() for gap in ("", "\n", " ")}
    assert not {row["client"].removeprefix("sha256:") for row in kept} & plain


@pytest.mark.parametrize(
    ("first", "second", "counted"),
    [
        ("192.0.2.1", "192.0.2.2", 1),
        ("2001:db8:1:2::1", "2001:db8:1:2:ffff::9", 0),
        ("2001:db8:1:2::1", "2001:db8:1:3::1", 1),
    ],
)
async def test_one_address_counts_once(registry: Registry, first: str, second: str, counted: int) -> None:
    """Any user agent; one machine has all addresses of an IPv6 /64."""
    name = await publish(registry, "acme/tools", "Says hello.")
    reports = [await report(registry, name, first, agent=f"client/{number}") for number in range(5)]
    assert [each["counted"] for each in reports] == [1, 0, 0, 0, 0]
    assert (await report(registry, name, second))["counted"] == counted


async def test_account_counts_once_from_any_address(registry: Registry) -> None:
    """People behind one address count separately if they send a token."""
    name = await publish(registry, "acme/tools", "Says hello.")
    alice, bob = await a_token(registry.app, "alice"), await a_token(registry.app, "bob")
    assert (await report(registry, name, token=alice))["counted"] == 1
    assert (await report(registry, name, "192.0.2.99", token=alice))["counted"] == 0
    assert (await report(registry, name, token=bob))["counted"] == 1
    assert (await report(registry, name))["counted"] == 1


async def test_one_caller_counts_for_a_limited_number_of_skills(registry: Registry) -> None:
    """Also with concurrent reports; those of other callers still count."""
    names = ["pdf", "csv", "xml", "doc"]
    registry.github.add_repository("acme/tools", files=a_repository(*names))
    for name in names:
        await registry.submit("acme/tools", name, f"skills/{name}/SKILL.md")
    await registry.work()
    limited = create_app(with_settings(registry.app, limit_installs=2))
    async with a_browser(limited) as client, a_browser(limited, address=("192.0.2.9", 1)) as other:
        body = [{"skills": [{"skillName": f"acme/tools/{name}"}, {"skillName": name}]} for name in names]
        answers = await asyncio.gather(*(client.post(f"{SKILLS}/installs", json=each) for each in body))
        assert sum(each.json()["counted"] for each in answers) == 2
        everything = {"skills": [{"skillName": name} for name in names]}
        assert (await client.post(f"{SKILLS}/installs", json=everything)).json()["counted"] == 0
        assert (await other.post(f"{SKILLS}/installs", json=everything)).json()["counted"] == 2
    assert (await registry.client.post(f"{SKILLS}/installs", json=everything)).json()["counted"] == 2


async def test_trending_counts_expire(registry: Registry, settings: Any, github: Any) -> None:
    """G14: reports are deleted, daily counts and totals are kept."""
    time = MovableTime()
    async with open_registry(settings, github, time.clock) as later:
        name = await publish(later, "acme/tools", "Says hello.")
        for day in range(3):
            await report(later, name)
            await report(later, name, address=f"192.0.2.{day + 10}")
            await fold(later)
            time.pass_by(timedelta(days=1).total_seconds())
        assert await numbers(later, name) == (6, 6, 6)
        for days, expected in ((5, (6, 2, 6)), (4, (6, 0, 6)), (30, (6, 0, 0))):
            time.pass_by(timedelta(days=days).total_seconds())
            await fold(later)
            assert await numbers(later, name) == expected
        async with later.app.store.begin() as db:
            assert (await db.execute(text("SELECT count(*) FROM install_event"))).scalar_one() == 0
            assert (await db.execute(text("SELECT sum(number) FROM install_day"))).scalar_one() == 6
        await report(later, name)
        await fold(later)
        assert await numbers(later, name) == (7, 1, 1)


async def test_daily_count_survives_the_deletion_of_its_reports(registry: Registry) -> None:
    """Also if only some are deleted."""
    name = await publish(registry, "acme/tools", "Says hello.")
    for number in range(3):
        await report(registry, name, address=f"192.0.2.{number}")
    await fold(registry)
    async with registry.app.store.begin() as db:
        await db.execute(text("DELETE FROM install_event WHERE ctid IN (SELECT ctid FROM install_event LIMIT 2)"))
    await fold(registry)
    assert await numbers(registry, name) == (3, 3, 3)


async def test_unknown_names_in_an_install_report_are_listed(registry: Registry) -> None:
    """They fail nothing; an oversized body is rejected."""
    name = await publish(registry, "acme/tools", "Says hello.")
    skills = [{"skillName": each} for each in (name, "greet", "no/such/skill", "a\x00b", "-/-/greet")]
    answer = await registry.client.post(f"{SKILLS}/installs", json={"skills": skills, "source": "cli"})
    assert answer.json() == {
        "ok": True, "received": 5, "counted": 1, "unknown": sorted(["-/-/greet", "a\x00b", "no/such/skill"]),
    }  # fmt: skip
    many = {"skills": [{"skillName": "x"}] * 101}
    assert (await registry.client.post(f"{SKILLS}/installs", json=many)).status_code == 400
    large = {"skills": [{"skillName": "x" * 70_000}]}
    assert (await registry.client.post(f"{SKILLS}/installs", json=large)).status_code == 413
    assert (await report(registry, "no/such/skill"))["unknown"] == ["no/such/skill"]


async def test_update_check_reports_newer_versions(registry: Registry) -> None:
    """G51: the same text under another number is no update."""
    name = await publish(registry, "acme/tools", "Says hello.", "Says goodbye.")
    newest = a_skill("greet", "Says goodbye.")
    sha = hashlib.sha256(newest.encode()).hexdigest()
    skills = [
        {"name": name, "currentVersion": "1.0.1"},
        {"name": "greet", "currentVersion": "1.0.0"},
        {"name": name, "currentVersion": "0.9.0"},
        {"name": name, "currentVersion": "weird\x00"},
        {"name": name, "currentVersion": "1.0.0", "sha": sha},
        {"name": name, "currentVersion": "1.0.0", "sha": "0" * 64},
        {"name": "nobody/has/this", "currentVersion": "1.0.0"},
    ]
    body = {"skills": skills, "platform": "linux", "cliVersion": "1.0.18"}
    results = (await registry.client.post(f"{SKILLS}/check-updates", json=body)).json()["results"]
    assert [each["updateAvailable"] for each in results] == [False, True, True, True, False, True, False]
    assert [each["versionBump"] for each in results] == [None, "patch", "major", None, None, "patch", None]
    assert results[1]["diffSummary"] == "SKILL.md changed"
    assert (results[1]["name"], results[1]["installed"], results[1]["latest"]) == ("greet", "1.0.0", "1.0.1")
    assert (results[1]["certTier"], results[1]["certScore"]) == ("SCANNED", 100)
    assert (results[6]["latest"], results[6]["code"]) == (None, "skill_not_found")
    # After a yank, the previous version is the newest.
    await ask(registry, name, "versions/1.0.1/yank")
    results = (await registry.client.post(f"{SKILLS}/check-updates", json=body)).json()["results"]
    assert {each["latest"] for each in results} == {"1.0.0", None}
    many = {"skills": [{"name": "x", "currentVersion": "1"}] * 101}
    answer = await registry.client.post(f"{SKILLS}/check-updates", json=many)
    assert (answer.status_code, "Maximum 100 skills per request" in answer.text) == (400, True)
    assert (answer.json()["code"], "in batches of 100" in answer.json()["detail"]) == ("too_many_skills", True)


async def test_version_zero_means_unknown(registry: Registry) -> None:
    """G51: 0.0.0 is neither accepted from an author nor reported to a client."""
    text = a_skill("greet").replace("name: greet", "name: greet\nversion: 0.0.0")
    registry.github.add_repository("acme/tools", files={"SKILL.md": text})
    await registry.submit("acme/tools", "greet")
    await registry.work()
    name = "acme/tools/greet"
    assert (await read(registry, name))["skill"]["currentVersion"] == "1.0.0"
    asked = {"skills": [{"name": name, "currentVersion": "0.0.0"}]}
    [told] = (await registry.client.post(f"{SKILLS}/check-updates", json=asked)).json()["results"]
    assert (told["installed"], told["latest"], told["versionBump"]) == (None, "1.0.0", None)
    assert told["updateAvailable"]


async def test_line_endings_are_no_update(registry: Registry) -> None:
    """Clients hash the text, the registry the bytes."""
    text_, path = a_skill("greet"), "SKILL.md"
    repository = registry.github.add_repository("acme/tools", files={path: a_skill("greet", "Older.")})
    await registry.submit("acme/tools", "greet")
    await registry.work()
    repository.push({path: text_.replace("\n", "\r\n")})
    await registry.submit("acme/tools", "greet")
    await registry.work()
    sha = hashlib.sha256(text_.encode()).hexdigest()
    body = {"skills": [{"name": "acme/tools/greet", "currentVersion": "1.0.0", "sha": sha}]}
    [result] = (await registry.client.post(f"{SKILLS}/check-updates", json=body)).json()["results"]
    assert (result["latest"], result["updateAvailable"]) == ("1.0.1", False)


async def test_counts_agree_everywhere(registry: Registry) -> None:
    """G12: stats, list, queue and home page, also after withdrawals."""
    registry.github.add_repository("acme/tools", files=a_repository("pdf", "csv", "xml"))
    for name in ("pdf", "csv", "xml"):
        await registry.submit("acme/tools", name, f"skills/{name}/SKILL.md")
    await registry.work()
    other = await publish(registry, "umbrella/kit", "Says hello.", "Says goodbye.")
    await ask(registry, "acme/tools/pdf", "unlist")
    await ask(registry, other, "versions/1.0.0/yank")
    await report(registry, other)
    await fold(registry)
    stats = (await registry.client.get("/api/v1/stats")).json()
    queue = (await registry.client.get("/api/v1/submissions/stats")).json()
    listed = (await registry.client.get(SKILLS)).json()
    assert stats["skills"] == listed["total"] == queue["skills"] == len(listed["skills"]) == 3
    assert sum(stats["byCategory"].values()) == sum(stats["byTier"].values()) == 3
    assert (stats["versions"], stats["repositories"], stats["authors"], stats["installs"]) == (3, 2, 2, 1)
    assert stats["submissions"]["total"] == queue["total"] == sum(queue["byState"].values())
    assert {key: queue[key] for key in queue if key in stats["submissions"]} == stats["submissions"]
    home = await registry.client.get("/", headers={"accept": "text/html"})
    assert "<b>3</b>" in home.text.replace("\n", "").replace(" ", "")


async def badge(registry: Registry, name: str, **headers: str) -> httpx.Response:
    """Return the badge response."""
    return await registry.client.get(f"/badge/{name}", headers=headers)


async def test_badge_shows_tier_version_and_score(registry: Registry) -> None:
    """A script-free image, also as shields.io JSON; unavailable listings say so."""
    name = await publish(registry, "acme/tools", "Says hello.")
    answer = await badge(registry, f"{name}.svg")
    assert answer.headers["content-type"].startswith("image/svg+xml")
    image = ElementTree.fromstring(answer.text)
    assert image.attrib["aria-label"] == "assay: scanned 1.0.0 · 100"
    assert {each.tag.rpartition("}")[2] for each in image.iter()} <= {"svg", "title", "clipPath", "rect", "g", "text"}
    assert (await badge(registry, f"{name}.svg", **{"If-None-Match": answer.headers["etag"]})).status_code == 304
    said = (await badge(registry, f"{name}.json")).json()
    assert said == {
        "schemaVersion": 1, "label": "assay", "message": "scanned 1.0.0 · 100", "color": "blue", "isError": False,
    }  # fmt: skip
    await ask(registry, name, "unlist")
    changed = await badge(registry, f"{name}.svg")
    assert changed.headers["etag"] != answer.headers["etag"]
    assert "unlisted" in changed.text
    assert (await badge(registry, f"{name}.json")).json()["isError"] is True
    assert (await badge(registry, "no/such/skill.svg")).status_code == 404
    assert (await badge(registry, f"{name}.png")).status_code == 404


@pytest.mark.parametrize("version", ["1.0.0-<b>", '9.9.9-"><script>'])
async def test_badge_escapes_the_version(registry: Registry, version: str) -> None:
    name = await publish(registry, "acme/tools", "Says hello.")
    async with registry.app.store.begin() as db:
        await db.execute(text("DROP TRIGGER keep_version ON skill_version"))
        await db.execute(text("UPDATE skill_version SET version = :version"), {"version": version})
    answer = await badge(registry, f"{name}.svg")
    assert "<script" not in answer.text
    assert ElementTree.fromstring(answer.text).attrib["aria-label"] == f"assay: scanned {version} · 100"
    assert json.loads((await badge(registry, f"{name}.json")).text)["message"] == f"scanned {version} · 100"
