"""Deleting records that are no longer needed, in limited batches."""

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.store.queue.shares import forget_old_shares

AT_MOST = 50_000
# Responses of GitHub, of up to a kilobyte each.
MAX_CACHED_RESPONSES = 50_000
STATEMENTS = tuple(
    text(statement)
    for statement in (
        """
        DELETE FROM pgqueuer_log WHERE id IN (
            SELECT id FROM pgqueuer_log WHERE created < now() - interval '1 day' ORDER BY created LIMIT :at_most
        )
        """,
        """
        DELETE FROM sign_in_attempt WHERE key IN (
            SELECT key FROM sign_in_attempt WHERE until < now() ORDER BY until LIMIT :at_most FOR UPDATE SKIP LOCKED
        )
        """,
        """
        DELETE FROM given_answer WHERE (scope, key) IN (
            SELECT scope, key FROM given_answer
            WHERE created_at < now() - interval '7 days' ORDER BY created_at LIMIT :at_most
        )
        """,
        """
        DELETE FROM discovery_run WHERE id IN (
            SELECT id FROM discovery_run
            WHERE started_at < now() - interval '30 days' ORDER BY started_at LIMIT :at_most
        )
        """,
        """
        DELETE FROM process WHERE id IN (
            SELECT id FROM process WHERE seen_at < now() - interval '1 day' LIMIT :at_most
        )
        """,
        """
        DELETE FROM github_answer WHERE (key, url) IN (
            SELECT key, url FROM github_answer
            WHERE kept_at < now() - interval '30 days' ORDER BY kept_at LIMIT :at_most
        )
        """,
        f"""
        DELETE FROM github_answer WHERE (key, url) IN (
            SELECT key, url FROM github_answer ORDER BY kept_at DESC OFFSET {MAX_CACHED_RESPONSES} LIMIT :at_most
        )
        """,
        """
        DELETE FROM github_token WHERE noted_at < now() - interval '30 days'
        """,
        """
        DELETE FROM github_allowance WHERE resets_at < now() - interval '30 days'
        """,
        """
        DELETE FROM webhook_delivery WHERE id IN (
            SELECT id FROM webhook_delivery
            WHERE received_at < now() - interval '1 day' ORDER BY received_at LIMIT :at_most
        )
        """,
        """
        DELETE FROM account_token WHERE id IN (
            SELECT id FROM account_token
            WHERE least(expires_at, revoked_at) < now() - interval '30 days' LIMIT :at_most
        )
        """,
        """
        DELETE FROM scan_node WHERE id IN (
            SELECT id FROM scan_node WHERE seen_at < now() - interval '7 days' LIMIT :at_most
        )
        """,
    )
)


async def delete_expired_records(db: AsyncConnection, at_most: int = AT_MOST) -> int:
    """Delete expired records, at most `at_most` of each kind, and return how many rows.

    At once: counters of rate limits. After a day: the queue's log and shares, processes not seen, deliveries. After a
    week: idempotency keys, scan nodes not seen. After a month: discovery runs, facts about GitHub tokens, expired
    tokens of people.
    """
    deleted = [(await db.execute(statement, {"at_most": at_most})).rowcount for statement in STATEMENTS]
    return sum(deleted) + await forget_old_shares(db, at_most)
