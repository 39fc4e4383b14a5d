"""A scan node: it claims or receives scans, runs tools on batches of skills, and delivers the results."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

import structlog

from assay.cage.run import CageLimits
from assay.deepscan.batch import prepare, scan_batch
from assay.deepscan.messages import DispatchedScan, FindingMessage, NodeMessage, ScanBatch, ScanResult
from assay.deepscan.registry_client import RegistryClient
from assay.deepscan.tool import Tool, ToolBroken
from assay.deepscan.workspace import SkillFiles
from assay.model.deep_scan import DeepResult, DeepStatus, DeepTool
from assay.model.errors import AssayError, Forbidden, NotFound, Unavailable
from assay.model.finding import Finding
from assay.model.ids import new_id

log = structlog.get_logger()
# Interval for checking broken tools again.
RETRY_TOOLS_SECONDS = 300
# Interval of heartbeats as a fraction of the lease.
HEARTBEAT_FRACTION = 0.3


@dataclass(frozen=True)
class NodeOptions:
    """Identity and limits of this node."""

    id: UUID
    name: str
    version: str
    batch: int = 50
    poll_seconds: float = 5
    # URL that the registry pushes to; None if this node only pulls.
    url: str | None = None
    limits: CageLimits = field(default_factory=CageLimits)


class Node:
    """A scan node. It works on one batch of one tool at a time; the tool uses all cores."""

    def __init__(self, registry: RegistryClient, tools: Sequence[Tool], options: NodeOptions) -> None:
        self._registry = registry
        self._options = options
        self._tools = {tool.name: tool for tool in tools}
        self._working: dict[DeepTool, Tool] = {}
        self._refusals: dict[str, str] = {}
        self._lease_seconds = 60.0
        self._leases: dict[UUID, int] = {}
        self._pushed: asyncio.Queue[ScanBatch] = asyncio.Queue(maxsize=1)
        self._wake = asyncio.Event()

    async def run(self, stopping: asyncio.Event) -> None:
        """Work until `stopping`; unfinished scans are then returned without counting an attempt."""
        await self.check_tools()
        heartbeat = asyncio.create_task(self._heartbeat(stopping))
        try:
            while not stopping.is_set():
                if not await self._work_until(stopping):
                    await self._wait_for_work(stopping)
        finally:
            heartbeat.cancel()
            await asyncio.gather(heartbeat, return_exceptions=True)
            await self.deregister()

    async def _work_until(self, stopping: asyncio.Event) -> bool:
        """Work once; on `stopping`, cancel the work and its tools. Return whether there was work."""
        work, stop = asyncio.create_task(self.work_once()), asyncio.create_task(stopping.wait())
        await asyncio.wait({work, stop}, return_when=asyncio.FIRST_COMPLETED)
        stop.cancel()
        if not work.done():
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)
            return False
        return work.result()

    async def check_tools(self) -> None:
        """Check the tools that are not known to work, and register."""
        for name, tool in self._tools.items():
            if name in self._working:
                continue
            try:
                self._refusals |= await prepare(tool, self._options.limits)
                self._working[name] = tool
            except ToolBroken as error:
                log.error("Scan tool does not work", tool=name.value, error=str(error))
        if self._refusals:
            log.warning("Kernel refused part of the cage", refused=self._refusals)
        await self.register()

    async def register(self) -> None:
        """Register this node and extend its leases; failures are logged."""
        status_message = NodeMessage(
            node_id=self._options.id,
            name=self._options.name,
            url=self._options.url,
            capacity=self._options.batch,
            in_flight=sum(self._leases.values()),
            tools={name: tool.version for name, tool in self._working.items()},
            sandbox=self._refusals,
            version=self._options.version,
            leases=list(self._leases),
        )
        try:
            self._lease_seconds = (await self._registry.register(status_message)).lease_seconds
        except (Unavailable, Forbidden) as error:
            log.warning("Failed to register with the registry", error=error.message)

    def accept_push(self, work: ScanBatch) -> bool:
        """Accept a pushed batch if this node is idle and it is meant for this node."""
        if work.node_id != self._options.id or work.tool not in self._working or work.lease is None:
            return False
        if self._leases or not self._pushed.empty():
            return False
        self._leases[work.lease] = len(work.scans)
        self._pushed.put_nowait(work)
        self._wake.set()
        return True

    async def work_once(self) -> bool:
        """Process a pushed batch, or claim one batch of each tool; return False if there was none."""
        if not self._pushed.empty():
            await self._process(self._pushed.get_nowait())
            return True
        found_work = False
        for name in list(self._working):
            try:
                work = await self._registry.claim(self._options.id, name, self._options.batch)
            except AssayError as error:
                log.warning("Failed to claim scans", error=error.message)
                return found_work
            if work.lease is not None:
                self._leases[work.lease] = len(work.scans)
                await self._process(work)
                found_work = True
        return found_work

    async def _process(self, work: ScanBatch) -> None:
        assert work.lease is not None
        tool = self._working.get(work.tool)
        try:
            if tool is None:
                raise ToolBroken("the tool is no longer available")
            skills, missing = await self._contents(work.scans)
            scanned = await scan_batch(tool, skills, self._options.limits)
            self._refusals |= scanned.refused
            log.info("Scanned a batch", tool=tool.name.value, skills=len(skills))
            for scan in work.scans:
                result = scanned.results.get(scan.content_digest) or missing[scan.content_digest]
                await self._deliver(scan, work.lease, tool, result, scanned.refused)
        except ToolBroken as error:
            log.error("Scan tool stopped working", tool=work.tool.value, error=str(error))
            self._working.pop(work.tool, None)
            await self._registry.release(self._options.id, work.lease)
            await self.register()
        except AssayError as error:
            # The lease expires and another node takes the scans.
            log.warning("Failed to process a batch", error=error.message)
        # Not reached on cancellation: `deregister` then returns the unfinished scans.
        self._leases.pop(work.lease, None)

    async def _contents(self, scans: Sequence[DispatchedScan]) -> tuple[list[SkillFiles], Mapping[str, DeepResult]]:
        """Fetch the contents to scan; a missing one becomes an error result of its own."""
        skills, missing = [], {}
        for digest in {scan.content_digest for scan in scans}:
            try:
                skills.append(SkillFiles(digest, (await self._registry.content(digest)).files))
            except NotFound as error:
                missing[digest] = DeepResult(DeepStatus.ERROR, error=error.message)
        return skills, missing

    async def _deliver(
        self, scan: DispatchedScan, lease: UUID, tool: Tool, result: DeepResult, refused: Mapping[str, str]
    ) -> None:
        status_message = ScanResult(
            delivery_id=new_id().hex,
            scan_id=scan.scan_id,
            node_id=self._options.id,
            lease=lease,
            tool=tool.name,
            tool_version=tool.version,
            content_digest=scan.content_digest,
            commit=scan.commit,
            status=result.status,
            findings=[_finding_message(each) for each in result.findings],
            left_out=result.left_out,
            error=result.error,
            duration_ms=result.duration_ms,
            sandbox=dict(refused),
        )
        if not await self._registry.deliver(status_message):
            log.info("Registry did not accept a late result", scan_id=scan.scan_id)

    async def _heartbeat(self, stopping: asyncio.Event) -> None:
        loop = asyncio.get_running_loop()
        checked_at = loop.time()
        while not stopping.is_set():
            await asyncio.sleep(self._lease_seconds * HEARTBEAT_FRACTION)
            await self.register()
            if len(self._working) < len(self._tools) and loop.time() - checked_at > RETRY_TOOLS_SECONDS:
                checked_at = loop.time()
                await self.check_tools()

    async def _wait_for_work(self, stopping: asyncio.Event) -> None:
        """Wait for a push, the next poll, or `stopping`."""
        waits = [asyncio.create_task(self._wake.wait()), asyncio.create_task(stopping.wait())]
        await asyncio.wait(waits, timeout=self._options.poll_seconds, return_when=asyncio.FIRST_COMPLETED)
        for wait in waits:
            wait.cancel()
        self._wake.clear()

    async def deregister(self) -> None:
        """Return unfinished scans and deregister; failures are logged."""
        try:
            for lease in list(self._leases):
                await self._registry.release(self._options.id, lease)
            await self._registry.deregister(self._options.id)
        except AssayError as error:
            log.info("Failed to deregister from the registry", error=error.message)


def _finding_message(finding: Finding) -> FindingMessage:
    return FindingMessage(
        rule_id=finding.rule_id,
        family=finding.family,
        severity=finding.severity,
        confidence=finding.confidence,
        file=finding.file,
        line=finding.line,
        excerpt=finding.excerpt,
        message=finding.message,
        remediation=finding.remediation,
    )
