"""The lease of a source, renewed for the duration of its run."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import UUID

import structlog

from assay.model.errors import Unavailable
from assay.store.database.database import Database
from assay.store.discovery.sources import renew_lease

log = structlog.get_logger()


class LeaseLost(Exception):
    """Another process took over the source."""

    def __init__(self, source: str) -> None:
        super().__init__(f"Another process took over the source {source}.")


class SourceLease:
    """A held lease; its loss is noticed when it is renewed."""

    def __init__(self, store: Database, source: str, run_id: UUID, seconds: float) -> None:
        self._store, self._source, self._run_id, self._seconds = store, source, run_id, seconds
        self._is_lost = False

    def check(self) -> None:
        """Raise LeaseLost if another process took the lease over."""
        if self._is_lost:
            raise LeaseLost(self._source)

    @asynccontextmanager
    async def renewed(self) -> AsyncIterator[None]:
        """Renew the lease in the background for the duration of the block."""
        renewing = asyncio.create_task(self._renew())
        try:
            yield
        finally:
            renewing.cancel()
            await asyncio.wait({renewing})

    async def _renew(self) -> None:
        while True:
            await asyncio.sleep(self._seconds / 3)
            try:
                async with self._store.begin() as db:
                    is_ours = await renew_lease(db, self._source, self._run_id, lease_seconds=self._seconds)
            except Unavailable as outage:
                log.warning("Failed to renew a discovery lease", source=self._source, error=outage.message)
                continue
            self._is_lost = self._is_lost or not is_ours
