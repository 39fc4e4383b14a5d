"""A crawler that is killed in the middle: nothing of what it found is lost, and nothing is done twice."""

import asyncio
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from assay.settings import Settings
from tests.support.discover.crawling import count, records, submitted
from tests.support.processes import environment, until
from tests.support.registry import Registry
from tests.support.skills import a_skill

TOKENS = ("ghp_one", "ghp_two", "ghp_three")
REPOSITORIES, SKILLS, RENAMED = 60, 5, 6
LIMIT = 120


@pytest.fixture
def settings(settings: Settings, tmp_path: Path) -> Settings:
    """Three tokens, and three sources that find the same."""
    (tmp_path / "list.txt").write_text("\n".join(f"old/r{number}" for number in range(RENAMED)))
    chosen = {
        "github_tokens": TOKENS,
        "discovery_sources": ("code-search", "topics", "list"),
        "discovery_topics": ("agent-skills",),
        "discovery_list": str(tmp_path / "list.txt"),
        "discovery_calls": 10_000,
    }
    return Settings.model_validate({**settings.model_dump(), **chosen})


def fill(registry: Registry) -> list[tuple[str, str]]:
    """Sixty repositories with five skills each, some renamed; every twentieth answer is an error."""
    github = registry.github
    github.limits.minute_seconds = 1
    for token in TOKENS:
        github.add_token(token, limit=LIMIT, search_limit=30, code_search_limit=10)
    for number in range(REPOSITORIES):
        names = [f"s{number}-{skill}" for skill in range(SKILLS)]
        files = {f"skills/{name}/SKILL.md": a_skill(name, body="x" * number * 10) for name in names}
        full_name = f"old/r{number}" if number < RENAMED else f"acme/r{number}"
        repository = github.add_repository(full_name, files=files, topics=("agent-skills",))
        if number < RENAMED:
            repository.rename(f"acme/r{number}")
    github.fail_every(20)
    return sorted(
        (f"acme/r{number}", f"skills/s{number}-{skill}/SKILL.md")
        for number in range(REPOSITORIES)
        for skill in range(SKILLS)
    )


def crawl(settings: Settings) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "assay", "crawl", "--once", "--json"],
        env=environment(settings),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )


async def finished(process: subprocess.Popen[bytes]) -> list[dict[str, Any]]:
    out, _ = await asyncio.wait_for(asyncio.to_thread(process.communicate), 120)
    return json.loads(out)["runs"]


async def test_a_crash_loses_nothing_and_repeats_nothing(registry: Registry) -> None:
    """G33, G86, G88: found through failures, renames and limits, each once; no token over its budget."""
    everything = fill(registry)
    registry.github.latency("tree", 0.05)
    killed = crawl(registry.app.settings)
    try:

        async def is_in_the_middle() -> bool:
            assert killed.poll() is None, "it ended before it could be killed"
            return await count(registry, "submission") >= REPOSITORIES * SKILLS // 4

        await until(is_in_the_middle, 120)
    finally:
        killed.kill()
        killed.communicate()
    before = await submitted(registry)
    assert 0 < len(before) < len(everything)
    found = await records(registry)
    registry.github.latency("tree", 0)
    runs = await finished(crawl(registry.app.settings))
    assert ["complete"] * 3 == [run["outcome"] for run in runs]
    assert everything == await submitted(registry)
    states = await records(registry)
    assert set(found) <= set(states)
    assert {"submitted"} == set(states.values())
    # What the second run enqueued is what the first had not: nobody did the other's work again.
    assert len(everything) - len(before) == sum(run["enqueued"] for run in runs)
    calls = registry.github.calls
    assert not calls.refused["core"]
    core = Counter(call.token for call in calls if call.charged and call.route != "search")
    assert (set(TOKENS), True) == (set(core), max(core.values()) <= LIMIT)
    asked = [call for call in calls if call.route == "tree" and call.status == 200]
    # One tree a repository; those under way at the crash once more, and the old names of the renamed.
    assert len(asked) <= REPOSITORIES + RENAMED + 3 * 20
