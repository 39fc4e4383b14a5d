"""What the doctor sees in the database, the blobs, the copy at the edge and at GitHub."""

from collections import Counter
from collections.abc import AsyncIterator, Sequence
from datetime import timedelta
from itertools import chain

from assay.app.app import App
from assay.app.maintenance import watch_limits
from assay.certify.hallmark import open_hallmark
from assay.cli.doctor.check import Check, ill, odd, well
from assay.cli.doctor.rules import check_running_rules
from assay.edge_sync.drift import read_skills_health
from assay.github.headers import CORE
from assay.model.errors import AssayError, NotFound, RateLimited, Unavailable
from assay.model.skill import Skill, SkillVersion
from assay.model.source import Source
from assay.serve.operations.alarm import WHAT_TO_DO, Code
from assay.serve.queue.health import read_queue_health
from assay.serve.skills.search_probe import find_miss
from assay.store.skills.skills import list_versions, sample_skills
from assay.store.submissions.selection import now_of
from assay.store.versions.keys import list_keys

LOOKED_AT = 20
SKEW = timedelta(seconds=5)
FEW_CALLS = 100
PROBE = Source({"SKILL.md": b"---\nname: probe\n---\nWritten by `assay doctor`.\n"}, commit="0" * 40)


async def check_registry(app: App) -> AsyncIterator[Check]:
    """Everything behind the database, one after the other."""
    yield await _clock(app)
    async for check in _queue(app):
        yield check
    yield await _blobs(app)
    async with app.store.snapshot() as db:
        skills = await sample_skills(db, LOOKED_AT)
        versions = [(skill, (await list_versions(db, skill.id))[0]) for skill in skills]
        keys = {key.id: key.public_key for key in await list_keys(db)}
    if not skills:
        yield odd("catalogue", "there are no skills", "`assay seed` submits well-known ones.")
    else:
        yield await _contents(app, versions)
        yield _hallmarks(versions, keys)
        yield await _search(app, skills)
    yield await _edge(app)
    yield await _github(app)


async def _clock(app: App) -> Check:
    async with app.store.begin() as db:
        apart = abs(await now_of(db) - app.clock.now())
    if apart > SKEW:
        return ill("clock", f"the database's is {apart.total_seconds():.0f} s off", "Synchronise the clocks (NTP).")
    return well("clock", "this machine's and the database's agree")


async def _queue(app: App) -> AsyncIterator[Check]:
    """The alarms are what is wrong with the queue, each with what to do."""
    now = app.clock.now()
    async with app.store.snapshot() as db:
        health = await read_queue_health(db, now, watch_limits(app.settings))
    for raised in health.alarms:
        report = ill if raised.alarm.is_problem else odd
        yield report(f"queue: {raised.alarm.key}", raised.alarm.finding, WHAT_TO_DO[raised.alarm.code])
    if not health.is_degraded:
        yield well("queue", f"{health.facts.waiting:,} wait, {health.facts.active:,} are active, no problem")
    yield check_running_rules(health, app.ruleset)


async def _blobs(app: App) -> Check:
    try:
        await app.blobs.load(await app.blobs.save(PROBE))
    except Unavailable as problem:
        return ill("blobs", problem.message, "Look at ASSAY_BLOBS_URL and the rights of its store.")
    return well("blobs", "can be written and read")


async def _contents(app: App, versions: Sequence[tuple[Skill, SkillVersion]]) -> Check:
    broken = []
    for skill, version in versions:
        try:
            await app.blobs.load(version.content_digest)
        except (NotFound, Unavailable) as problem:
            broken.append(f"{skill.name} {version.version}: {problem.message}")
    if broken:
        advice = "Restore the blobs from a backup, or submit these skills again."
        return ill("contents", f"{len(broken)} of {len(versions)} are broken; {broken[0]}", advice)
    return well("contents", f"{len(versions)} looked at, every file is what its digest says")


def _hallmarks(versions: Sequence[tuple[Skill, SkillVersion]], keys: dict[str, str]) -> Check:
    unproved = [
        f"{skill.name} {version.version}"
        for skill, version in versions
        if open_hallmark(version.hallmark, keys) is None
    ]
    if unproved:
        advice = "Somebody has changed them past Assay, or a key is missing in the table of keys."
        return ill("hallmarks", f"{len(unproved)} of {len(versions)} do not verify, such as {unproved[0]}", advice)
    return well("hallmarks", f"{len(versions)} looked at, all verify")


async def _search(app: App, skills: Sequence[Skill]) -> Check:
    missed = []
    for skill in skills:
        async with app.store.snapshot() as db:
            if await find_miss(db, skill.name) is not None:
                missed.append(skill.name)
    if missed:
        return ill("search", f"{missed[0]} is not found by its own name", WHAT_TO_DO[Code.SEARCH_MISSES])
    return well("search", f"{len(skills)} looked for, each is found by its own name")


async def _edge(app: App) -> Check:
    """Every listing and every key. Nobody needs the copy until the database is away, but then it is all there is."""
    health = await read_skills_health(app.store, app.edge)
    if health.edge_problem is not None:
        return ill("edge copy", health.edge_problem, health.recommendations[0])
    if health.drifts:
        return odd("edge copy", " ".join(health.drifts), " ".join(health.recommendations))
    return well("edge copy", f"{health.comparison.keys:,} listings, {health.lag_seconds:.0f} s behind the tables")


async def _github(app: App) -> Check:
    try:
        left = await app.github.get_allowances()
    except RateLimited as problem:
        return odd("GitHub", problem.message, "Add tokens to ASSAY_GITHUB_TOKENS, or wait.")
    except AssayError as problem:
        advice = "Look at the network, at ASSAY_GITHUB_API_URL, and whether the tokens are still valid."
        return ill("GitHub", problem.message, advice)
    tokens = len(app.settings.github_tokens) + len(app.settings.github_app_installations)
    calls = Counter[str]()
    for window in chain.from_iterable(left):
        calls[window.resource] += window.remaining
    counted = ", ".join(f"{number:,} of {resource}" for resource, number in sorted(calls.items()))
    detail = f"{tokens or 'no'} tokens; calls left: {counted or 'not counted'}"
    if calls and calls[CORE] < FEW_CALLS:
        return odd("GitHub", detail, "Add tokens to ASSAY_GITHUB_TOKENS: without calls nothing is fetched.")
    return well("GitHub", detail)
