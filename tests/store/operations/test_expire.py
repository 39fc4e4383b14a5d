"""Expired records are deleted, others are kept."""

from sqlalchemy import text

from assay.store.database.database import open_database
from assay.store.operations.expire import delete_expired_records

OLD = {
    "INSERT INTO pgqueuer_log (created, job_id, status, priority, entrypoint) "
    "VALUES (now() - interval '1 day' {sign} interval '1 minute', 1, 'successful', 0, 'submission')",
    "INSERT INTO given_answer (scope, key, request_digest, created_at) "
    "VALUES ('s', '{sign}', 'sha256:' || repeat('0', 64), now() - interval '7 days' {sign} interval '1 minute')",
    "INSERT INTO process (id, kind, host, pid, version, seen_at) "
    "VALUES (gen_random_uuid(), 'web', 'h', 1, '1', now() - interval '1 day' {sign} interval '1 minute')",
    "INSERT INTO github_answer (key, url, etag, body, kept_at) "
    "VALUES ('k', '{sign}', 'e', '', now() - interval '30 days' {sign} interval '1 minute')",
    "INSERT INTO github_token (key, noted_at) VALUES ('{sign}', now() - interval '30 days' {sign} interval '1 minute')",
    "INSERT INTO github_allowance (key, resource, remaining, resets_at) "
    "VALUES ('{sign}', 'core', 1, now() - interval '30 days' {sign} interval '1 minute')",
    "WITH known AS (INSERT INTO account (id, github_id, login, role) VALUES (gen_random_uuid(), 1{sign}1, 'a', 'USER') "
    "RETURNING id) INSERT INTO account_token (id, account_id, token_digest, expires_at, scopes) SELECT gen_random_uuid(), id, "
    "'sha256:' || md5('{sign}') || md5('{sign}'), now() - interval '30 days' {sign} interval '1 minute', '{{read}}' "
    "FROM known",
    "INSERT INTO sign_in_attempt (key, attempts, until) "
    "VALUES ('sha256:' || md5('{sign}') || md5('{sign}'), 1, now() {sign} interval '1 minute')",
    "INSERT INTO queue_share (key, turn, virtual_time, updated_at) "
    "VALUES ('sha256:' || md5('{sign}') || md5('{sign}'), 9{sign}5, 8, now() - interval '2 days')",
}


async def test_expired_records_are_deleted(database_url: str) -> None:
    async with open_database(database_url) as store:
        async with store.begin() as db:
            for statement in OLD:
                for sign in "-+":
                    await db.execute(text(statement.format(sign=sign)))
        async with store.begin() as db:
            assert await delete_expired_records(db) == len(OLD)
        async with store.begin() as db:
            assert await delete_expired_records(db) == 0
            for table in (
                "pgqueuer_log",
                "given_answer",
                "process",
                "github_answer",
                "github_token",
                "github_allowance",
                "account_token",
                "sign_in_attempt",
                "queue_share",
            ):
                assert (await db.execute(text(f"SELECT count(*) FROM {table}"))).scalar_one() == 1


async def test_deletion_is_batched(database_url: str) -> None:
    """G7."""
    made = (
        "INSERT INTO given_answer (scope, key, request_digest, created_at) SELECT 's', number::text, "
        "'sha256:' || repeat('0', 64), now() - interval '8 days' FROM generate_series(1, 25) AS number"
    )
    async with open_database(database_url) as store:
        async with store.begin() as db:
            await db.execute(text(made))
        gone = []
        for _ in range(4):
            async with store.begin() as db:
                gone.append(await delete_expired_records(db, at_most=10))
    assert gone == [10, 10, 5, 0]
