"""Nodes at work: they pull, are pushed to, die, break, and stop; nothing that waits is lost by any of it."""

import asyncio
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from sqlalchemy import text

from assay.app.maintenance import open_pusher
from assay.deepscan.install import default_folder, is_installed
from assay.deepscan.receiver import receiving
from assay.model.deep_scan import DeepTool
from tests.deepscan.conftest import Served
from tests.journeys.test_many_processes import a_free_port
from tests.support.deepscan.deliveries import ADMIN, pending, publish
from tests.support.deepscan.scripted import a_tool
from tests.support.processes import environment, until
from tests.support.registry import SECRET, Registry
from tests.support.warm import run_assay


async def results(registry: Registry, name: str = "acme/tools/greet") -> dict[str, str]:
    """Where the scans of a skill stand."""
    served = (await registry.client.get(f"/api/v1/skills/{name}")).json()
    return {scan["tool"]: scan["status"] for scan in served["deepScans"]}


async def nodes(registry: Registry) -> list[dict[str, object]]:
    """Those that are known."""
    return (await registry.client.get("/api/v1/internal/scan-nodes", headers=ADMIN)).json()["nodes"]


async def test_a_node_pulls_scans_and_delivers(served: Served) -> None:
    """G47: several skills in one batch; it needs the address and two secrets, and no database."""
    registry = served.registry
    await publish(registry)
    await publish(registry, "umbrella/other", "other", **{"notes.txt": "FIND high"})
    node = served.node(a_tool(DeepTool.SEMGREP), a_tool(DeepTool.NJSSCAN))
    await node.mend()
    assert await node.work_once()
    assert not await node.work_once()
    assert await results(registry) == {"semgrep": "clean", "njsscan": "clean", "kingfisher": "pending"}
    assert (await results(registry, "umbrella/other/other"))["semgrep"] == "findings"
    [known] = await nodes(registry)
    assert (known["alive"], known["tools"], known["sandbox"]) == (True, {"semgrep": "1.0", "njsscan": "1.0"}, {})
    await node.leave()
    assert await nodes(registry) == []


async def test_a_broken_tool_gives_its_scans_back(served: Served, tmp_path: Path) -> None:
    """G43: the node says that it cannot, and the skills lose no attempt."""
    registry = served.registry
    await publish(registry)
    tool = a_tool()
    node = served.node(tool)
    await node.mend()
    node._working[DeepTool.SEMGREP] = replace(tool, good_exits=frozenset({7}))
    await node.work_once()
    [waiting] = await pending(registry)
    assert waiting["attempts"] == 0
    [known] = await nodes(registry)
    assert known["tools"] == {}


async def test_a_node_that_is_stopped_gives_back_what_it_has(served: Served) -> None:
    """In the midst of a batch: at once, and it was no attempt."""
    registry = served.registry
    await publish(registry, **{"wait.txt": "HANG"})
    stopping = asyncio.Event()
    running = asyncio.create_task(served.node(a_tool()).run(stopping))

    async def has_taken() -> bool:
        return await pending(registry) == []

    await until(has_taken, 120)
    stopping.set()
    await running
    [waiting] = await pending(registry)
    assert waiting["attempts"] == 0
    assert await nodes(registry) == []


async def test_a_killed_node_returns_its_work(served: Served, tmp_path: Path) -> None:
    """G47: kill -9 in the midst of a batch; when its lease ends, another node does all of it."""
    registry = served.registry
    await publish(registry, **{"wait.txt": "HANG"})
    await publish(registry, "umbrella/other", "other")
    command = [sys.executable, "-m", "tests.support.deepscan.hanging_node", served.url, SECRET]
    dying = subprocess.Popen(command, stdin=subprocess.DEVNULL)

    async def has_taken() -> bool:
        return await pending(registry) == []

    await until(has_taken, 120)
    dying.send_signal(signal.SIGKILL)
    dying.wait()
    async with registry.app.store.begin() as db:
        await db.execute(text("UPDATE deep_scan SET lease_expires_at = now() WHERE status = 'running'"))
    patient = served.node(replace(a_tool(program=a_tool().program(None)[3].replace("time.sleep(600)", "pass"))))
    await patient.mend()
    await patient.work_once()
    assert (await results(registry))["semgrep"] == "clean"
    assert (await results(registry, "umbrella/other/other"))["semgrep"] == "clean"


async def test_what_can_be_pushed_is_pushed_and_the_rest_is_pulled(served: Served) -> None:
    """G47: a node with an address gets scans without asking; one that is not reached is counted, and pulls."""
    registry = served.registry
    await publish(registry)
    pusher, port = open_pusher(registry.app), a_free_port()
    node = served.node(a_tool(), url=f"http://127.0.0.1:{port}")
    await node.mend()
    assert await pusher.push_all() == 0, "nobody listens there yet"
    assert len(await pending(registry)) == 1, "so it waits to be pulled"
    assert [each["pushFailures"] for each in await nodes(registry)] == [1]
    async with receiving(node, "127.0.0.1", port, SECRET, registry.app.clock):
        assert await pusher.push_all() == 1
        assert await pending(registry) == []
        assert await pusher.push_all() == 0, "it has no room, or there is nothing left"
        unsigned = await served.session.post(f"http://127.0.0.1:{port}/scans", data=b"{}")
        assert unsigned.status == 401
    await node.work_once()
    assert (await results(registry))["semgrep"] == "clean"


async def test_the_command_scans_with_the_real_tool(served: Served, tmp_path: Path) -> None:
    """G47: `assay scan-node --once` on another machine: only an address, two secrets and the tools."""
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


async def test_a_node_without_secrets_or_tools_says_what_is_missing(tmp_path: Path) -> None:
    """G92: one line that names it, and no half-working node."""
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
