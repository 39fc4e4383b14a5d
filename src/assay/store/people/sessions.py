"""Sessions: one row per signed-in browser, found by the first half of its refresh token."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import ColumnElement, delete, func, insert, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.account import Account
from assay.store.people.accounts import COLUMNS as ACCOUNT_COLUMNS
from assay.store.people.accounts import account_of
from assay.store.tables import account, account_session


@dataclass(frozen=True, slots=True)
class Session:
    """A session and its account. Only digests of refresh tokens are stored."""

    id: UUID
    account: Account
    token_digest: str
    previous_digest: str | None
    salt: bytes | None
    rotated_at: datetime | None
    expires_at: datetime
    revoked_at: datetime | None


@dataclass(frozen=True, slots=True)
class OpenSession:
    """A session as shown to its owner. The time of last use is that of the last refresh."""

    id: UUID
    created_at: datetime
    last_used_at: datetime
    user_agent: str | None


async def add_session(
    db: AsyncConnection, opened: OpenSession, account_id: UUID, token_digest: str, expires_at: datetime
) -> None:
    values = {
        "id": opened.id,
        "account_id": account_id,
        "token_digest": token_digest,
        "created_at": opened.created_at,
        "last_used_at": opened.last_used_at,
        "user_agent": opened.user_agent,
        "expires_at": expires_at,
    }
    await db.execute(insert(account_session).values(values))


async def lock_session(db: AsyncConnection, session_id: UUID) -> Session | None:
    """Lock a session and return it with its account."""
    columns = (
        account_session.c.id.label("session_id"),
        account_session.c.token_digest,
        account_session.c.previous_digest,
        account_session.c.salt,
        account_session.c.rotated_at,
        account_session.c.expires_at,
        account_session.c.revoked_at,
    )
    statement = (
        select(*columns, *ACCOUNT_COLUMNS)
        .select_from(account_session.join(account))
        .where(account_session.c.id == session_id)
        .with_for_update(of=account_session)
    )
    row = (await db.execute(statement)).one_or_none()
    if row is None:
        return None
    return Session(
        id=row.session_id,
        account=account_of(row),
        token_digest=row.token_digest,
        previous_digest=row.previous_digest,
        salt=row.salt,
        rotated_at=row.rotated_at,
        expires_at=row.expires_at,
        revoked_at=row.revoked_at,
    )


async def find_session_account(db: AsyncConnection, session_id: UUID, now: datetime) -> Account | None:
    """Return the account of a session that is neither expired nor revoked."""
    statement = (
        select(*ACCOUNT_COLUMNS)
        .select_from(account_session.join(account))
        .where(account_session.c.id == session_id, *_open(now))
    )
    row = (await db.execute(statement)).one_or_none()
    return account_of(row) if row else None


async def list_sessions(db: AsyncConnection, account_id: UUID, now: datetime, limit: int) -> list[OpenSession]:
    """Return the open sessions of an account, the last used first."""
    last_used_at = func.coalesce(account_session.c.last_used_at, account_session.c.created_at)
    statement = (
        select(
            account_session.c.id,
            account_session.c.created_at,
            last_used_at.label("last_used_at"),
            account_session.c.user_agent,
        )
        .where(account_session.c.account_id == account_id, *_open(now))
        .order_by(last_used_at.desc(), account_session.c.id)
        .limit(limit)
    )
    return [OpenSession(*row) for row in await db.execute(statement)]


async def rotate_session(
    db: AsyncConnection, session_id: UUID, token_digest: str, salt: bytes, now: datetime, expires_at: datetime
) -> None:
    """Replace the refresh token; the previous digest is kept to recognise its reuse."""
    values = {
        "previous_digest": account_session.c.token_digest,
        "token_digest": token_digest,
        "salt": salt,
        "rotated_at": now,
        "last_used_at": now,
        "expires_at": expires_at,
    }
    await db.execute(update(account_session).where(account_session.c.id == session_id).values(values))


async def revoke_session(db: AsyncConnection, session_id: UUID, account_id: UUID, now: datetime) -> bool:
    """Revoke a session; False if the account has no such session or it was revoked before."""
    is_theirs = account_session.c.id == session_id, account_session.c.account_id == account_id
    statement = update(account_session).where(*is_theirs, account_session.c.revoked_at.is_(None))
    return (await db.execute(statement.values(revoked_at=now))).rowcount == 1


async def delete_old_sessions(db: AsyncConnection, now: datetime) -> None:
    """Delete expired and revoked sessions. Skips those locked by others."""
    expired = or_(account_session.c.expires_at <= now, account_session.c.revoked_at.is_not(None))
    found = select(account_session.c.id).where(expired).with_for_update(skip_locked=True)
    await db.execute(delete(account_session).where(account_session.c.id.in_(found)))


def _open(now: datetime) -> tuple[ColumnElement[bool], ...]:
    return account_session.c.revoked_at.is_(None), account_session.c.expires_at > now
