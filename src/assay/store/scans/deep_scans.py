"""Deep scans: dispatched, claimed by scan nodes under a lease, requeued and finished."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import msgspec
from sqlalchemy import ARRAY, Text, any_, delete, func, literal, select, text, update
from sqlalchemy.dialects.postgresql import distinct_on
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.deep_scan import DeepResult, DeepScan, DeepStatus, DeepTool
from assay.model.finding import Finding
from assay.model.ids import new_id
from assay.store.database.records import json_text
from assay.store.tables import deep_scan

MAX_ATTEMPTS = 3
REQUEUE_BATCH = 500

DISPATCH = text(
    f"""
    INSERT INTO deep_scan (id, content_digest, commit, tool)
    SELECT id, digest, commit, tool
    FROM jsonb_to_recordset(CAST(:rows AS jsonb)) AS given (id uuid, digest text, commit text, tool text)
    WHERE :again OR NOT EXISTS (
        SELECT FROM deep_scan AS known
        WHERE known.content_digest = digest AND known.tool = given.tool AND known.status <> '{DeepStatus.ERROR}'
    )
    ON CONFLICT (content_digest, tool, tool_version) DO UPDATE
    SET id = excluded.id, commit = excluded.commit, status = '{DeepStatus.PENDING}', attempts = 0, error = NULL,
        finished_at = NULL, created_at = now()
    WHERE deep_scan.status = '{DeepStatus.ERROR}'
    """
)
# Contents without a scan by a current version of the tool, whatever its result: failures are not retried forever.
# If no node reports versions of a tool, any version counts.
MISSING = text(
    """
    INSERT INTO deep_scan (id, content_digest, commit, tool)
    SELECT id, digest, commit, tool
    FROM jsonb_to_recordset(CAST(:rows AS jsonb)) AS given (id uuid, digest text, commit text, tool text)
    WHERE NOT EXISTS (
        SELECT FROM deep_scan AS known
        WHERE known.content_digest = digest AND known.tool = given.tool AND (
            known.tool_version IS NULL OR NOT CAST(:versions AS jsonb) ? given.tool
            OR CAST(:versions AS jsonb) -> given.tool ? known.tool_version
        )
    )
    ON CONFLICT (content_digest, tool, tool_version) DO NOTHING
    RETURNING id
    """
)
LISTED = text(
    """
    SELECT skill.name, skill_version.content_digest, skill_version.commit
    FROM skill JOIN skill_version ON skill_version.id = skill.current_version_id
    WHERE skill.standing = 'live' AND skill.name > :after ORDER BY skill.name LIMIT :at_most
    """
)
# Oldest first. SKIP LOCKED, so that nodes do not wait for each other.
CLAIM = text(
    f"""
    UPDATE deep_scan SET status = '{DeepStatus.RUNNING}', attempts = attempts + 1, node_id = :node_id,
        lease = :lease, lease_expires_at = :expires_at
    WHERE id IN (
        SELECT id FROM deep_scan WHERE status = '{DeepStatus.PENDING}' AND tool = :tool
        ORDER BY created_at, id LIMIT :at_most FOR UPDATE SKIP LOCKED
    )
    RETURNING *
    """
)
REQUEUE = text(
    f"""
    UPDATE deep_scan SET
        status = CASE WHEN attempts >= :most THEN '{DeepStatus.ERROR}' ELSE '{DeepStatus.PENDING}' END,
        error = CASE WHEN attempts >= :most THEN :why END,
        finished_at = CASE WHEN attempts >= :most THEN :now END,
        node_id = NULL, lease = NULL, lease_expires_at = NULL
    WHERE id IN (
        SELECT id FROM deep_scan WHERE status = '{DeepStatus.RUNNING}' AND lease_expires_at < :now
        ORDER BY lease_expires_at LIMIT :at_once FOR UPDATE SKIP LOCKED
    )
    RETURNING id
    """
)
# Each number is read from the head of an index and counted up to a limit.
BACKLOG = text(
    f"""
    SELECT
        (SELECT count(*) FROM (SELECT FROM deep_scan WHERE status = '{DeepStatus.PENDING}' LIMIT :at_most) AS n),
        (SELECT min(oldest) FROM unnest(CAST(:tools AS text[])) AS wanted (tool), LATERAL (
            SELECT created_at AS oldest FROM deep_scan
            WHERE status = '{DeepStatus.PENDING}' AND deep_scan.tool = wanted.tool
            ORDER BY created_at, id LIMIT 1) AS first),
        (SELECT count(*) FROM (SELECT FROM deep_scan WHERE status = '{DeepStatus.RUNNING}' LIMIT :at_most) AS n),
        (SELECT count(*) FROM (
            SELECT FROM deep_scan WHERE status = '{DeepStatus.ERROR}' AND finished_at > :since LIMIT :at_most) AS n)
    """
)


@dataclass(frozen=True, slots=True)
class LeasedScan:
    """A scan claimed by a node, with its lease."""

    scan: DeepScan
    lease: UUID
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class DeepBacklog:
    """Numbers of waiting, running and recently failed scans, counted up to a limit, and the oldest waiting one."""

    waiting: int = 0
    oldest: datetime | None = None
    running: int = 0
    failed: int = 0


async def dispatch_deep_scans(
    db: AsyncConnection, contents: Sequence[tuple[str, str]], tools: Sequence[DeepTool], *, again: bool = False
) -> None:
    """Add a scan for each content (digest and commit) and tool, in the transaction that publishes the content.

    Scans that exist are repeated only with `again`.
    """
    if contents and tools:
        await db.execute(DISPATCH, {"rows": _rows(contents, tools), "again": again})


async def dispatch_missing(
    db: AsyncConnection, after: str, tools: Sequence[DeepTool], versions: Mapping[str, Sequence[str]], at_most: int
) -> tuple[str | None, int]:
    """Add scans for the next listings by name that no current version of a tool has scanned.

    Returns the last name, or None at the end of the list, and the number of scans added.
    """
    listed = (await db.execute(LISTED, {"after": after, "at_most": at_most})).all()
    if not listed or not tools:
        return None, 0
    rows = _rows([(row.content_digest, row.commit) for row in listed], tools)
    added = (await db.execute(MISSING, {"rows": rows, "versions": json_text(versions)})).all()
    return (listed[-1].name if len(listed) == at_most else None), len(added)


async def list_pending(db: AsyncConnection, tool: DeepTool | None, at_most: int) -> list[DeepScan]:
    statement = select(deep_scan).where(deep_scan.c.status == DeepStatus.PENDING)
    if tool is not None:
        statement = statement.where(deep_scan.c.tool == tool)
    rows = await db.execute(statement.order_by(deep_scan.c.created_at, deep_scan.c.id).limit(at_most))
    return [_scan(row) for row in rows]


async def claim_scans(
    db: AsyncConnection, node_id: UUID, tool: DeepTool, *, at_most: int, now: datetime, lease_seconds: float
) -> list[LeasedScan]:
    """Claim scans of one tool for a node, until the lease expires."""
    lease, expires_at = new_id(), now + timedelta(seconds=lease_seconds)
    params = {"node_id": node_id, "lease": lease, "expires_at": expires_at, "tool": tool.value, "at_most": at_most}
    return [LeasedScan(_scan(row), lease, expires_at) for row in await db.execute(CLAIM, params)]


async def extend_leases(db: AsyncConnection, node_id: UUID, leases: Sequence[UUID], expires_at: datetime) -> int:
    """Extend the leases of a node. Returns the number of scans."""
    is_leased = (
        deep_scan.c.status == DeepStatus.RUNNING,
        deep_scan.c.node_id == node_id,
        deep_scan.c.lease.in_(leases),
    )
    return (await db.execute(update(deep_scan).where(*is_leased).values(lease_expires_at=expires_at))).rowcount


async def release_lease(db: AsyncConnection, node_id: UUID, lease: UUID) -> int:
    """Requeue the scans that a node did not start, without counting an attempt. Returns their number."""
    is_leased = (deep_scan.c.status == DeepStatus.RUNNING, deep_scan.c.node_id == node_id, deep_scan.c.lease == lease)
    pending = {
        "status": DeepStatus.PENDING.value,
        "attempts": deep_scan.c.attempts - 1,
        "node_id": None,
        "lease": None,
        "lease_expires_at": None,
    }
    return (await db.execute(update(deep_scan).where(*is_leased).values(pending))).rowcount


async def requeue_expired(db: AsyncConnection, now: datetime) -> int:
    """Requeue scans with expired leases; after the last attempt they become errors. Returns their number."""
    why = f"{MAX_ATTEMPTS} scan nodes claimed this scan and did not return a result."
    params = {"most": MAX_ATTEMPTS, "why": why, "now": now, "at_once": REQUEUE_BATCH}
    return len((await db.execute(REQUEUE, params)).all())


async def lock_scan(db: AsyncConnection, scan_id: UUID) -> tuple[DeepScan, UUID | None, UUID | None] | None:
    """Lock a scan and return it with its node and lease; None if it does not exist."""
    row = (await db.execute(select(deep_scan).where(deep_scan.c.id == scan_id).with_for_update())).one_or_none()
    return (_scan(row), row.node_id, row.lease) if row else None


async def finish_scan(
    db: AsyncConnection,
    scan: DeepScan,
    tool_version: str,
    result: DeepResult,
    sandbox: Mapping[str, str],
    now: datetime,
) -> None:
    """Store a result, replacing that of the same version of the tool."""
    same = (deep_scan.c.content_digest == scan.content_digest, deep_scan.c.tool == scan.tool)
    await db.execute(
        delete(deep_scan).where(*same, deep_scan.c.tool_version == tool_version, deep_scan.c.id != scan.id)
    )
    values = {
        "tool_version": tool_version,
        "status": result.status.value,
        "findings": msgspec.to_builtins(result.findings),
        "left_out": result.left_out,
        "error": result.error,
        "duration_ms": result.duration_ms,
        "sandbox": dict(sandbox),
        "finished_at": now,
        "node_id": None,
        "lease": None,
        "lease_expires_at": None,
    }
    await db.execute(update(deep_scan).where(deep_scan.c.id == scan.id).values(values))


async def retry_or_fail(db: AsyncConnection, scan: DeepScan, error: str, now: datetime) -> DeepStatus:
    """Requeue a failed scan, or mark it as an error after the last attempt. Returns its new status."""
    is_last = scan.attempts >= MAX_ATTEMPTS
    status = DeepStatus.ERROR if is_last else DeepStatus.PENDING
    values = {
        "status": status.value,
        "error": error if is_last else None,
        "finished_at": now if is_last else None,
        "node_id": None,
        "lease": None,
        "lease_expires_at": None,
    }
    await db.execute(update(deep_scan).where(deep_scan.c.id == scan.id).values(values))
    return status


async def list_deep_scans(db: AsyncConnection, digests: Sequence[str]) -> dict[str, list[DeepScan]]:
    """Return the latest scan of each tool for each content, by tool."""
    statement = (
        select(deep_scan)
        .ext(distinct_on(deep_scan.c.content_digest, deep_scan.c.tool))
        .where(deep_scan.c.content_digest == any_(literal(list(digests), ARRAY(Text))))
        .order_by(deep_scan.c.content_digest, deep_scan.c.tool, deep_scan.c.created_at.desc(), deep_scan.c.id.desc())
    )
    found: dict[str, list[DeepScan]] = {}
    for row in await db.execute(statement):
        found.setdefault(row.content_digest, []).append(_scan(row))
    return found


async def read_backlog(db: AsyncConnection, tools: Sequence[DeepTool], *, since: datetime, at_most: int) -> DeepBacklog:
    """Return the backlog; failures are counted since `since`."""
    params = {"tools": list(tools), "since": since, "at_most": at_most}
    return DeepBacklog(*(await db.execute(BACKLOG, params)).one())


async def count_by_tool(db: AsyncConnection, at_most: int) -> dict[DeepTool, int]:
    """Count waiting scans by tool, up to `at_most` in total."""
    counted = select(deep_scan.c.tool).where(deep_scan.c.status == DeepStatus.PENDING).limit(at_most).subquery()
    rows = await db.execute(select(counted.c.tool, func.count()).group_by(counted.c.tool))
    return {DeepTool(tool): number for tool, number in rows}


def _rows(contents: Sequence[tuple[str, str]], tools: Sequence[DeepTool]) -> str:
    return json_text(
        [
            {"id": new_id(), "digest": digest, "commit": commit, "tool": tool.value}
            for digest, commit in dict(contents).items()
            for tool in tools
        ]
    )


def _scan(row: Any) -> DeepScan:
    return DeepScan(
        id=row.id,
        content_digest=row.content_digest,
        commit=row.commit,
        tool=DeepTool(row.tool),
        tool_version=row.tool_version,
        status=DeepStatus(row.status),
        findings=tuple(msgspec.convert(row.findings, list[Finding])),
        left_out=row.left_out,
        error=row.error,
        attempts=row.attempts,
        created_at=row.created_at,
        finished_at=row.finished_at,
        sandbox=row.sandbox,
    )
