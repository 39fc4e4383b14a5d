"""Bulk-enqueue of 1000 skills over HTTP, against one bare multi-row INSERT of the same rows.

    python -m benchmarks.bulk [--rounds 15]

Both write alternately to the same table of the embedded, durable PostgreSQL, with new names each time. A request over
HTTP includes authentication, JSON, validation, admission, jobs, events, change records, commit and response.
"""

import argparse
import asyncio
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import httpx
import msgspec
from sqlalchemy import text

from assay.app.app import App
from assay.model.ids import new_id
from assay.model.repository import Host, RepositoryName
from assay.model.submission import Origin
from assay.store.repositories.repositories import find_or_add_repositories
from assay.submit.admission import SubmissionRequest
from assay.submit.bulk import admit_batch
from assay.web.app import create_app
from benchmarks.pipeline import a_registry

ITEMS, REPOSITORIES = 1000, 100
INSERT = text(
    """
    INSERT INTO submission (id, repository_id, skill_name, skill_path, state, origin)
    SELECT * FROM unnest(
        CAST(:ids AS uuid[]), CAST(:repositories AS bigint[]), CAST(:names AS text[]), CAST(:paths AS text[]),
        CAST(:states AS text[]), CAST(:origins AS text[])
    )
    """
)
Work = Callable[[str], Awaitable[None]]


async def bare_insert(app: App, numbers: list[int], prefix: str) -> None:
    """Insert only the rows: no jobs, events, change records or checks."""
    values = {
        "ids": [new_id() for _ in range(ITEMS)],
        "repositories": [numbers[item % REPOSITORIES] for item in range(ITEMS)],
        "names": [f"{prefix}-{item}" for item in range(ITEMS)],
        "paths": [f"skills/{prefix}-{item}/SKILL.md" for item in range(ITEMS)],
        "states": ["RECEIVED"] * ITEMS,
        "origins": ["bulk"] * ITEMS,
    }
    async with app.store.begin() as db:
        await db.execute(INSERT, values)


async def admit(app: App, prefix: str) -> None:
    """Admit the batch without HTTP."""
    requests = [
        SubmissionRequest(
            RepositoryName(Host.GITHUB, "bench", f"repo-{item % REPOSITORIES}"),
            f"{prefix}-{item}",
            f"skills/{prefix}-{item}/SKILL.md",
            Origin.BULK,
        )
        for item in range(ITEMS)
    ]
    async with app.store.begin() as db:
        await admit_batch(db, requests, may_reopen=False)


async def over_http(app: App, client: httpx.AsyncClient, prefix: str) -> None:
    """Submit the batch over HTTP, as a crawler does."""
    web_url = app.settings.github_web_url
    items = [
        {
            "repoUrl": f"{web_url}/bench/repo-{item % REPOSITORIES}",
            "skillName": f"{prefix}-{item}",
            "skillPath": f"skills/{prefix}-{item}/SKILL.md",
        }
        for item in range(ITEMS)
    ]
    answer = await client.post(
        "/api/v1/admin/queue/bulk-enqueue",
        content=msgspec.json.encode({"items": items}),
        headers={"Content-Type": "application/json"},
    )
    assert answer.json()["enqueued"] == ITEMS, answer.text[:300]


async def measure(rounds: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as folder:
        Path(folder).chmod(0o755)
        async with a_registry(Path(folder) / "data", {}) as (app, _):
            names = [RepositoryName(Host.GITHUB, "bench", f"repo-{number}") for number in range(REPOSITORIES)]
            async with app.store.begin() as db:
                known = await find_or_add_repositories(db, names)
            numbers = [known[name.key].id for name in names]
            assert app.settings.internal_key is not None
            async with httpx.AsyncClient(
                transport=httpx.ASGITransport(create_app(app)),
                base_url="http://127.0.0.1",
                headers={"X-Internal-Key": app.settings.internal_key.get_secret_value()},
            ) as client:
                return await _compare(
                    {
                        "bare": lambda prefix: bare_insert(app, numbers, prefix),
                        "admit": lambda prefix: admit(app, prefix),
                        "http": lambda prefix: over_http(app, client, prefix),
                    },
                    rounds,
                )


async def _compare(ways: dict[str, Work], rounds: int) -> dict[str, float]:
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(rounds + 1):
        for name, work in ways.items():
            started = time.perf_counter()
            await work(f"{name}-{number}")
            if number:  # the first round warms up
                seconds[name].append(time.perf_counter() - started)
    bare, admitted, answered = (statistics.median(seconds[name]) for name in ("bare", "admit", "http"))
    return {
        "bare INSERT of 1000 rows (ms)": bare * 1000,
        "admission of 1000 / bare INSERT (times)": admitted / bare,
        "bulk-enqueue of 1000 over HTTP / bare INSERT (times)": answered / bare,
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    for figure, value in asyncio.run(measure(parser.parse_args().rounds)).items():
        print(f"{figure:60} {value:10.2f}")
