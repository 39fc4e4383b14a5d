"""Requests per CPU second of frequent routes, compared with a bare route of the same framework.

    python -m benchmarks.routes [--skills 20000] [--requests 400]

Both run in this process, without a network. The bare route runs the same SQL statements on an asyncpg connection and
sends the same bytes, without access rules, checks, types or headers. The lowest CPU time of several rounds counts, as
the one with the least interference.
"""

import argparse
import asyncio
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import asyncpg
import httpx
from litestar import Litestar, Response, get

from assay.app.app import App
from assay.web.app import create_app
from benchmarks.catalogue import Catalogue, fill_catalogue
from benchmarks.pipeline import Shape, a_github, a_registry, one_at_a_time
from benchmarks.search import record_statements

SKILLS, REQUESTS, ROUNDS = 20_000, 400, 5
# The one skill that was published by the pipeline; the others have no content.
PUBLISHED = Shape("one skill", repositories=1, skills=1)
NAME = "bench-0/skills/skill-0"
# One line per route; {name} is the published skill.
ROUTES = {
    "skill (JSON)": "/api/v1/skills/{name}",
    "skill page": "/skills/{name}",
    "list": "/api/v1/skills?limit=30",
    "search": "/api/v1/skills/search?q=invoice&limit=30",
    "versions": "/api/v1/skills/{name}/versions",
    "badge": "/badge/{name}.svg",
    "changes": "/api/v1/changes?since=0&limit=100",
    "blocklist": "/api/v1/blocklist",
    "stats": "/api/v1/submissions/stats",
    "queue page": "/queue",
}
Ask = Callable[[], Awaitable[httpx.Response]]


async def measure(skills: int, requests: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as folder:
        Path(folder).chmod(0o755)
        with a_github(PUBLISHED) as github:
            async with a_registry(Path(folder) / "data", github["urls"]) as (app, tools):
                await fill_catalogue(app.database_url, Catalogue(skills))
                await one_at_a_time(app, tools, PUBLISHED)
                connection = await asyncpg.connect(app.database_url, server_settings={"jit": "off"})
                try:
                    results: dict[str, float] = {}
                    for route, path in ROUTES.items():
                        results |= await _compare(app, connection, route, path.format(name=NAME), requests)
                    return results
                finally:
                    await connection.close()


async def _compare(app: App, connection: asyncpg.Connection, route: str, path: str, requests: int) -> dict[str, float]:
    async with _client(create_app(app)) as ours:
        with record_statements(app.store) as statements:
            answer = await ours.get(path)
        assert answer.status_code == 200, f"{path}: {answer.text[:300]}"
        content, kind = answer.content, answer.headers["Content-Type"]

        @get("/")
        async def bare_route() -> Response[bytes]:
            async with connection.transaction(isolation="repeatable_read", readonly=True):
                for statement, values in statements:
                    await connection.fetch(statement, *values)
            return Response(content, media_type=kind)

        async with _client(Litestar([bare_route], openapi_config=None, logging_config=None)) as bare:
            seconds = await _in_turn({"ours": lambda: ours.get(path), "bare": lambda: bare.get("/")}, requests)
    return {
        f"{route}: requests a CPU-second": 1 / seconds["ours"],
        f"{route}: CPU time / bare framework": seconds["ours"] / seconds["bare"],
        f"{route}: statements": float(len(statements)),
    }


async def _in_turn(ways: dict[str, Ask], requests: int) -> dict[str, float]:
    least: dict[str, float] = {}
    for number in range(ROUNDS + 1):
        for name, ask in ways.items():
            started = time.process_time()
            for _ in range(max(1, requests // ROUNDS)):
                await ask()
            taken = (time.process_time() - started) / max(1, requests // ROUNDS)
            if number:  # the first round warms up
                least[name] = min(taken, least.get(name, taken))
    return least


def _client(app: Any) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://127.0.0.1")


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--skills", type=int, default=SKILLS)
    parser.add_argument("--requests", type=int, default=REQUESTS)
    options = parser.parse_args()
    for name, value in asyncio.run(measure(options.skills, options.requests)).items():
        print(f"{name:60} {value:10.2f}")


if __name__ == "__main__":
    main()
