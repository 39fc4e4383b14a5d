"""Responses and latency of each route before, during and after an outage of PostgreSQL under load.

    python -m benchmarks.outage [--rate 200] [--seconds 15] [--skills 200] [--webs 2] [--hang]

Everything runs on loopback: a fake GitHub, the embedded, durable PostgreSQL, `assay worker`, and several `assay web`
that share the requests and are not restarted. Requests are sent at a fixed rate, independent of response times.
"""

import argparse
import asyncio
import os
import secrets
import signal
import socket
import statistics
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path

import aiohttp

from assay.app.app import App, open_app
from assay.settings import SECRET_FIELDS, Settings, variable_name
from assay.store.database.database import open_database
from assay.store.database.embedded import EmbeddedServer, kill
from assay.store.database.migrate import migrate
from assay.store.feed.edge_rows import read_lag
from benchmarks.pipeline import HIGH_LIMITS, Shape, a_command, a_github, submit_all, until_decided

NAME = "bench-0/skills/skill-0"
PAGE, JSON = {"accept": "text/html"}, {"accept": "application/json"}
# These routes respond without the database.
READS = {
    "list": ("/api/v1/skills?limit=20", JSON),
    "search": ("/api/v1/skills/search?q=skill-0", JSON),
    "skill": (f"/api/v1/skills/{NAME}", JSON),
    "versions": (f"/api/v1/skills/{NAME}/versions", JSON),
    "blocklist": ("/api/v1/blocklist", JSON),
    "submissions": ("/api/v1/submissions", JSON),
    "submission numbers": ("/api/v1/submissions/stats", JSON),
    "numbers": ("/api/v1/stats", JSON),
    "home page": ("/", PAGE),
    "list page": ("/skills", PAGE),
    "search page": ("/skills?q=skill-0", PAGE),
    "skill page": (f"/skills/{NAME}", PAGE),
    "queue page": ("/queue", PAGE),
    "alive": ("/healthz", JSON),
}
# These routes respond with 503 and Retry-After: the feed must be complete, and health is about the database.
REFUSED = {"changes": ("/api/v1/changes", JSON), "queue health": ("/api/v1/queue/health", JSON)}
WRITE = "submit"
MARK = "X-Assay-Degraded"
BANNER = "The database is unavailable"
# Responses that contain nothing from the database or the edge copy.
UNMARKED = frozenset({"alive"})
ANSWER_SECONDS = 60


@dataclass(frozen=True)
class Answered:
    """A response: the phases in which the request was sent and answered, and its result."""

    phase: str
    until: str
    route: str
    status: int
    is_marked: bool
    retry_after: bool
    seconds: float


@dataclass
class Load:
    """Sends requests at a fixed rate and records the responses."""

    urls: Iterator[str]
    session: aiohttp.ClientSession
    rate: float
    phase: str = "healthy"
    answers: list[Answered] = field(default_factory=list)

    async def run(self, stopping: asyncio.Event) -> None:
        """Send requests until `stopping`, then wait for outstanding responses."""
        routes, started, number = cycle([*READS, *REFUSED, WRITE]), time.perf_counter(), 0
        async with asyncio.TaskGroup() as group:
            while not stopping.is_set():
                group.create_task(self.ask(next(routes)))
                number += 1
                await asyncio.sleep(max(0.0, started + number / self.rate - time.perf_counter()))

    async def ask(self, route: str) -> Answered:
        """Send one request; no response at all counts as status 599."""
        phase, started = self.phase, time.perf_counter()
        status, is_marked, retry_after = 599, False, False
        try:
            async with self._request(route) as answer:
                body = await answer.text()
                status, retry_after = answer.status, "Retry-After" in answer.headers
                marker = BANNER if answer.content_type == "text/html" else '"degraded":true'
                is_marked = MARK in answer.headers and marker in body
        except (aiohttp.ClientError, TimeoutError):
            pass
        found = Answered(phase, self.phase, route, status, is_marked, retry_after, time.perf_counter() - started)
        self.answers.append(found)
        return found

    def _request(self, route: str) -> "aiohttp.client._RequestContextManager":
        url = next(self.urls)
        if route == WRITE:
            body = {"repoUrl": "https://github.com/bench-0/skills", "skillName": "skill-0"}
            body["skillPath"] = "skills/skill-0/SKILL.md"
            return self.session.post(f"{url}/api/v1/submissions", json=body)
        path, headers = (READS | REFUSED)[route]
        return self.session.get(url + path, headers=headers)


async def measure(rate: float, seconds: float, skills: int, webs: int, *, hangs: bool) -> list[Answered]:
    """Measure one outage: PostgreSQL is killed, or stopped with its connections left open (`hangs`)."""
    shape = Shape("browsed", 1, skills)
    with tempfile.TemporaryDirectory() as folder, a_github(shape) as github:
        server = EmbeddedServer(Path(folder) / "postgres")
        server.start()
        try:
            async with open_database(server.url) as store:
                await migrate(store)
            settings = _settings(Path(folder), server, github["urls"])
            async with open_app(settings, application="benchmark") as app:
                with a_command("worker", settings):
                    await submit_all(app, shape)
                    await until_decided(app, lambda done: done >= skills)
                    await _until_copied(app)
                    with ExitStack() as running:
                        browsed = [settings.model_copy(update={"port": _free_port()}) for _ in range(webs)]
                        for each in browsed:
                            running.enter_context(a_command("web", each))
                        return await _browse(browsed, server, rate, seconds, hangs=hangs)
        finally:
            server.start()
            server.stop()


async def _browse(
    webs: list[Settings], server: EmbeddedServer, rate: float, seconds: float, *, hangs: bool
) -> list[Answered]:
    stopping = asyncio.Event()
    async with _session() as session:
        load = Load(cycle([f"http://127.0.0.1:{each.port}" for each in webs]), session, rate)
        for _ in webs:
            await _until_answered(load, lambda answer: answer.status == 200)
        load.answers.clear()
        running = asyncio.create_task(load.run(stopping))
        await asyncio.sleep(seconds)
        load.phase = "away"
        stopped = _processes(server) if hangs else []
        if hangs:
            _send(stopped, signal.SIGSTOP)
        else:
            kill(server)
        try:
            await asyncio.sleep(seconds)
        finally:
            load.phase = "coming back"
            if hangs:
                _send(stopped, signal.SIGCONT)
            else:
                await asyncio.to_thread(server.start)
        for _ in webs:
            await _until_answered(load, lambda answer: answer.status == 200 and not answer.is_marked)
        load.phase = "healthy again"
        await asyncio.sleep(seconds)
        stopping.set()
        await running
        return load.answers


async def _until_answered(load: Load, is_fine: Callable[[Answered], bool]) -> None:
    async with asyncio.timeout(ANSWER_SECONDS):
        while not is_fine(await load.ask("list")):
            await asyncio.sleep(0.1)


async def _until_copied(app: App) -> None:
    async with asyncio.timeout(ANSWER_SECONDS):
        while True:
            async with app.store.begin() as db:
                if (await read_lag(db, await app.edge.read_serial())).waiting == 0:
                    return
            await asyncio.sleep(0.1)


@asynccontextmanager
async def _session() -> AsyncIterator[aiohttp.ClientSession]:
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector, timeout=aiohttp.ClientTimeout(ANSWER_SECONDS)) as session:
        yield session


def _settings(folder: Path, server: EmbeddedServer, urls: dict[str, str]) -> Settings:
    options = {"ASSAY_DATA_DIR": str(folder), "ASSAY_DATABASE_URL": server.url, **HIGH_LIMITS, **urls}
    # The write resubmits a known skill, so that the queue does not grow.
    options["ASSAY_GITHUB_WEB_URL"] = "https://github.com"
    return Settings.from_mapping(options | {variable_name(name): secrets.token_hex(32) for name in SECRET_FIELDS})


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _processes(server: EmbeddedServer) -> list[int]:
    """Return the ids of the server and its child processes."""
    pid = server.pid()
    assert pid is not None
    return [pid, *map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())]


def _send(pids: list[int], number: signal.Signals) -> None:
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            continue


def failures(answers: list[Answered]) -> list[Answered]:
    """Return the wrong responses.

    Wrong are errors of routes that can respond, unmarked responses during the outage, refusals without Retry-After, and
    marked responses after recovery.
    """
    wrong = []
    for each in answers:
        is_away = each.phase == each.until == "away"
        may_refuse = bool({each.phase, each.until} & {"away", "coming back"}) and each.route in (*REFUSED, WRITE)
        is_refused = each.status == 503 and each.retry_after and may_refuse
        is_unmarked = is_away and each.route not in UNMARKED and not each.is_marked
        is_fine = each.status in (200, 201) and not is_unmarked
        is_late = each.phase == "healthy again" and each.is_marked
        if not (is_refused or is_fine) or is_late:
            wrong.append(each)
    return wrong


def figures(answers: list[Answered]) -> dict[str, float]:
    """Return latencies of each phase, absolute and relative to the healthy phase."""
    by_phase: dict[str, list[float]] = defaultdict(list)
    for each in answers:
        by_phase[each.phase].append(each.seconds * 1000)
    shown = {}
    for phase, times in by_phase.items():
        shown[f"{phase}: p50 ms"] = statistics.median(times)
        shown[f"{phase}: p99 ms"] = statistics.quantiles(times, n=100)[98] if len(times) > 1 else times[0]
        shown[f"{phase}: longest ms"] = max(times)
    for phase in by_phase:
        for part in ("p50", "p99"):
            shown[f"{phase}: {part} / healthy"] = shown[f"{phase}: {part} ms"] / shown[f"healthy: {part} ms"]
    return shown


def main() -> None:
    """Print counts, latencies and wrong responses."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rate", type=float, default=200, help="requests per second")
    parser.add_argument("--seconds", type=float, default=15, help="duration of each phase")
    parser.add_argument("--skills", type=int, default=200)
    parser.add_argument("--webs", type=int, default=2, help="number of web processes that share the requests")
    parser.add_argument("--hang", action="store_true", help="stop PostgreSQL's processes instead of killing them")
    options = parser.parse_args()
    answers = asyncio.run(measure(options.rate, options.seconds, options.skills, options.webs, hangs=options.hang))
    counts = Counter((each.phase, each.route, each.status, each.is_marked) for each in answers)
    for (phase, route, status, is_marked), number in counts.items():
        print(f"{phase:14} {route:20} {status} {'marked' if is_marked else '':7} {number:6}")
    for name, value in figures(answers).items():
        print(f"{name:40} {value:10.2f}")
    wrong = failures(answers)
    print(f"{'wrong answers':40} {len(wrong):10} of {len(answers)}")
    for each in wrong[:10]:
        print(" ", each)


if __name__ == "__main__":
    main()
