"""What came in through a webhook: each delivery once."""

from uuid import UUID

from sqlalchemy import text
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.store.database.records import json_text
from assay.store.tables import webhook_delivery

REFUSED = "webhook_refused"
# Anybody can send what is refused, so not each of them is worth a row: so many a minute, of the last so many entries.
NOTE_REFUSAL = text(
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
MOST_REFUSALS_A_MINUTE = 30


async def take_delivery(db: AsyncConnection, delivery_id: str, scan_id: UUID) -> bool:
    """Whether it is the first of this name. The insert decides, so two at once cannot both be."""
    mine = upsert(webhook_delivery).values(id=delivery_id, deep_scan_id=scan_id).on_conflict_do_nothing()
    return (await db.execute(mine)).rowcount == 1


async def note_refusal(db: AsyncConnection, actor: str, subject: str, code: str, message: str) -> None:
    """An entry of the audit trail about a delivery that was not taken; no more than so many a minute."""
    detail = json_text({"code": code, "message": message})
    given = {"actor": actor, "subject": subject, "detail": detail, "most": MOST_REFUSALS_A_MINUTE}
    await db.execute(NOTE_REFUSAL, given)
