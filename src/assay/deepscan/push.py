"""Pushes scans to nodes that have a URL. Scans that cannot be pushed wait to be claimed."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

import aiohttp
import msgspec
import structlog

from assay.concurrency import wait_or_stop
from assay.deepscan.dispatch import batch_message, lease_scans
from assay.deepscan.messages import MAX_BATCH_SIZE
from assay.deepscan.receiver import PATH
from assay.deepscan.signature import sign
from assay.model.clock import Clock
from assay.model.deep_scan import DeepTool
from assay.model.errors import Unavailable
from assay.store.database.database import Database
from assay.store.scans.deep_scans import LeasedScan, release_lease
from assay.store.scans.scan_nodes import ScanNode, list_nodes, record_push

log = structlog.get_logger()
EVERY_SECONDS = 5
TIMEOUT = aiohttp.ClientTimeout(total=10, sock_connect=3)
# After this many failures a node has to pull until it registers again.
MAX_PUSH_FAILURES = 10
ACCEPTED, BUSY = 202, 429


@dataclass(frozen=True)
class Pusher:
    """Pushes scans from one worker process; several may run at the same time."""

    store: Database
    session: aiohttp.ClientSession
    secret: str
    clock: Clock
    lease_seconds: float

    async def run(self, stopping: asyncio.Event) -> None:
        """Push at intervals until `stopping`."""
        while not stopping.is_set():
            try:
                await self.push_all()
            except Unavailable as error:
                log.warning("Failed to push scans", error=error.message)
            await wait_or_stop(stopping, EVERY_SECONDS)

    async def push_all(self) -> int:
        """Push one batch to each live node with a URL and free capacity; return the number of accepted scans."""
        now = self.clock.now()
        async with self.store.begin() as db:
            nodes = [node for node in await list_nodes(db) if node.url and node.push_failures < MAX_PUSH_FAILURES]
        pushed = 0
        for node in nodes:
            if node.room and node.is_alive(now, timedelta(seconds=self.lease_seconds)):
                pushed += await self._push(node)
        return pushed

    async def _push(self, node: ScanNode) -> int:
        """Push one batch of the first tool that has scans: a node works on one batch at a time."""
        for name in node.tools:
            if name not in set(DeepTool):
                continue
            async with self.store.begin() as db:
                leased = await lease_scans(
                    db,
                    node.id,
                    DeepTool(name),
                    at_most=min(node.room, MAX_BATCH_SIZE),
                    now=self.clock.now(),
                    lease_seconds=self.lease_seconds,
                )
            if not leased:
                continue
            status = await self._send(node, leased)
            async with self.store.begin() as db:
                if status == ACCEPTED:
                    await record_push(db, node.id, pushed=len(leased))
                    return len(leased)
                await release_lease(db, node.id, leased[0].lease)
                if status != BUSY:
                    await record_push(db, node.id, pushed=0)
            return 0
        return 0

    async def _send(self, node: ScanNode, leased: Sequence[LeasedScan]) -> int | None:
        """Return the status of the node's response; None if it did not respond."""
        body = msgspec.json.encode(batch_message(node.id, leased[0].scan.tool, leased))
        headers = sign(self.secret, body, self.clock.now()) | {"Content-Type": "application/json"}
        try:
            async with self.session.post(
                f"{node.url}{PATH}", data=body, headers=headers, timeout=TIMEOUT, allow_redirects=False
            ) as response:
                return response.status
        except (aiohttp.ClientError, TimeoutError) as error:
            log.info("Failed to push to a scan node", node=node.name, error=type(error).__name__)
            return None
