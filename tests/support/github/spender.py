"""A separate process that spends calls: `python -m tests.support.github.spender`.

It reads its arguments as a line of JSON from stdin, and starts on the next line.
"""

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
    """Make calls until the rate limit is exhausted; return the number that succeeded."""
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
