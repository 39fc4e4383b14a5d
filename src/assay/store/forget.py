"""What has served its purpose is deleted, so much at a time that nobody notices."""

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

AT_MOST = 50_000
FORGOTTEN = tuple(
    text(statement)
    for statement in (
        """
        DELETE FROM pgqueuer_log WHERE id IN (
            SELECT id FROM pgqueuer_log WHERE created < now() - interval '1 day' ORDER BY created LIMIT :at_most
        )
        """,
        """
        DELETE FROM given_answer WHERE (scope, key) IN (
            SELECT scope, key FROM given_answer
            WHERE created_at < now() - interval '7 days' ORDER BY created_at LIMIT :at_most
        )
        """,
        """
        DELETE FROM process WHERE id IN (
            SELECT id FROM process WHERE seen_at < now() - interval '1 day' LIMIT :at_most
        )
        """,
        """
        DELETE FROM webhook_delivery WHERE id IN (
            SELECT id FROM webhook_delivery
            WHERE received_at < now() - interval '1 day' ORDER BY received_at LIMIT :at_most
        )
        """,
        """
        DELETE FROM scan_node WHERE id IN (
            SELECT id FROM scan_node WHERE seen_at < now() - interval '7 days' LIMIT :at_most
        )
        """,
    )
)


async def forget_old_records(db: AsyncConnection) -> int:
    """The queue's log after a day, answers given after a week, processes not seen for a day, deliveries after one,
    and scan nodes not seen for a week; returns how many rows.
    """
    return sum([(await db.execute(statement, {"at_most": AT_MOST})).rowcount for statement in FORGOTTEN])
