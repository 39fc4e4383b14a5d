"""Push: nodes that have an address get scans as soon as there are some. What cannot be pushed waits to be pulled."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

import aiohttp
import msgspec
import structlog

from assay.deepscan.dispatch import give_out, work_of
from assay.deepscan.messages import MOST_AT_ONCE
from assay.deepscan.receiver import PATH
from assay.deepscan.signature import sign
from assay.model.clock import Clock
from assay.model.deep_scan import DeepTool
from assay.model.errors import Unavailable
from assay.serve.scans.scan_nodes import is_node_alive
from assay.store.database.database import Database
from assay.store.scans.deep_scans import Leased, release
from assay.store.scans.scan_nodes import ScanNode, count_push, list_nodes

log = structlog.get_logger()
EVERY_SECONDS = 5
TIMEOUT = aiohttp.ClientTimeout(total=10, sock_connect=3)
# A node that could not be reached so often has to pull; when it comes anew, it is pushed to again.
PATIENCE = 10
TAKEN, BUSY = 202, 429


@dataclass(frozen=True)
class Pusher:
    """Pushes for one worker process; several do not get in each other's way."""

    store: Database
    session: aiohttp.ClientSession
    secret: str
    clock: Clock
    lease_seconds: float

    async def run(self, stopping: asyncio.Event) -> None:
        """Until asked to stop."""
        while not stopping.is_set():
            try:
                await self.push_all()
            except Unavailable as problem:
                log.warning("Scans cannot be pushed", problem=problem.message)
            try:
                await asyncio.wait_for(stopping.wait(), EVERY_SECONDS)
            except TimeoutError:
                continue

    async def push_all(self) -> int:
        """To each node with an address and room, a batch of each of its tools; returns how many scans were taken."""
        now = self.clock.now()
        async with self.store.begin() as db:
            nodes = [node for node in await list_nodes(db) if node.url and node.push_failures < PATIENCE]
        pushed = 0
        for node in nodes:
            if node.room and is_node_alive(node, now, timedelta(seconds=self.lease_seconds)):
                pushed += await self._push(node)
        return pushed

    async def _push(self, node: ScanNode) -> int:
        """One batch at a time: a node works on one."""
        for name in node.tools:
            if name not in set(DeepTool):
                continue
            async with self.store.begin() as db:
                given = await give_out(
                    db,
                    node.id,
                    DeepTool(name),
                    at_most=min(node.room, MOST_AT_ONCE),
                    now=self.clock.now(),
                    lease_seconds=self.lease_seconds,
                )
            if not given:
                continue
            status = await self._send(node, given)
            async with self.store.begin() as db:
                if status == TAKEN:
                    await count_push(db, node.id, pushed=len(given))
                    return len(given)
                await release(db, node.id, given[0].lease)
                if status != BUSY:
                    await count_push(db, node.id, pushed=0)
            return 0
        return 0

    async def _send(self, node: ScanNode, given: Sequence[Leased]) -> int | None:
        """The status that the node answers with; None if it does not answer."""
        body = msgspec.json.encode(work_of(node.id, given[0].scan.tool, given))
        headers = sign(self.secret, body, self.clock.now()) | {"Content-Type": "application/json"}
        try:
            async with self.session.post(
                f"{node.url}{PATH}", data=body, headers=headers, timeout=TIMEOUT, allow_redirects=False
            ) as answer:
                return answer.status
        except (aiohttp.ClientError, TimeoutError) as problem:
            log.info("A node was not reached; it will pull", node=node.name, problem=type(problem).__name__)
            return None
