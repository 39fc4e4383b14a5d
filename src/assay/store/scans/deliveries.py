"""Webhook deliveries, each accepted once."""

from uuid import UUID

from sqlalchemy import text
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.store.database.records import json_text
from assay.store.tables import webhook_delivery

REFUSED = "webhook_refused"
# Anyone can send requests that are refused, so their audit events are limited per minute.
RECORD_REFUSAL = text(
    f"""
    INSERT INTO audit_event (actor, action, subject, detail)
    SELECT CAST(:actor AS text), '{REFUSED}', CAST(:subject AS text), CAST(:detail AS jsonb)
    WHERE CAST(:most AS bigint) > (
        SELECT count(*) FROM (
            SELECT action, created_at FROM audit_event ORDER BY id DESC LIMIT 2 * CAST(:most AS bigint)
        ) AS newest
        WHERE action = '{REFUSED}' AND created_at > now() - interval '1 minute'
    )
    """
)
MAX_REFUSALS_PER_MINUTE = 30


async def claim_delivery(db: AsyncConnection, delivery_id: str, scan_id: UUID) -> bool:
    """Claim a delivery id; False if it was claimed before. The insert decides, so this is safe concurrently."""
    claimed = upsert(webhook_delivery).values(id=delivery_id, deep_scan_id=scan_id).on_conflict_do_nothing()
    return (await db.execute(claimed)).rowcount == 1


async def record_refusal(db: AsyncConnection, actor: str, subject: str, code: str, message: str) -> None:
    """Write an audit event about a refused delivery, at most MAX_REFUSALS_PER_MINUTE."""
    detail = json_text({"code": code, "message": message})
    params = {"actor": actor, "subject": subject, "detail": detail, "most": MAX_REFUSALS_PER_MINUTE}
    await db.execute(RECORD_REFUSAL, params)
