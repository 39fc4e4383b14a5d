"""Processes that share three tokens."""

import asyncio
import json
import sys
from asyncio.subprocess import PIPE, Process
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import pytest

from tests.support.fake_github import FakeGitHub, FakeServer
from tests.support.skills import a_repository

pytestmark = pytest.mark.process

TOKENS = ["first-secret", "second-secret", "third-secret"]
LIMIT = 60
PROCESSES = 4


@asynccontextmanager
async def a_spender(given: dict[str, object]) -> AsyncIterator[Process]:
    """Start a process that waits for a line."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.support.github.spender", stdin=PIPE, stdout=PIPE
    )
    try:
        process.stdin.write(json.dumps(given).encode() + b"\n")
        assert await process.stdout.readline() == b"ready\n"
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def calls_made(process: Process) -> int:
    """Return the number of successful calls."""
    return int(await process.stdout.readline())


async def test_processes_use_every_call_once(database_url: str, github: FakeGitHub, github_server: FakeServer) -> None:
    """G33: GitHub never has to refuse one."""
    tools = github.add_repository("acme/tools", a_repository("pdf"))
    for token in TOKENS:
        github.add_token(token, limit=LIMIT)
    given = {
        "database_url": database_url,
        "base_url": github_server.base_url,
        "commit": tools.sha,
        "tokens": TOKENS,
    }
    async with AsyncExitStack() as stack:
        starting = (stack.enter_async_context(a_spender(given)) for _ in range(PROCESSES))
        processes = await asyncio.gather(*starting)
        for process in processes:
            process.stdin.write(b"go\n")
        made = await asyncio.gather(*map(calls_made, processes))
    refused = [call for call in github.calls if call.status in (403, 429)]
    spent = Counter(call.token for call in github.calls if call.charged)
    assert refused == []
    assert spent == dict.fromkeys(TOKENS, LIMIT)
    assert sum(made) == len(TOKENS) * LIMIT
