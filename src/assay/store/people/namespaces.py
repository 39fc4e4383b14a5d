"""Namespaces, their owners, and the claims of accounts on them."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Row, func, or_, select, text, update
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.account import Account
from assay.model.namespace import ClaimMethod, Namespace, NamespaceClaim, NamespaceKind
from assay.store.tables import account, namespace, namespace_claim

COLUMNS = (namespace.c.name, namespace.c.kind, namespace.c.github_id, namespace.c.account_id, namespace.c.created_at)
CLAIM_COLUMNS = (
    namespace_claim.c.id,
    namespace_claim.c.namespace,
    namespace_claim.c.collection,
    namespace_claim.c.account_id,
    namespace_claim.c.method,
    namespace_claim.c.detail,
    namespace_claim.c.created_at,
    namespace_claim.c.created_by,
)
IS_ACTIVE = namespace_claim.c.revoked_at.is_(None)
# A listing of the namespace that does not come from this GitHub owner: an upload, or a repository of another owner.
IS_USED_BY_OTHERS = text(
    """
    SELECT EXISTS (
        SELECT FROM repository JOIN skill ON skill.repository_id = repository.id
        WHERE repository.host IN ('github', 'upload') AND lower(repository.owner) = :name
            AND (repository.host = 'upload' OR repository.owner_id <> :github_id)
            AND skill.standing NOT IN ('gone', 'deleted')
    )
    """
)


async def find_namespace(db: AsyncConnection, name: str, *, lock: bool = False) -> Namespace | None:
    """Return a namespace by its name in lower case; `lock` keeps its owners unchanged until the transaction ends."""
    statement = select(*COLUMNS).where(namespace.c.name == name)
    row = (await db.execute(statement.with_for_update(read=True) if lock else statement)).one_or_none()
    return _namespace(row) if row else None


async def lock_namespace(db: AsyncConnection, name: str) -> Namespace | None:
    """Lock a namespace before its owner or its claims are changed."""
    row = (await db.execute(select(*COLUMNS).where(namespace.c.name == name).with_for_update())).one_or_none()
    return _namespace(row) if row else None


async def list_owned(db: AsyncConnection, owner: Account) -> list[Namespace]:
    """Return the namespaces that an account owns or has claimed as a whole, by name."""
    claimed = select(namespace_claim.c.namespace).where(
        namespace_claim.c.account_id == owner.id, namespace_claim.c.collection.is_(None), IS_ACTIVE
    )
    ways = [namespace.c.account_id == owner.id, namespace.c.name.in_(claimed)]
    if owner.github_id is not None:
        ways.append(namespace.c.github_id == owner.github_id)
    rows = await db.execute(select(*COLUMNS).where(or_(*ways)).order_by(namespace.c.name))
    return [_namespace(row) for row in rows]


async def has_claim(db: AsyncConnection, account_id: UUID, name: str, collection: str | None) -> bool:
    """Return whether the account has claimed the namespace, or this repository of it."""
    is_whole = namespace_claim.c.collection.is_(None)
    statement = select(namespace_claim.c.id).where(
        namespace_claim.c.account_id == account_id,
        namespace_claim.c.namespace == name,
        is_whole if collection is None else is_whole | (namespace_claim.c.collection == collection),
        IS_ACTIVE,
    )
    return (await db.execute(statement.limit(1))).one_or_none() is not None


async def take_github_name(db: AsyncConnection, name: str, github_id: int) -> bool:
    """Give the namespace of a login to the GitHub user or organisation that has the login now.

    Returns False if it belongs to an account without GitHub, or if listings of a former holder of the login are in it.
    """
    found = await find_namespace(db, name)
    if found is not None and found.github_id == github_id:
        return True
    is_free = namespace.c.name == name, namespace.c.kind == NamespaceKind.GITHUB, namespace.c.github_id.is_(None)
    if (await db.execute(update(namespace).where(*is_free).values(github_id=github_id))).rowcount:
        return True
    await db.execute(upsert(namespace).values(name=name, kind=NamespaceKind.GITHUB).on_conflict_do_nothing())
    found = await lock_namespace(db, name)
    assert found is not None
    if found.kind is not NamespaceKind.GITHUB:
        return False
    if found.github_id not in (None, github_id):
        values = {"name": name, "github_id": github_id}
        if (await db.execute(IS_USED_BY_OTHERS, values)).scalar_one():
            return False
        await db.execute(update(account).where(account.c.handle == name).values(handle=None))
        await _revoke_all(db, name)
    await db.execute(update(namespace).where(namespace.c.name == name).values(github_id=github_id))
    return True


async def add_account_namespace(db: AsyncConnection, name: str, account_id: UUID) -> bool:
    """Add the namespace of an account that did not sign in with GitHub; False if the name is taken."""
    values = {"name": name, "kind": NamespaceKind.ACCOUNT, "account_id": account_id}
    return (await db.execute(upsert(namespace).values(values).on_conflict_do_nothing())).rowcount == 1


async def set_handle(db: AsyncConnection, account_id: UUID, handle: str | None) -> None:
    await db.execute(update(account).where(account.c.id == account_id).values(handle=handle))


async def assign_owner(db: AsyncConnection, name: str, kind: NamespaceKind, owner: Account | None) -> None:
    """Set or remove the owner of a locked namespace."""
    github_id = owner.github_id if owner and kind is NamespaceKind.GITHUB else None
    account_id = owner.id if owner and kind is NamespaceKind.ACCOUNT else None
    values = {"kind": kind, "github_id": github_id, "account_id": account_id}
    await db.execute(update(namespace).where(namespace.c.name == name).values(values))


async def delete_unused(db: AsyncConnection, name: str) -> bool:
    """Delete a namespace without repositories, so that its name is free; False if it has some or is the operator's."""
    await db.execute(update(account).where(account.c.handle == name).values(handle=None))
    deleted = await db.execute(
        text(
            """
            WITH claims AS (DELETE FROM namespace_claim WHERE namespace = :name)
            DELETE FROM namespace WHERE name = :name AND kind <> 'operator' AND NOT EXISTS (
                SELECT FROM repository WHERE lower(owner) = :name AND host IN ('github', 'git', 'upload')
            )
            """
        ),
        {"name": name},
    )
    return deleted.rowcount == 1


async def add_claim(db: AsyncConnection, claim: NamespaceClaim) -> bool:
    """Add a claim; False if the account already has it."""
    values = {
        "id": claim.id,
        "namespace": claim.namespace,
        "collection": claim.collection,
        "account_id": claim.account_id,
        "method": claim.method,
        "detail": dict(claim.detail),
        "created_at": claim.created_at,
        "created_by": claim.created_by,
    }
    return (await db.execute(upsert(namespace_claim).values(values).on_conflict_do_nothing())).rowcount == 1


async def list_claims(db: AsyncConnection, name: str) -> list[tuple[NamespaceClaim, str]]:
    """Return the active claims on a namespace with the logins of their accounts, oldest first."""
    statement = (
        select(*CLAIM_COLUMNS, account.c.login)
        .join_from(namespace_claim, account, namespace_claim.c.account_id == account.c.id)
        .where(namespace_claim.c.namespace == name, IS_ACTIVE)
        .order_by(namespace_claim.c.created_at, namespace_claim.c.id)
    )
    return [(_claim(row), row.login) for row in await db.execute(statement)]


async def revoke_claim(db: AsyncConnection, name: str, claim_id: UUID, by: str, now: datetime) -> NamespaceClaim | None:
    statement = (
        update(namespace_claim)
        .where(namespace_claim.c.id == claim_id, namespace_claim.c.namespace == name, IS_ACTIVE)
        .values(revoked_at=now, revoked_by=by)
        .returning(*CLAIM_COLUMNS)
    )
    row = (await db.execute(statement)).one_or_none()
    return _claim(row) if row else None


async def list_owner_accounts(db: AsyncConnection, owned: Namespace) -> Sequence[tuple[UUID, str]]:
    """Return the accounts that own a namespace without a claim: id and login."""
    if owned.account_id is not None:
        is_owner = account.c.id == owned.account_id
    elif owned.github_id is not None:
        is_owner = account.c.github_id == owned.github_id
    else:
        return []
    return [(row.id, row.login) for row in await db.execute(select(account.c.id, account.c.login).where(is_owner))]


async def _revoke_all(db: AsyncConnection, name: str) -> None:
    is_active = namespace_claim.c.namespace == name, IS_ACTIVE
    await db.execute(update(namespace_claim).where(*is_active).values(revoked_at=func.now(), revoked_by="new owner"))


def _namespace(row: Row[*tuple[Any, ...]]) -> Namespace:
    return Namespace(row.name, NamespaceKind(row.kind), row.github_id, row.account_id, row.created_at)


def _claim(row: Row[*tuple[Any, ...]]) -> NamespaceClaim:
    return NamespaceClaim(
        row.id,
        row.namespace,
        row.collection,
        row.account_id,
        ClaimMethod(row.method),
        row.detail,
        row.created_at,
        row.created_by,
    )
