"""Checks that need the database: clock, queue, blobs, published skills, edge copy and GitHub."""

from collections import Counter
from collections.abc import AsyncIterator, Sequence
from datetime import timedelta
from itertools import chain

from assay.app.app import App
from assay.app.maintenance import watch_limits
from assay.certify.hallmark import open_hallmark
from assay.cli.doctor.check import DoctorCheck, error, ok, warning
from assay.edge_sync.drift import read_skills_health
from assay.github.headers import CORE
from assay.maintenance.search_probe import find_miss
from assay.model.errors import AssayError, NotFound, RateLimited, Unavailable
from assay.model.skill import Skill, SkillVersion
from assay.model.source import Source
from assay.scan.ruleset import Ruleset
from assay.serve.operations.alarm import ALARM_REMEDIES, AlarmCode
from assay.serve.operations.alarms import is_alive
from assay.serve.queue.health import QueueHealth, read_queue_health
from assay.store.skills.skills import sample_skills
from assay.store.submissions.selection import database_now
from assay.store.versions.keys import list_keys
from assay.store.versions.versions import list_versions

SAMPLE_SIZE = 20
MAX_CLOCK_SKEW = timedelta(seconds=5)
LOW_CALLS = 100
PROBE = Source({"SKILL.md": b"---\nname: probe\n---\nWritten by `assay doctor`.\n"}, commit="0" * 40)


async def check_registry(app: App) -> AsyncIterator[DoctorCheck]:
    """Yield all checks that need the database."""
    yield await _clock(app)
    async for check in _queue(app):
        yield check
    yield await _blobs(app)
    async with app.store.snapshot() as db:
        skills = await sample_skills(db, SAMPLE_SIZE)
        versions = [(skill, (await list_versions(db, skill.id))[0]) for skill in skills]
        keys = {key.id: key.public_key for key in await list_keys(db)}
    if not skills:
        yield warning("catalogue", "there are no skills", "Run `assay seed` to submit well-known ones.")
    else:
        yield await _contents(app, versions)
        yield _hallmarks(versions, keys)
        yield await _search(app, skills)
    yield await _edge(app)
    yield await _github(app)


async def _clock(app: App) -> DoctorCheck:
    async with app.store.begin() as db:
        skew = abs(await database_now(db) - app.clock.now())
    if skew > MAX_CLOCK_SKEW:
        detail = f"the database's clock differs by {skew.total_seconds():.0f} s"
        return error("clock", detail, "Synchronise the clocks (NTP).")
    return ok("clock", "agrees with the database's clock")


async def _queue(app: App) -> AsyncIterator[DoctorCheck]:
    """Yield a check per active alarm of the queue, and a check of the rules in use."""
    now = app.clock.now()
    async with app.store.snapshot() as db:
        health = await read_queue_health(db, now, watch_limits(app.settings))
    for raised in health.alarms:
        report = error if raised.alarm.is_problem else warning
        yield report(f"queue: {raised.alarm.key}", raised.alarm.summary, ALARM_REMEDIES[raised.alarm.code])
    if not health.is_degraded:
        yield ok("queue", f"{health.facts.waiting:,} waiting, {health.facts.active:,} active, no problem")
    yield check_running_rules(health, app.ruleset)


def check_running_rules(health: QueueHealth, ruleset: Ruleset) -> DoctorCheck:
    """Check that the running processes use this command's rules; differences among them raise an alarm instead."""
    facts = health.facts
    alive = [each for each in facts.processes if each.ruleset and is_alive(each, facts.now, health.limits)]
    others = {each.ruleset for each in alive if each.ruleset} - {ruleset.version}
    if others:
        advice = "Set ASSAY_RULESET as for those processes, or restart them: rules are read at the start."
        detail = f"processes use other rules than this command: {', '.join(sorted(others))}"
        return warning("running rules", detail, advice)
    return ok("running rules", f"used by {len(alive):,} processes")


async def _blobs(app: App) -> DoctorCheck:
    try:
        await app.blobs.load(await app.blobs.save(PROBE))
    except Unavailable as problem:
        return error("blobs", problem.message, "Check ASSAY_BLOBS_URL and the permissions of the blob store.")
    return ok("blobs", "readable and writable")


async def _contents(app: App, versions: Sequence[tuple[Skill, SkillVersion]]) -> DoctorCheck:
    broken = []
    for skill, version in versions:
        try:
            await app.blobs.load(version.content_digest)
        except (NotFound, Unavailable) as problem:
            broken.append(f"{skill.name} {version.version}: {problem.message}")
    if broken:
        advice = "Restore the blobs from a backup, or submit these skills again."
        return error("contents", f"{len(broken)} of {len(versions)} are damaged; {broken[0]}", advice)
    return ok("contents", f"{len(versions)} checked, all match their digests")


def _hallmarks(versions: Sequence[tuple[Skill, SkillVersion]], keys: dict[str, str]) -> DoctorCheck:
    invalid = [
        f"{skill.name} {version.version}"
        for skill, version in versions
        if open_hallmark(version.hallmark, keys) is None
    ]
    if invalid:
        advice = "They were changed without Assay, or a key is missing from the table of keys."
        return error("hallmarks", f"{len(invalid)} of {len(versions)} are not valid, such as {invalid[0]}", advice)
    return ok("hallmarks", f"{len(versions)} checked, all are valid")


async def _search(app: App, skills: Sequence[Skill]) -> DoctorCheck:
    missed = []
    for skill in skills:
        async with app.store.snapshot() as db:
            if await find_miss(db, skill.name) is not None:
                missed.append(skill.name)
    if missed:
        return error("search", f"{missed[0]} is not found by its own name", ALARM_REMEDIES[AlarmCode.SEARCH_MISSES])
    return ok("search", f"{len(skills)} checked, each is found by its own name")


async def _edge(app: App) -> DoctorCheck:
    """Compare every listing and key with the edge copy, which serves all reads while the database is down."""
    health = await read_skills_health(app.store, app.edge)
    if health.edge_problem is not None:
        return error("edge copy", health.edge_problem, health.recommendations[0])
    if health.drifts:
        return warning("edge copy", " ".join(health.drifts), " ".join(health.recommendations))
    return ok("edge copy", f"{health.comparison.keys:,} listings, {health.lag_seconds:.0f} s behind the database")


async def _github(app: App) -> DoctorCheck:
    try:
        limits = await app.github.get_rate_limits()
    except RateLimited as problem:
        return warning("GitHub", problem.message, "Add tokens to ASSAY_GITHUB_TOKENS, or wait.")
    except AssayError as problem:
        advice = "Check the network, ASSAY_GITHUB_API_URL, and that the tokens are still valid."
        return error("GitHub", problem.message, advice)
    tokens = len(app.settings.github_tokens) + len(app.settings.github_app_installations)
    calls = Counter[str]()
    for window in chain.from_iterable(limits):
        calls[window.resource] += window.remaining
    remaining = ", ".join(f"{number:,} {resource}" for resource, number in sorted(calls.items()))
    detail = f"{tokens or 'no'} tokens; calls left: {remaining or 'unknown'}"
    if calls and calls[CORE] < LOW_CALLS:
        return warning("GitHub", detail, "Add tokens to ASSAY_GITHUB_TOKENS: without calls, nothing is fetched.")
    return ok("GitHub", detail)
