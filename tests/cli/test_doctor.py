"""`assay doctor`: one command that looks at everything and says what to do."""

from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import text

from assay.cli.doctor.judge import check_judge
from assay.cli.doctor.registry import check_registry
from assay.cli.doctor.rules import check_rules
from assay.edge.keys import skill_key
from assay.edge.redis import RedisEdge
from assay.runtime.heartbeat import heartbeat
from assay.settings import Settings
from tests.cli.test_up import clean_environment
from tests.support.cli.live import Live, assay
from tests.support.cli.skills_here import RULE, written
from tests.support.edge_copies import bring_level
from tests.support.processes import environment
from tests.support.registry import SECRET, Registry
from tests.support.skills import a_skill


async def found(registry: Registry) -> dict[str, tuple[str, str]]:
    """What is said of each thing, and what to do."""
    return {check.name: (check.health.value, check.advice) async for check in check_registry(registry.app)}


async def publish(registry: Registry) -> None:
    """A skill that is listed."""
    registry.github.add_repository("acme/tools", files={"SKILL.md": a_skill("greet")})
    await registry.submit("acme/tools", "greet")
    await registry.work()


def test_a_registry_that_works_is_well(live: Live) -> None:
    """Over the real processes; exit 0, and the same as a document."""
    ran = live.assay("doctor", "--json")
    checks = {check["name"]: check["health"] for check in ran.json["checks"]}
    assert (ran.code, checks["database"], checks["web"], checks["GitHub"]) == (0, "well", "well", "well"), ran.out
    assert "well    database:" in live.assay("doctor").out


def test_a_database_that_is_away_is_said_first(tmp_path: Path) -> None:
    """G97: nothing is guessed about what is behind it; exit 1."""
    secrets = {f"ASSAY_{name}": SECRET for name in ("INTERNAL_KEY", "JWT_SECRET", "WEBHOOK_SECRET")}
    away = "postgresql://nobody@127.0.0.1:9/assay"
    environment = clean_environment(ASSAY_DATABASE_URL=away, ASSAY_DATA_DIR=str(tmp_path), ASSAY_PORT="9", **secrets)
    ran = assay("doctor", "--json", environment=environment)
    checks = {check["name"]: check for check in ran.json["checks"]}
    assert (ran.code, checks["database"]["health"]) == (1, "ill")
    assert "ASSAY_DATABASE_URL" in checks["database"]["advice"]
    assert checks["queue, blobs, catalogue, edge copy, GitHub"]["health"] == "unknown"


@pytest.mark.parametrize(
    ("more", "health", "named"),
    [
        ({"llm_url": None, "llm_model": None}, "well", ""),
        ({"llm_prompt_price": 0.15}, "well", ""),
        ({}, "odd", "ASSAY_LLM_PROMPT_PRICE"),
        ({"llm_prompt_price": 0.15, "llm_daily_budget": None}, "odd", "ASSAY_LLM_DAILY_BUDGET"),
    ],
    ids=["none", "priced", "without a price", "without a budget"],
)
def test_a_budget_that_stops_nothing_is_odd(
    settings: Settings, more: dict[str, object], health: str, named: str
) -> None:
    """G44, G97: nobody learns from a bill that the budget of the judge never counted."""
    judged = {"llm_url": "http://127.0.0.1:9/v1", "llm_model": "m"} | more
    check = check_judge(Settings.model_validate(settings.model_dump() | judged))
    assert (check.health.value, named in check.advice) == (health, True)


def test_rules_that_cannot_be_used_are_ill(settings: Settings, tmp_path: Path) -> None:
    """And those that can are counted; all else is looked at either way."""
    assert check_rules(settings).health.value == "well"
    house = written(tmp_path / "house", {"house.toml": RULE.format(severity="low")})
    good = check_rules(settings.model_copy(update={"ruleset": house}))
    assert (good.health.value, f"of which 1 are of {house}" in good.detail) == ("well", True)
    written(house, {"house.toml": RULE.format(severity="awful")})
    ran = assay("doctor", "--json", environment=environment(settings.model_copy(update={"ruleset": house})))
    checks = {check["name"]: check for check in ran.json["checks"]}
    assert (ran.code, checks["rules"]["health"], checks["database"]["health"]) == (1, "ill", "well")
    assert checks["rules"]["detail"].startswith("ASSAY_RULESET: house.toml: rule HR-001: ")


async def test_other_rules_than_those_of_the_processes_are_odd(registry: Registry) -> None:
    """A shell that lacks the setting would call fresh what the processes call stale."""
    async with heartbeat(registry.app.store, "worker", ruleset=registry.app.ruleset.version):
        assert (await found(registry))["running rules"][0] == "well"
    async with heartbeat(registry.app.store, "worker", ruleset="sha256:other"):
        health, advice = (await found(registry))["running rules"]
    assert (health, "ASSAY_RULESET" in advice) == ("odd", True)


async def test_what_is_listed_is_looked_at(registry: Registry) -> None:
    """A sample of contents, hallmarks and names; all is well."""
    await publish(registry)
    checks = await found(registry)
    assert {name: checks[name][0] for name in ("clock", "blobs", "contents", "hallmarks", "search")} == dict.fromkeys(
        ("clock", "blobs", "contents", "hallmarks", "search"), "well"
    )


async def test_bytes_that_changed_on_disk_are_found(registry: Registry, tmp_path: Path) -> None:
    """The content is no longer what its digest says."""
    await publish(registry)
    for file in (registry.app.settings.data_dir / "blobs").rglob("*"):
        if file.is_file():
            file.write_bytes(file.read_bytes().replace(b"hello", b"hallo"))
    checks = await found(registry)
    assert checks["contents"][0] == "ill"
    assert "backup" in checks["contents"][1]


async def test_a_hallmark_that_was_changed_is_found(registry: Registry) -> None:
    """One that no key of ours has signed."""
    await publish(registry)
    async with registry.app.store.begin() as db:
        await db.execute(text("""UPDATE skill_version SET hallmark = jsonb_set(hallmark, '{payload}', '"e30="')"""))
    assert (await found(registry))["hallmarks"][0] == "ill"


async def test_a_copy_that_differs_is_said_with_what_to_run(registry: Registry) -> None:
    """G71, G97: a key that is lost, and a store that does not answer; what is only on its way is well."""
    await publish(registry)
    assert (await found(registry))["edge copy"][0] == "well"
    edge = registry.app.edge
    await bring_level(registry, edge)
    serial = await edge.read_serial()
    assert await edge.write({}, {skill_key("acme/tools/greet")}, since=serial, serial=serial)
    health, advice = (await found(registry))["edge copy"]
    assert (health, "assay rebuild-index" in advice) == ("odd", True)
    await edge.close()
    away = replace(registry, app=replace(registry.app, edge=RedisEdge("redis://127.0.0.1:9/0")))
    assert (await found(away))["edge copy"][0] == "ill"


async def test_alarms_of_the_queue_come_with_what_to_do(registry: Registry) -> None:
    """A queue that nobody watches."""
    checks = await found(registry)
    assert checks["queue: detector_blind"] == (
        "ill",
        "Start `assay worker`; until then only what this answer itself can see is reported.",
    )


async def test_a_github_that_does_not_answer_is_ill(registry: Registry) -> None:
    """G36, G97: and not a skill that is not there."""
    registry.github.fail("rate_limit", 500, times=None)
    assert (await found(registry))["GitHub"][0] == "ill"
