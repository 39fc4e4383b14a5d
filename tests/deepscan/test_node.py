"""Scan nodes: pull, push, failure and shutdown."""

import asyncio
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import text

from assay.app.maintenance import open_pusher
from assay.deepscan.install import default_folder, is_installed
from assay.deepscan.receiver import receive_pushes
from assay.model.deep_scan import DeepTool
from tests.support.deepscan.deliveries import ADMIN, list_pending, publish
from tests.support.deepscan.scripted import a_tool
from tests.support.deepscan.served import Served
from tests.support.processes import a_free_port, environment, until
from tests.support.registry import SECRET, Registry
from tests.support.warm import run_assay

pytestmark = pytest.mark.process


async def results(registry: Registry, name: str = "acme/tools/greet") -> dict[str, str]:
    """Return the status of a skill's scans."""
    served = (await registry.client.get(f"/api/v1/skills/{name}")).json()
    return {scan["tool"]: scan["status"] for scan in served["deepScans"]}


async def nodes(registry: Registry) -> list[dict[str, object]]:
    """Return the known nodes."""
    return (await registry.client.get("/api/v1/internal/scan-nodes", headers=ADMIN)).json()["nodes"]


async def test_node_pulls_and_delivers(served: Served) -> None:
    """G47: in batches, without a database."""
    registry = served.registry
    await publish(registry)
    await publish(registry, "umbrella/other", "other", **{"notes.txt": "FIND high"})
    node = served.node(a_tool(DeepTool.SEMGREP), a_tool(DeepTool.NJSSCAN))
    await node.check_tools()
    assert await node.work_once()
    assert not await node.work_once()
    assert await results(registry) == {"semgrep": "clean", "njsscan": "clean", "kingfisher": "pending"}
    assert (await results(registry, "umbrella/other/other"))["semgrep"] == "findings"
    [known] = await nodes(registry)
    assert (known["alive"], known["tools"], known["sandbox"]) == (True, {"semgrep": "1.0", "njsscan": "1.0"}, {})
    await node.deregister()
    assert await nodes(registry) == []


async def test_broken_tool_releases_its_scans(served: Served, tmp_path: Path) -> None:
    """G43: without costing an attempt."""
    registry = served.registry
    await publish(registry)
    tool = a_tool()
    node = served.node(tool)
    await node.check_tools()
    node._working[DeepTool.SEMGREP] = replace(tool, success_codes=frozenset({7}))
    await node.work_once()
    [waiting] = await list_pending(registry)
    assert waiting["attempts"] == 0
    [known] = await nodes(registry)
    assert known["tools"] == {}


async def test_stopped_node_releases_its_scans(served: Served) -> None:
    registry = served.registry
    await publish(registry, **{"wait.txt": "HANG"})
    stopping = asyncio.Event()
    running = asyncio.create_task(served.node(a_tool()).run(stopping))

    async def has_taken() -> bool:
        return await list_pending(registry) == []

    await until(has_taken, 120)
    stopping.set()
    await running
    [waiting] = await list_pending(registry)
    assert waiting["attempts"] == 0
    assert await nodes(registry) == []


async def test_work_of_a_killed_node_is_redone(served: Served, tmp_path: Path) -> None:
    """G47: when its lease expires."""
    registry = served.registry
    await publish(registry, **{"wait.txt": "HANG"})
    await publish(registry, "umbrella/other", "other")
    command = [sys.executable, "-m", "tests.support.deepscan.hanging_node", served.url, SECRET]
    dying = subprocess.Popen(command, stdin=subprocess.DEVNULL)

    async def has_taken() -> bool:
        return await list_pending(registry) == []

    await until(has_taken, 120)
    dying.send_signal(signal.SIGKILL)
    dying.wait()
    async with registry.app.store.begin() as db:
        await db.execute(text("UPDATE deep_scan SET lease_expires_at = now() WHERE status = 'running'"))
    patient = served.node(replace(a_tool(program=a_tool().program(None)[3].replace("time.sleep(600)", "pass"))))
    await patient.check_tools()
    await patient.work_once()
    assert (await results(registry))["semgrep"] == "clean"
    assert (await results(registry, "umbrella/other/other"))["semgrep"] == "clean"


async def test_scans_are_pushed_to_reachable_nodes(served: Served) -> None:
    """G47: unreachable nodes are counted and pull."""
    registry = served.registry
    await publish(registry)
    pusher, port = open_pusher(registry.app), a_free_port()
    node = served.node(a_tool(), url=f"http://127.0.0.1:{port}")
    await node.check_tools()
    assert await pusher.push_all() == 0, "nobody listens there yet"
    assert len(await list_pending(registry)) == 1, "so it waits to be pulled"
    assert [each["pushFailures"] for each in await nodes(registry)] == [1]
    async with receive_pushes(node, "127.0.0.1", port, SECRET, registry.app.clock):
        assert await pusher.push_all() == 1
        assert await list_pending(registry) == []
        assert await pusher.push_all() == 0, "it has no room, or there is nothing left"
        unsigned = await served.session.post(f"http://127.0.0.1:{port}/scans", data=b"{}")
        assert unsigned.status == 401
    await node.work_once()
    assert (await results(registry))["semgrep"] == "clean"


async def test_scan_node_command_with_a_real_tool(served: Served, tmp_path: Path) -> None:
    """G47."""
    assert is_installed(default_folder()), "The scan tools are not installed: run `make deepscan`, or `make test`."
    registry = served.registry
    await publish(
        registry, **{"scripts/load.py": "import pickle\n\n\ndef load(data):\n    return pickle.loads(data)\n"}
    )
    variables = environment(registry.app.settings.model_copy(update={"database_url": None}))
    variables["ASSAY_DEEP_SCAN_TOOLS"] = "semgrep"
    command = [sys.executable, "-m", "assay", "scan-node", "--once", "--url", served.url, "--name", "elsewhere"]
    log = (tmp_path / "node.log").open("wb")
    ended = subprocess.Popen(command, env=variables, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=tmp_path)

    async def has_ended() -> bool:
        return ended.poll() is not None

    await until(has_ended, 280)
    assert ended.returncode == 0, (tmp_path / "node.log").read_text()
    detail = (await registry.client.get("/api/v1/skills/acme/tools/greet")).json()["deepScans"]
    [scan] = [each for each in detail if each["tool"] == "semgrep"]
    assert [finding["ruleId"] for finding in scan["findings"]] == ["assay.python.unsafe-deserialisation"]
    assert "+rules." in scan["toolVersion"]
    assert scan["sandbox"] == {}


async def test_node_reports_missing_secrets_or_tools(tmp_path: Path) -> None:
    """G92."""
    nothing = {"PATH": "/usr/bin:/bin", "ASSAY_DATA_DIR": str(tmp_path), "PYTHONPATH": ":".join(sys.path)}
    command = ("scan-node", "--once", "--url", "http://127.0.0.1:9")
    ended = run_assay(*command, env=nothing, seconds=120)
    assert ended.returncode != 0
    assert "ASSAY_INTERNAL_KEY and ASSAY_WEBHOOK_SECRET" in ended.stderr
    assert not (tmp_path / "secrets.json").exists()
    given = nothing | {
        "ASSAY_INTERNAL_KEY": SECRET,
        "ASSAY_WEBHOOK_SECRET": SECRET,
        "ASSAY_DEEP_SCAN_DIR": str(tmp_path),
    }
    ended = run_assay(*command, env=given, seconds=120)
    assert ended.returncode != 0
    assert "assay scan-node --install" in ended.stderr
