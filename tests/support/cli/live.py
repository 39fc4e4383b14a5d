"""A registry of real processes, and its command line."""

import asyncio
import json
import os
import select
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import asyncpg

from assay.settings import Settings
from tests.support.cli.up import wait_for
from tests.support.fake_github import FakeGitHub, serve
from tests.support.limits import HIGH_LIMITS
from tests.support.processes import a_free_port, a_process, environment
from tests.support.registry import SECRET
from tests.support.warm import run_assay

PATIENCE_SECONDS = 120
# A test run in the background passes an ignored SIGINT to all its processes.
HEAR_CTRL_C = (
    "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); os.execv(sys.argv[1], sys.argv[1:])"
)
AT_A_KEYBOARD = [sys.executable, "-c", HEAR_CTRL_C, sys.executable, "-m", "assay"]


@dataclass(frozen=True)
class Ran:
    """A finished command."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Return standard output, which must be one JSON document."""
        return json.loads(self.out)


@dataclass(frozen=True)
class Live:
    """`assay web` and `assay worker`, with their own GitHub."""

    url: str
    github: FakeGitHub
    environment: dict[str, str]

    def assay(self, *arguments: str, **variables: str) -> Ran:
        """Run a command on the machine of the registry."""
        return assay(*arguments, environment=self.environment | variables)

    def get(self, path: str) -> Any:
        """Return a response of the API."""
        with urllib.request.urlopen(f"{self.url}/api/v1{path}", timeout=30) as answer:
            return json.load(answer)

    def submissions_of(self, repository: str) -> dict[str, dict[str, Any]]:
        """Return the submissions of a repository by skill name."""
        page = self.get(f"/submissions?limit=500&q={repository}")
        return {each["skillName"]: each for each in page["submissions"] if each["repository"] == repository}

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Pause the queue for the block."""
        assert self.assay("queue", "pause", "--reason", "a test").code == 0
        try:
            yield
        finally:
            assert self.assay("queue", "resume").code == 0


def assay(*arguments: str, environment: dict[str, str], typed: str = "") -> Ran:
    """`python -m assay`, with nothing of a terminal."""
    ended = run_assay(*arguments, env=environment, typed=typed, seconds=PATIENCE_SECONDS)
    assert "Traceback" not in ended.stderr, ended.stderr
    return Ran(ended.returncode, ended.stdout, ended.stderr)


@contextmanager
def a_live_registry(postgres_url: str, folder: Path) -> Iterator[Live]:
    """Start real processes on their own database."""
    github = FakeGitHub(anonymous_limit=100_000)
    with ExitStack() as stack:
        database_url = stack.enter_context(_a_database(postgres_url))
        server = stack.enter_context(serve(github))
        settings = Settings.from_mapping(
            {
                "ASSAY_DATA_DIR": str(folder / "data"),
                "ASSAY_PORT": str(a_free_port()),
                "ASSAY_DATABASE_URL": database_url,
                "ASSAY_INTERNAL_KEY": SECRET,
                "ASSAY_JWT_SECRET": SECRET,
                "ASSAY_WEBHOOK_SECRET": SECRET,
                "ASSAY_RETRY_SECONDS": "0",
                **HIGH_LIMITS,
                **server.urls(),
            }
        )
        stack.enter_context(a_process("web", settings, folder / "web.log"))
        stack.enter_context(a_process("worker", settings, folder / "worker.log"))
        wait_for(lambda: _is_ready(settings.base_url), "a registry that is ready")
        yield Live(settings.base_url, github, environment(settings))


def without_settings(**variables: str) -> dict[str, str]:
    """Return an environment with only these settings of Assay."""
    return {name: value for name, value in os.environ.items() if not name.startswith("ASSAY_")} | variables


def _is_ready(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/readyz", timeout=5) as answer:
            return answer.status == 200
    except OSError:
        return False


@contextmanager
def _a_database(postgres_url: str) -> Iterator[str]:
    name = f"test_{uuid4().hex}"
    asyncio.run(_execute(postgres_url, f"CREATE DATABASE {name} TEMPLATE assay"))
    yield postgres_url.replace("/assay?", f"/{name}?")
    asyncio.run(_execute(postgres_url, f"DROP DATABASE {name} WITH (FORCE)"))


async def _execute(postgres_url: str, statement: str) -> None:
    connection = await asyncpg.connect(postgres_url.replace("/assay?", "/postgres?"))
    await connection.execute(statement)
    await connection.close()


def at_a_terminal(
    live: Live, *arguments: str, shows: bytes, interrupt_after: int | None = None, **variables: str
) -> tuple[bytes, int]:
    """Return terminal output and exit code, pressing Ctrl-C after the marker has appeared often enough."""
    leader, follower = os.openpty()
    terminal = {"stdin": follower, "stdout": follower, "stderr": follower}
    environment = live.environment | {"TERM": "xterm", "COLUMNS": "120"} | variables
    process = subprocess.Popen([*AT_A_KEYBOARD, *arguments], env=environment, **terminal)
    os.close(follower)
    seen, asked = b"", False
    try:
        while select.select([leader], [], [], PATIENCE_SECONDS)[0]:
            try:
                seen += os.read(leader, 4096)
            except OSError:  # the terminal is closed
                break
            if interrupt_after is not None and not asked and seen.count(shows) > interrupt_after:
                process.send_signal(signal.SIGINT)
                asked = True
            assert seen.count(shows) < 20 + (interrupt_after or 0), "Ctrl-C is not heard"
        return seen, process.wait(PATIENCE_SECONDS)
    finally:
        process.kill()
        process.wait()
        os.close(leader)
