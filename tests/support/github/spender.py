"""A process of its own that spends calls: `python -m tests.support.github.spender` with a line of JSON, then another line to begin."""

import asyncio
import json
import sys
import time

from assay.model.errors import RateLimited
from assay.store.database.database import open_database
from tests.support.fake_github import FakeServer
from tests.support.github.clients import TOOLS, a_process

TASKS = 4


async def spend(database_url: str, base_url: str, commit: str, tokens: list[str]) -> int:
    """Call until nothing is left; returns how many calls were answered."""
    made = 0
    async with (
        open_database(database_url) as store,
        a_process(FakeServer(base_url), time.time, store, tokens) as github,
    ):
        print("ready", flush=True)
        await asyncio.to_thread(sys.stdin.readline)

        async def work() -> None:
            nonlocal made
            while True:
                try:
                    await github.get_tree(TOOLS, commit)
                except RateLimited:
                    return
                made += 1

        await asyncio.gather(*(work() for _ in range(TASKS)))
    return made


if __name__ == "__main__":
    print(asyncio.run(spend(**json.loads(sys.stdin.readline()))))
