"""Discovery of many repositories: everything once, within budgets, through failures and a crash; what it costs.

    python -m benchmarks.crawl [--repositories 2000] [--skills 10] [--compared 200]

The loopback GitHub is a process of its own: three tokens with limits, every twentieth answer of its API an error, one
repository in twenty renamed. `assay crawl --once` reads code search, topics and a list that has the old names; it is
killed (SIGKILL) in the middle and started again. Minutes of GitHub's search limits last two seconds here.

Then the same repositories on a GitHub that answers in 200 ms: looked into twenty at a time by sources side by side,
against one by one.
"""

import argparse
import asyncio
import json
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import text

from assay.app.app import App
from assay.app.discovery import known_repositories, open_crawler
from assay.discover.crawl import Asked
from assay.discover.schedule import register
from assay.settings import Settings
from benchmarks.pipeline import a_registry, environment

REPOSITORIES, SKILLS, COMPARED = 2_000, 10, 200
TOKENS = ("bench-one", "bench-two", "bench-three")
FAIL_EVERY = 20
# What GitHub takes to answer for a tree.
LATENCY_MS = 200
SKILL_BYTES = 1_000
PATIENCE_SECONDS = 1_800


@dataclass(frozen=True)
class World:
    """What the loopback GitHub holds and allows."""

    repositories: int
    skills: int
    renamed: int = 0
    latency_ms: int = 0
    is_limited: bool = True

    @property
    def total(self) -> int:
        """All skills."""
        return self.repositories * self.skills

    @property
    def core_limit(self) -> int:
        """Calls of a token in an hour: enough for all with all tokens, too few for any two of them."""
        return self.repositories * 13 // 10 + 200

    @property
    def options(self) -> list[str]:
        """For the process."""
        options = ["--repositories", self.repositories, "--skills-per-repository", self.skills]
        options += [
            "--skill-bytes",
            SKILL_BYTES,
            "--spread",
            SKILL_BYTES,
            "--renamed",
            self.renamed,
            "--latency-ms",
            self.latency_ms,
        ]
        for token in TOKENS:
            options += ["--token", token]
        if self.is_limited:
            options += ["--fail-every", FAIL_EVERY, "--limit", self.core_limit, "--minute-seconds", 2]
            options += ["--search-limit", 30, "--code-search-limit", 10]
        return [str(each) for each in options]


@contextmanager
def a_github(world: World) -> Iterator[dict[str, Any]]:
    """The loopback GitHub in a process of its own."""
    command = [sys.executable, "-m", "tests.support.fake_github", *world.options]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield json.loads(process.stdout.readline())
        finally:
            process.terminate()


def settings_for(folder: Path, urls: dict[str, str], sources: str) -> dict[str, str]:
    """What the registry under test is told."""
    return {
        **urls,
        "ASSAY_GITHUB_TOKENS": ",".join(TOKENS),
        "ASSAY_LEASE_SECONDS": "2",
        "ASSAY_DISCOVERY_SOURCES": sources,
        "ASSAY_DISCOVERY_TOPICS": "agent-skills",
        "ASSAY_DISCOVERY_CALLS": "100000",
        "ASSAY_DISCOVERY_LIST": str(folder / "list.txt"),
        "ASSAY_DISCOVERY_KNOWN": "bench-0/skills,bench-1/skills",
    }


async def through_a_crash(world: World, folder: Path) -> dict[str, float]:
    """Crawl, kill, crawl: what stands afterwards, and what it cost."""
    (folder / "list.txt").write_text("\n".join(f"old-{number}/skills" for number in range(world.renamed)))
    with a_github(world) as github:
        given = settings_for(folder, github["urls"], "code-search,topics,list")
        async with a_registry(folder / "data", given) as (app, _):
            with a_crawl(app.settings) as crawl:
                await _until(app, world.total * 2 // 5, crawl)
                crawl.send_signal(signal.SIGKILL)
                crawl.wait()
            before = await _submitted(app)
            calls_before = _read(github, "_calls")
            while await _left(app):
                with a_crawl(app.settings) as crawl:
                    await asyncio.to_thread(crawl.wait, PATIENCE_SECONDS)
            await _check(app, world)
            calls, limits = _read(github, "_calls"), _read(github, "_limits")
            wasted = calls["tree"] - world.repositories
            return {
                "skills found and submitted": await _submitted(app),
                "of them before the crash": before,
                "searches before the crash": calls_before["search"],
                "searches in all": calls["search"],
                "trees asked for beyond one a repository": wasted,
                "calls charged": calls["charged"],
                "calls charged a skill": calls["charged"] / world.total,
                "most calls of a token / its limit": max(limits["tokens"].values()) / world.core_limit,
                "core calls over budget": limits["refused"].get("core", 0),
                "search calls over budget": sum(n for name, n in limits["refused"].items() if name != "core"),
            }


async def side_by_side(world: World, folder: Path, *, batch_size: int, parallel: bool) -> float:
    """Seconds until two sources have found and submitted everything."""
    (folder / "list.txt").write_text("\n".join(f"bench-{number}/skills" for number in range(world.repositories)))
    with a_github(world) as github:
        async with (
            a_registry(folder / "data", settings_for(folder, github["urls"], "code-search,topics,list")) as (app, _),
            open_crawler(app) as crawler,
        ):
            await register(app.store, crawler.sources, known_repositories(app.settings))
            asked = Asked("benchmark", max_calls=100_000, is_asked_for=True, batch_size=batch_size)
            started = time.perf_counter()
            if parallel:
                await asyncio.gather(*(crawler.run(source, asked) for source in crawler.sources))
            else:
                for source in crawler.sources:
                    await crawler.run(source, asked)
            seconds = time.perf_counter() - started
            await _check(app, world)
            return seconds


@contextmanager
def a_crawl(settings: Settings) -> Iterator[subprocess.Popen[bytes]]:
    """`assay crawl --once` with these settings, ended with the block."""
    process = subprocess.Popen(
        [sys.executable, "-m", "assay", "crawl", "--once"],
        env=environment(settings),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()


async def _check(app: App, world: World) -> None:
    """Every skill of every repository is one submission, and every repository was looked into."""
    async with app.store.begin() as db:
        rows = await db.execute(
            text(
                "SELECT count(*), count(DISTINCT (r.host_id, s.skill_path)), count(DISTINCT r.host_id)"
                " FROM submission s JOIN repository r ON r.id = s.repository_id"
            )
        )
        found = tuple(rows.one())
        states = dict((await db.execute(text("SELECT state, count(*) FROM discovery_record GROUP BY 1"))).all())
    assert found == (world.total, world.total, world.repositories), found
    assert set(states) == {"submitted"}, states


async def _submitted(app: App) -> int:
    async with app.store.begin() as db:
        return int((await db.execute(text("SELECT count(*) FROM submission"))).scalar_one())


async def _left(app: App) -> bool:
    """Whether something is still to be done: a source is not through, or a repository not looked into."""
    async with app.store.begin() as db:
        through = await db.execute(
            text("SELECT count(*) FROM discovery_source WHERE completed_at >= cycle_started_at AND lease_until IS NULL")
        )
        waiting = await db.execute(text("SELECT count(*) FROM discovery_record WHERE state = 'found'"))
        return through.scalar_one() < 3 or waiting.scalar_one() > 0


async def _until(app: App, number: int, crawl: subprocess.Popen[bytes]) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while await _submitted(app) < number:
            assert crawl.poll() is None, "the crawl ended before it could be killed"
            await asyncio.sleep(0.02)


def _read(github: dict[str, Any], place: str) -> dict[str, Any]:
    with urllib.request.urlopen(f"{github['base_url']}/{place}", timeout=30) as answer:
        return json.load(answer)


async def measure(repositories: int, skills: int, compared: int) -> dict[str, float]:
    """All figures, in one run; so many repositories are looked into side by side, and one by one."""
    world = World(repositories, skills, renamed=max(1, repositories // 20))
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as folder:
        Path(folder).chmod(0o755)
        started = time.perf_counter()
        results = await through_a_crash(world, Path(folder))
        results["repositories a second, with the crash"] = repositories / (time.perf_counter() - started)
    calm = World(compared, skills, latency_ms=LATENCY_MS, is_limited=False)
    seconds = {}
    for name, batch_size in (("parallel", 20), ("sequential", 1)):
        with tempfile.TemporaryDirectory(prefix="assay-bench-") as folder:
            Path(folder).chmod(0o755)
            seconds[name] = await side_by_side(calm, Path(folder), batch_size=batch_size, parallel=name == "parallel")
    results["repositories a second, one by one"] = calm.repositories / seconds["sequential"]
    results["repositories a second, side by side"] = calm.repositories / seconds["parallel"]
    results["side by side / one by one (times)"] = seconds["sequential"] / seconds["parallel"]
    return results


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repositories", type=int, default=REPOSITORIES)
    parser.add_argument("--skills", type=int, default=SKILLS)
    parser.add_argument("--compared", type=int, default=COMPARED, help="looked into side by side, and one by one")
    options = parser.parse_args()
    for name, value in asyncio.run(measure(options.repositories, options.skills, options.compared)).items():
        print(f"{name:60} {value:10.2f}")


if __name__ == "__main__":
    main()
