"""Several processes of each kind form one registry."""

from pathlib import Path

import httpx
import pytest

from tests.support.processes import a_free_port, a_process, until
from tests.support.registry import Registry
from tests.support.skills import a_repository

pytestmark = pytest.mark.process


async def test_two_web_and_two_worker_processes_form_one_registry(registry: Registry, tmp_path: Path) -> None:
    """A submission to one web process is handled by any worker and served by the other."""
    registry.github.add_repository("acme/tools", files=a_repository("pdf"))
    settings = registry.app.settings
    ports = [a_free_port(), a_free_port()]
    first, second = (settings.model_copy(update={"port": port}) for port in ports)
    with (
        a_process("web", first, tmp_path / "web-1.log"),
        a_process("web", second, tmp_path / "web-2.log"),
        a_process("worker", settings, tmp_path / "worker-1.log"),
        a_process("worker", settings, tmp_path / "worker-2.log"),
    ):
        async with httpx.AsyncClient(timeout=30) as client:

            async def both_ready() -> bool:
                try:
                    answers = [await client.get(f"http://127.0.0.1:{port}/readyz") for port in ports]
                except httpx.TransportError:
                    return False
                return all(answer.status_code == 200 for answer in answers)

            await until(both_ready)
            body = {"repoUrl": f"{registry.web_url}/acme/tools", "skillPath": "skills/pdf/SKILL.md"}
            accepted = await client.post(f"http://127.0.0.1:{ports[0]}/api/v1/submissions", json=body)
            assert accepted.status_code == 201, accepted.text

            async def served() -> bool:
                answer = await client.get(f"http://127.0.0.1:{ports[1]}/api/v1/skills/acme/tools/pdf")
                return answer.status_code == 200

            await until(served)
            stats = [(await client.get(f"http://127.0.0.1:{port}/api/v1/submissions/stats")).json() for port in ports]
            assert [each["published"] for each in stats] == [1, 1]
