"""A killed crawler loses nothing and repeats nothing."""

import asyncio
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from assay.settings import Settings
from tests.support.discover.crawling import count, list_records, list_submissions
from tests.support.processes import environment, until
from tests.support.registry import Registry
from tests.support.skills import a_skill

pytestmark = pytest.mark.process

TOKENS = ("ghp_one", "ghp_two", "ghp_three")
REPOSITORIES, SKILLS, RENAMED = 60, 5, 6
LIMIT = 120


@pytest.fixture
def settings(settings: Settings, tmp_path: Path) -> Settings:
    """Return settings with three tokens and three sources that list the same repositories."""
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
    """Create 60 repositories with five skills each, some renamed; every twentieth response is an error."""
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


async def test_killed_crawler_resumes_without_loss_or_repetition(registry: Registry) -> None:
    """G33, G86, G88: despite failures, renames and limits; no token exceeds its budget."""
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
    before = await list_submissions(registry)
    assert 0 < len(before) < len(everything)
    found = await list_records(registry)
    registry.github.latency("tree", 0)
    runs = await finished(crawl(registry.app.settings))
    assert ["complete"] * 3 == [run["outcome"] for run in runs]
    assert everything == await list_submissions(registry)
    states = await list_records(registry)
    assert set(found) <= set(states)
    assert {"submitted"} == set(states.values())
    # The second run enqueues only what the first had not.
    assert len(everything) - len(before) == sum(run["enqueued"] for run in runs)
    calls = registry.github.calls
    assert not calls.refused["core"]
    core = Counter(call.token for call in calls if call.charged and call.route != "search")
    assert (set(TOKENS), True) == (set(core), max(core.values()) <= LIMIT)
    asked = [call for call in calls if call.route == "tree" and call.status == 200]
    # One tree per repository, plus those in progress at the crash and the old names of renamed ones.
    assert len(asked) <= REPOSITORIES + RENAMED + 3 * 20
