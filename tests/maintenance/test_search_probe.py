"""The registry searches for its own skills and reports those it cannot find."""

from typing import Any

import pytest
from obstore.store import MemoryStore
from sqlalchemy import text

from assay.maintenance.schedule import periodic_jobs
from assay.maintenance.search_probe import PROBE, SAMPLE, find_miss
from assay.model.clock import Clock
from assay.runtime.periodic import run_periodic_job
from assay.store.operations.periodic_jobs import register_periodic_jobs
from tests.support.queue_limits import LIMITS
from tests.support.registry import Registry
from tests.support.web.skills import publish

pytestmark = pytest.mark.process

DUE = text("UPDATE chore SET succeeded_at = succeeded_at - interval '1 hour'")


async def probe(registry: Registry) -> int:
    """Run the periodic job once and return the number of misses."""
    chores = periodic_jobs(LIMITS, Clock(), "", MemoryStore())
    async with registry.app.store.begin() as db:
        await register_periodic_jobs(db, [chore.schedule for chore in chores])
        await db.execute(DUE)
    turn = await run_periodic_job(registry.app.store, next(chore for chore in chores if chore.name == PROBE))
    assert turn.amount is not None
    return turn.amount


async def health(registry: Registry) -> dict[str, Any]:
    """Return the public health."""
    return (await registry.client.get("/api/v1/queue/health")).json()


async def metric(registry: Registry, name: str) -> float:
    """Return one metric."""
    lines = (await registry.client.get("/metrics")).text.splitlines()
    return float(next(line.split()[-1] for line in lines if line.startswith(f"{name} ")))


async def test_listed_skills_are_found(registry: Registry) -> None:
    """G62: in turn, by name, slug and words."""
    names = {
        "pdf": "Reads files.",
        "pdf-forms": "Fills forms.",
        "ab": "Short.",
        "the": "A word that English has anyway.",
    }
    await publish(registry, "acme/power.tools", names)
    await publish(registry, "forker/power.tools", names)
    await publish(registry, "acme/many", {f"skill-{number}": "One of many." for number in range(SAMPLE)})
    assert [await probe(registry) for _ in range(3)] == [0, 0, 0]
    said = (await health(registry))["search"]
    # 28 in total: one run of 20, one of 8, then from the start again.
    assert (said["probed"], said["missed"], said["stillMissed"], said["examples"]) == (48, 0, 0, [])
    assert said["lastProbedAt"] is not None
    assert await metric(registry, "assay_search_probes") == 48
    assert await metric(registry, "assay_search_missed") == 0
    assert await metric(registry, "assay_search_probe_timestamp_seconds") > 1_700_000_000


@pytest.mark.parametrize(
    "broken",
    [
        # Make the generated column writable.
        "ALTER TABLE skill ALTER COLUMN search_document DROP EXPRESSION",
    ],
)
async def test_broken_search_document_raises_an_alarm_until_fixed(registry: Registry, broken: str) -> None:
    """G62."""
    await publish(registry, "acme/tools", {"pdf": "Reads files.", "csv": "Reads tables."})
    async with registry.app.store.begin() as db:
        await db.execute(text(broken))
        await db.execute(text("UPDATE skill SET search_document = '' WHERE name = 'acme/tools/pdf'"))
    assert await probe(registry) == 1
    assert await probe(registry) == 1
    said = await health(registry)
    (alarm,) = [each for each in said["alarms"] if each["code"] == "search_misses"]
    assert alarm["message"].startswith("1 listed skills are not found by their own name, such as acme/tools/pdf.")
    assert said["degraded"]
    assert (said["search"]["stillMissed"], said["search"]["examples"]) == (1, ["acme/tools/pdf"])
    assert await metric(registry, "assay_search_missed") == 1
    assert await metric(registry, 'assay_alarm{code="search_misses"}') == 1

    async with registry.app.store.begin() as db:
        await db.execute(text("UPDATE skill SET search_document = to_tsvector('simple', 'acme tools pdf') || "
                              "array_to_tsvector(ARRAY['=repo:acme/tools'])"))  # fmt: skip
    assert await probe(registry) == 0
    assert (await health(registry))["search"]["stillMissed"] == 0
    assert not [each for each in (await health(registry))["alarms"] if each["code"] == "search_misses"]


async def test_unlisted_skills_are_not_missed(registry: Registry) -> None:
    """G62."""
    await publish(registry, "acme/tools", {"pdf": "Reads files."})
    async with registry.app.store.begin() as db:
        await db.execute(text("INSERT INTO search_miss (skill_id, query) SELECT id, 'pdf' FROM skill"))
        await db.execute(text(
            "UPDATE skill SET standing = 'gone', standing_code = 'x', standing_message = 'y', standing_at = now(), "
            "standing_by = 'z'"))  # fmt: skip
    async with registry.app.store.snapshot() as db:
        assert await find_miss(db, "acme/tools/pdf") == "acme/tools/pdf"
    assert await probe(registry) == 0
    assert (await health(registry))["search"]["stillMissed"] == 0
