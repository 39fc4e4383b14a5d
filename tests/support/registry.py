"""A registry under test: real routes, a real database and a worker, in this process."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

import httpx

from assay.app.app import App, open_app
from assay.app.worker import open_tools, pause_gate, scan_pool_options, worker_options
from assay.model.clock import Clock
from assay.model.submission import ACTIVE
from assay.pipeline import PipelineDependencies, process
from assay.queue.worker import run_worker
from assay.settings import Settings
from assay.store.submissions.counts import count_by_state
from assay.web.app import create_app
from tests.support.fake_github import FakeGitHub
from tests.support.warm_scanner import warm_command

SECRET = "a-secret-for-tests-that-is-long-enough"
PATIENCE_SECONDS = 120


@dataclass
class Registry:
    """A registry under test."""

    app: App
    tools: PipelineDependencies
    client: httpx.AsyncClient
    github: FakeGitHub

    @property
    def web_url(self) -> str:
        """Return the base URL of repositories."""
        return self.app.settings.github_web_url

    async def submit(
        self, repository: str, skill_name: str, skill_path: str | None = None, *, as_operator: bool = False
    ) -> dict[str, Any]:
        """Submit a skill over HTTP; an operator may give it any name."""
        body = {"repoUrl": f"{self.web_url}/{repository}", "skillName": skill_name}
        answer = await self.client.post(
            "/api/v1/submissions",
            json=body | ({"skillPath": skill_path} if skill_path else {}),
            headers={"X-Internal-Key": SECRET} if as_operator else None,
        )
        assert answer.status_code in (200, 201), answer.text
        return answer.json()

    async def read(self, submission_id: str) -> dict[str, Any]:
        """Return a submission over HTTP."""
        answer = await self.client.get(f"/api/v1/submissions/{submission_id}")
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def work(self) -> None:
        """Run a worker until the queue is empty."""
        stopping = asyncio.Event()
        options = replace(worker_options(self.app.settings), idle_seconds=0.2)
        worker = asyncio.create_task(
            run_worker(
                self.app.database_url,
                lambda job: process(job, self.tools),
                options,
                stopping,
                pause_gate(self.app),
            )
        )
        try:
            await self.until_idle()
        finally:
            stopping.set()
            await worker

    async def until_idle(self) -> None:
        """Wait until no submission is in an active state."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while True:
                async with self.app.store.begin() as db:
                    counts = await count_by_state(db)
                if not sum(counts[state] for state in ACTIVE):
                    return
                await asyncio.sleep(0.02)


@asynccontextmanager
async def open_registry(settings: Settings, github: FakeGitHub, clock: Clock | None = None) -> AsyncIterator[Registry]:
    """Open a registry in this process, with real routes and a real database."""
    scanning = replace(scan_pool_options(settings), command=warm_command())
    async with (
        open_app(settings, application="test", clock=clock) as app,
        open_tools(app, scanning) as tools,
        httpx.AsyncClient(
            transport=httpx.ASGITransport(create_app(app), raise_app_exceptions=False), base_url="http://127.0.0.1"
        ) as client,
    ):
        yield Registry(app, tools, client, github)
