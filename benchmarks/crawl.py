"""Discovery of many repositories, with rate limits, failures and a crash: completeness and cost.

    python -m benchmarks.crawl [--repositories 2000] [--skills 10] [--compared 200]

The fake GitHub is a separate process with three rate-limited tokens; every twentieth API response is an error, and one
repository in twenty was renamed. `assay crawl --once` reads code search, topics and a list with the former names; it is
killed (SIGKILL) halfway and started again. The one-minute windows of GitHub's search limits last two seconds here.

The second part inspects the same repositories on a GitHub with 200 ms latency: twenty at a time with parallel sources,
compared with one at a time.
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
from assay.discover.crawl import RunRequest
from assay.discover.schedule import register
from assay.settings import Settings
from benchmarks.pipeline import a_registry, environment

REPOSITORIES, SKILLS, COMPARED = 2_000, 10, 200
TOKENS = ("bench-one", "bench-two", "bench-three")
FAIL_EVERY = 20
# Typical latency of GitHub's tree endpoint.
LATENCY_MS = 200
SKILL_BYTES = 1_000
TIMEOUT_SECONDS = 1_800


@dataclass(frozen=True)
class World:
    """Content and limits of the fake GitHub."""

    repositories: int
    skills: int
    renamed: int = 0
    latency_ms: int = 0
    is_limited: bool = True

    @property
    def total(self) -> int:
        return self.repositories * self.skills

    @property
    def core_limit(self) -> int:
        """Calls per token and hour: enough with all three tokens, too few with two."""
        return self.repositories * 13 // 10 + 200

    @property
    def options(self) -> list[str]:
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
    """Run the fake GitHub as a separate process."""
    command = [sys.executable, "-m", "tests.support.fake_github", *world.options]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield json.loads(process.stdout.readline())
        finally:
            process.terminate()


def settings_for(folder: Path, urls: dict[str, str], sources: str) -> dict[str, str]:
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
    """Crawl, kill, crawl again; check completeness and return the cost."""
    (folder / "list.txt").write_text("\n".join(f"old-{number}/skills" for number in range(world.renamed)))
    with a_github(world) as github:
        variables = settings_for(folder, github["urls"], "code-search,topics,list")
        async with a_registry(folder / "data", variables) as (app, _):
            with a_crawl(app.settings) as crawl:
                await _until(app, world.total * 2 // 5, crawl)
                crawl.send_signal(signal.SIGKILL)
                crawl.wait()
            before = await _submitted(app)
            calls_before = _read(github, "_calls")
            while await _left(app):
                with a_crawl(app.settings) as crawl:
                    await asyncio.to_thread(crawl.wait, TIMEOUT_SECONDS)
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
    """Return the seconds until all sources have found and submitted everything."""
    (folder / "list.txt").write_text("\n".join(f"bench-{number}/skills" for number in range(world.repositories)))
    with a_github(world) as github:
        async with (
            a_registry(folder / "data", settings_for(folder, github["urls"], "code-search,topics,list")) as (app, _),
            open_crawler(app) as crawler,
        ):
            await register(app.store, crawler.sources, known_repositories(app.settings))
            run_request = RunRequest("benchmark", max_calls=100_000, is_manual=True, batch_size=batch_size)
            started = time.perf_counter()
            if parallel:
                await asyncio.gather(*(crawler.run(source, run_request) for source in crawler.sources))
            else:
                for source in crawler.sources:
                    await crawler.run(source, run_request)
            seconds = time.perf_counter() - started
            await _check(app, world)
            return seconds


@contextmanager
def a_crawl(settings: Settings) -> Iterator[subprocess.Popen[bytes]]:
    """Run `assay crawl --once`, killed at the end of the block."""
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
    """Assert that every skill has exactly one submission and every repository was inspected."""
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
    """Return whether a source has not completed its cycle or a repository is not inspected."""
    async with app.store.begin() as db:
        through = await db.execute(
            text("SELECT count(*) FROM discovery_source WHERE completed_at >= cycle_started_at AND lease_until IS NULL")
        )
        waiting = await db.execute(text("SELECT count(*) FROM discovery_record WHERE state = 'found'"))
        return through.scalar_one() < 3 or waiting.scalar_one() > 0


async def _until(app: App, number: int, crawl: subprocess.Popen[bytes]) -> None:
    async with asyncio.timeout(TIMEOUT_SECONDS):
        while await _submitted(app) < number:
            assert crawl.poll() is None, "the crawl ended before it could be killed"
            await asyncio.sleep(0.02)


def _read(github: dict[str, Any], path: str) -> dict[str, Any]:
    with urllib.request.urlopen(f"{github['base_url']}/{path}", timeout=30) as response:
        return json.load(response)


async def measure(repositories: int, skills: int, compared: int) -> dict[str, float]:
    """Return all figures; `compared` repositories are inspected in parallel and sequentially."""
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
    parser.add_argument(
        "--compared", type=int, default=COMPARED, help="repositories inspected in parallel and sequentially"
    )
    options = parser.parse_args()
    for name, value in asyncio.run(measure(options.repositories, options.skills, options.compared)).items():
        print(f"{name:60} {value:10.2f}")


if __name__ == "__main__":
    main()
