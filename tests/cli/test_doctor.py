"""`assay doctor`: checks everything and says what to do."""

from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import text

from assay.cli.doctor.machine import check_judge, check_rules
from assay.cli.doctor.registry import check_registry
from assay.edge.keys import skill_key
from assay.edge.redis import RedisEdge
from assay.runtime.heartbeat import heartbeat
from assay.settings import Settings
from tests.support.cli.live import Live, assay
from tests.support.cli.skills_here import RULE, written
from tests.support.cli.up import clean_environment
from tests.support.edge_copies import bring_level
from tests.support.processes import environment
from tests.support.registry import SECRET, Registry
from tests.support.skills import a_skill

pytestmark = pytest.mark.process


async def found(registry: Registry) -> dict[str, tuple[str, str]]:
    """Return the result and remedy of each check."""
    return {check.name: (check.health.value, check.advice) async for check in check_registry(registry.app)}


async def publish(registry: Registry) -> None:
    """Publish a skill."""
    registry.github.add_repository("acme/tools", files={"SKILL.md": a_skill("greet")})
    await registry.submit("acme/tools", "greet")
    await registry.work()


def test_working_registry_passes(live: Live) -> None:
    """Exit code 0, also as JSON."""
    ran = live.assay("doctor", "--json")
    checks = {check["name"]: check["health"] for check in ran.json["checks"]}
    assert (ran.code, checks["database"], checks["web"], checks["GitHub"]) == (0, "well", "well", "well"), ran.out
    assert "ok      database:" in live.assay("doctor").out


def test_database_outage_is_reported_first(tmp_path: Path) -> None:
    """G97: dependent checks are skipped; exit code 1."""
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
def test_ineffective_judge_budget_is_a_warning(
    settings: Settings, more: dict[str, object], health: str, named: str
) -> None:
    """G44, G97."""
    judged = {"llm_url": "http://127.0.0.1:9/v1", "llm_model": "m"} | more
    check = check_judge(Settings.model_validate(settings.model_dump() | judged))
    assert (check.health.value, named in check.advice) == (health, True)


def test_unusable_ruleset_is_an_error(settings: Settings, tmp_path: Path) -> None:
    """Other checks still run."""
    assert check_rules(settings).health.value == "well"
    house = written(tmp_path / "house", {"house.toml": RULE.format(severity="low")})
    good = check_rules(settings.model_copy(update={"ruleset": house}))
    assert (good.health.value, f"1 of them from {house}" in good.detail) == ("well", True)
    written(house, {"house.toml": RULE.format(severity="awful")})
    ran = assay("doctor", "--json", environment=environment(settings.model_copy(update={"ruleset": house})))
    checks = {check["name"]: check for check in ran.json["checks"]}
    assert (ran.code, checks["rules"]["health"], checks["database"]["health"]) == (1, "ill", "well")
    assert checks["rules"]["detail"].startswith("ASSAY_RULESET: house.toml: rule HR-001: ")


async def test_ruleset_differing_from_the_processes_is_a_warning(registry: Registry) -> None:
    """A shell without the setting would report current verdicts as stale."""
    async with heartbeat(registry.app.store, "worker", ruleset=registry.app.ruleset.version):
        assert (await found(registry))["running rules"][0] == "well"
    async with heartbeat(registry.app.store, "worker", ruleset="sha256:other"):
        health, advice = (await found(registry))["running rules"]
    assert (health, "ASSAY_RULESET" in advice) == ("odd", True)


async def test_listings_are_sampled(registry: Registry) -> None:
    """Contents, hallmarks and names."""
    await publish(registry)
    checks = await found(registry)
    assert {name: checks[name][0] for name in ("clock", "blobs", "contents", "hallmarks", "search")} == dict.fromkeys(
        ("clock", "blobs", "contents", "hallmarks", "search"), "well"
    )


async def test_changed_content_is_found(registry: Registry, tmp_path: Path) -> None:
    await publish(registry)
    for file in (registry.app.settings.data_dir / "blobs").rglob("*"):
        if file.is_file():
            file.write_bytes(file.read_bytes().replace(b"hello", b"hallo"))
    checks = await found(registry)
    assert checks["contents"][0] == "ill"
    assert "backup" in checks["contents"][1]


async def test_changed_hallmark_is_found(registry: Registry) -> None:
    await publish(registry)
    async with registry.app.store.begin() as db:
        await db.execute(text("""UPDATE skill_version SET hallmark = jsonb_set(hallmark, '{payload}', '"e30="')"""))
    assert (await found(registry))["hallmarks"][0] == "ill"


async def test_edge_drift_is_reported_with_its_remedy(registry: Registry) -> None:
    """G71, G97: a lost key or an unreachable store; changes in transit are fine."""
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


async def test_queue_alarms_are_reported_with_their_remedy(registry: Registry) -> None:
    checks = await found(registry)
    assert checks["queue: detector_blind"] == (
        "ill",
        "Start `assay worker`. Until then, alarms are computed only on request.",
    )


async def test_unreachable_github_is_an_error(registry: Registry) -> None:
    """G36, G97."""
    registry.github.fail("rate_limit", 500, times=None)
    assert (await found(registry))["GitHub"][0] == "ill"
