"""A scan node: takes scans, runs tools on many skills at once, and hands in what they say."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

import structlog

from assay.cage.run import Limits
from assay.deepscan.batch import prepare, scan_batch
from assay.deepscan.messages import DispatchedScan, FindingMessage, NodeMessage, ScanResult, Work
from assay.deepscan.registry import RegistryClient
from assay.deepscan.tool import Tool, ToolBroken
from assay.deepscan.workplace import Skill
from assay.model.deep_scan import DeepResult, DeepStatus, DeepTool
from assay.model.errors import AssayError, Forbidden, NotFound, Unavailable
from assay.model.finding import Finding
from assay.model.ids import new_id

log = structlog.get_logger()
# A tool that is broken is tried again so often.
MEND_SECONDS = 300
# So much of the time of a lease a node may be silent.
SILENCE = 0.3


@dataclass(frozen=True)
class NodeOptions:
    """Who this node is, and how much it takes at once."""

    id: UUID
    name: str
    version: str
    batch: int = 50
    poll_seconds: float = 5
    # Where the registry may push to; None: this node only pulls.
    url: str | None = None
    limits: Limits = field(default_factory=Limits)


class Node:
    """One node. It works on one batch of one tool at a time; each tool uses all cores that it may."""

    def __init__(self, registry: RegistryClient, tools: Sequence[Tool], options: NodeOptions) -> None:
        self._registry = registry
        self._options = options
        self._tools = {tool.name: tool for tool in tools}
        self._working: dict[DeepTool, Tool] = {}
        self._refused: dict[str, str] = {}
        self._lease_seconds = 60.0
        self._leases: dict[UUID, int] = {}
        self._pushed: asyncio.Queue[Work] = asyncio.Queue(maxsize=1)
        self._wake = asyncio.Event()

    async def run(self, stopping: asyncio.Event) -> None:
        """Until asked to stop; what is under way then is given back, and was no attempt."""
        await self.mend()
        heart = asyncio.create_task(self._beat(stopping))
        try:
            while not stopping.is_set():
                if not await self._work_until(stopping):
                    await self._rest(stopping)
        finally:
            heart.cancel()
            await asyncio.gather(heart, return_exceptions=True)
            await self.leave()

    async def _work_until(self, stopping: asyncio.Event) -> bool:
        """A turn of work, which ends in the midst of it when all is over; the tools of it end, too."""
        work, asked = asyncio.create_task(self.work_once()), asyncio.create_task(stopping.wait())
        await asyncio.wait({work, asked}, return_when=asyncio.FIRST_COMPLETED)
        asked.cancel()
        if not work.done():
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)
            return False
        return work.result()

    async def mend(self) -> None:
        """See which tools work here, and say so."""
        for name, tool in self._tools.items():
            if name in self._working:
                continue
            try:
                self._refused |= await prepare(tool, self._options.limits)
                self._working[name] = tool
            except ToolBroken as problem:
                log.error("A scan tool does not work", tool=name.value, problem=str(problem))
        if self._refused:
            log.warning("The kernel refuses part of the sandbox", refused=self._refused)
        await self.register()

    async def register(self) -> None:
        """Say that this node is there, and which leases it still has."""
        said = NodeMessage(
            node_id=self._options.id,
            name=self._options.name,
            url=self._options.url,
            capacity=self._options.batch,
            in_flight=sum(self._leases.values()),
            tools={name: tool.version for name, tool in self._working.items()},
            sandbox=self._refused,
            version=self._options.version,
            leases=list(self._leases),
        )
        try:
            self._lease_seconds = (await self._registry.register(said)).lease_seconds
        except (Unavailable, Forbidden) as problem:
            log.warning("The registry does not hear this node", problem=problem.message)

    def take_push(self, work: Work) -> bool:
        """Take what is pushed, if there is room and it is meant for this node."""
        if work.node_id != self._options.id or work.tool not in self._working or work.lease is None:
            return False
        if self._leases or not self._pushed.empty():
            return False
        self._leases[work.lease] = len(work.scans)
        self._pushed.put_nowait(work)
        self._wake.set()
        return True

    async def work_once(self) -> bool:
        """What was pushed, or else a batch of each tool; False if there was nothing to do."""
        if not self._pushed.empty():
            await self._do(self._pushed.get_nowait())
            return True
        did = False
        for name in list(self._working):
            try:
                work = await self._registry.claim(self._options.id, name, self._options.batch)
            except AssayError as problem:
                log.warning("No scans can be taken", problem=problem.message)
                return did
            if work.lease is not None:
                self._leases[work.lease] = len(work.scans)
                await self._do(work)
                did = True
        return did

    async def _do(self, work: Work) -> None:
        assert work.lease is not None
        tool = self._working.get(work.tool)
        try:
            if tool is None:
                raise ToolBroken("it is gone")
            skills, missing = await self._contents(work.scans)
            scanned = await scan_batch(tool, skills, self._options.limits)
            self._refused |= scanned.refused
            log.info("A batch is scanned", tool=tool.name.value, skills=len(skills))
            for scan in work.scans:
                result = scanned.results.get(scan.content_digest) or missing[scan.content_digest]
                await self._deliver(scan, work.lease, tool, result, scanned.refused)
        except ToolBroken as problem:
            log.error("A scan tool has stopped working", tool=work.tool.value, problem=str(problem))
            self._working.pop(work.tool, None)
            await self._registry.release(self._options.id, work.lease)
            await self.register()
        except AssayError as problem:
            # The leases end, and others take the scans.
            log.warning("A batch is lost", problem=problem.message)
        # Not if this was cancelled: then `leave` gives back what has no result.
        self._leases.pop(work.lease, None)

    async def _contents(self, scans: Sequence[DispatchedScan]) -> tuple[list[Skill], Mapping[str, DeepResult]]:
        """The skills to look at; one whose bytes are not there is an error of its own."""
        skills, missing = [], {}
        for digest in {scan.content_digest for scan in scans}:
            try:
                skills.append(Skill(digest, (await self._registry.content(digest)).files))
            except NotFound as problem:
                missing[digest] = DeepResult(DeepStatus.ERROR, error=problem.message)
        return skills, missing

    async def _deliver(
        self, scan: DispatchedScan, lease: UUID, tool: Tool, result: DeepResult, refused: Mapping[str, str]
    ) -> None:
        said = ScanResult(
            delivery_id=new_id().hex,
            scan_id=scan.scan_id,
            node_id=self._options.id,
            lease=lease,
            tool=tool.name,
            tool_version=tool.version,
            content_digest=scan.content_digest,
            commit=scan.commit,
            status=result.status,
            findings=[_told(each) for each in result.findings],
            left_out=result.left_out,
            error=result.error,
            duration_ms=result.duration_ms,
            sandbox=dict(refused),
        )
        if not await self._registry.deliver(said):
            log.info("A result came too late", scan_id=scan.scan_id)

    async def _beat(self, stopping: asyncio.Event) -> None:
        loop = asyncio.get_running_loop()
        mended = loop.time()
        while not stopping.is_set():
            await asyncio.sleep(self._lease_seconds * SILENCE)
            await self.register()
            if len(self._working) < len(self._tools) and loop.time() - mended > MEND_SECONDS:
                mended = loop.time()
                await self.mend()

    async def _rest(self, stopping: asyncio.Event) -> None:
        """Until something is pushed, it is time to ask again, or all is over."""
        waits = [asyncio.create_task(self._wake.wait()), asyncio.create_task(stopping.wait())]
        await asyncio.wait(waits, timeout=self._options.poll_seconds, return_when=asyncio.FIRST_COMPLETED)
        for wait in waits:
            wait.cancel()
        self._wake.clear()

    async def leave(self) -> None:
        """Give back what has not begun, and say goodbye."""
        try:
            for lease in list(self._leases):
                await self._registry.release(self._options.id, lease)
            await self._registry.leave(self._options.id)
        except AssayError as problem:
            log.info("The registry did not hear the goodbye", problem=problem.message)


def _told(finding: Finding) -> FindingMessage:
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
