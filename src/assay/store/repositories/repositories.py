"""Repositories, identified by the host's id. Spellings and former names lead to the same row."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import delete, func, select, text, update
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.errors import Conflict, NotFound
from assay.model.repository import Host, Repository, RepositoryName
from assay.store.database.locks import REPOSITORIES
from assay.store.database.records import json_text
from assay.store.tables import repository, repository_alias

COLUMNS = (
    repository.c.id,
    repository.c.host,
    repository.c.owner,
    repository.c.name,
    repository.c.host_id,
    repository.c.commit,
    repository.c.owner_id,
)

# The usual case in one statement: the name is unchanged, it is the same repository, and no other row has its id.
CONFIRM = text(
    f"""
    WITH before AS (
        SELECT owner, name FROM repository WHERE id = :id FOR NO KEY UPDATE
    )
    UPDATE repository SET
        owner = :owner, name = :name, host_id = :host_id, default_branch = :default_branch, stars = :stars,
        commit = :commit, resolved_at = :resolved_at,
        owner_id = coalesce(:owner_id, repository.owner_id)
    FROM before
    WHERE id = :id AND merged_into_id IS NULL AND (host_id IS NULL OR host_id = :host_id) AND NOT EXISTS (
        SELECT FROM repository AS other WHERE other.host = :host AND other.host_id = :host_id AND other.id <> :id
    )
    RETURNING before.owner, before.name, {", ".join(f"repository.{column.name}" for column in COLUMNS)}
    """
)


LOCK = text("SELECT pg_advisory_xact_lock(:locks, :number)")
FIND_ALL = text(
    f"""
    WITH wanted AS (
        SELECT * FROM jsonb_to_recordset(CAST(:rows AS jsonb)) AS wanted (host text, owner text, name text)
    )
    SELECT wanted.*, {", ".join(f"repository.{column.name}" for column in COLUMNS)}
    FROM wanted
    JOIN repository_alias AS alias USING (host, owner, name)
    JOIN repository ON repository.id = alias.repository_id
    UNION ALL
    SELECT wanted.*, {", ".join(f"repository.{column.name}" for column in COLUMNS)}
    FROM wanted
    JOIN repository ON repository.host = wanted.host AND lower(repository.owner) = wanted.owner
        AND lower(repository.name) = wanted.name AND repository.merged_into_id IS NULL
    """
)
ADD = text(
    """
    INSERT INTO repository (host, owner, name)
    SELECT host, owner, name
    FROM jsonb_to_recordset(CAST(:rows AS jsonb)) AS fresh (host text, owner text, name text)
    ON CONFLICT DO NOTHING
    """
)


@dataclass(frozen=True, slots=True)
class RecordedRepository:
    """The canonical row of a repository, and its former name."""

    repository: Repository
    former: RepositoryName


async def find_repository(db: AsyncConnection, name: RepositoryName) -> Repository | None:
    """Find a repository by its current or a former name."""
    host, owner, plain = name.key
    alias = select(repository_alias.c.repository_id).where(
        repository_alias.c.host == host, repository_alias.c.owner == owner, repository_alias.c.name == plain
    )
    by_name = select(*COLUMNS).where(
        repository.c.host == host,
        func.lower(repository.c.owner) == owner,
        func.lower(repository.c.name) == plain,
        repository.c.merged_into_id.is_(None),
    )
    by_alias = select(*COLUMNS).where(repository.c.id == alias.scalar_subquery())
    row = (await db.execute(by_name.union_all(by_alias).limit(1))).one_or_none()
    return repository_of(row) if row else None


async def find_or_add_repositories(
    db: AsyncConnection, names: Iterable[RepositoryName]
) -> dict[tuple[str, str, str], Repository]:
    """Find or insert repositories, by the key of their name. Idempotent and safe concurrently."""
    by_key = {name.key: name for name in names}
    found = await _find_all(db, sorted(by_key))
    if missing := sorted(set(by_key) - set(found)):
        rows = [{"host": key[0], "owner": by_key[key].owner, "name": by_key[key].name} for key in missing]
        await db.execute(ADD, {"rows": json_text(rows)})
        # Includes rows that another transaction committed since the first query.
        found |= await _find_all(db, missing)
    return found


async def former_names(db: AsyncConnection, repository_ids: Iterable[int]) -> dict[int, tuple[str, ...]]:
    """Return the former names of repositories as `owner/name` in lower case."""
    statement = select(repository_alias.c.repository_id, repository_alias.c.owner, repository_alias.c.name)
    names: dict[int, tuple[str, ...]] = {}
    for number, owner, name in await db.execute(
        statement.where(repository_alias.c.repository_id.in_(sorted(set(repository_ids))))
    ):
        names[number] = (*names.get(number, ()), f"{owner}/{name}")
    return names


async def _find_all(
    db: AsyncConnection, keys: Sequence[tuple[str, str, str]]
) -> dict[tuple[str, str, str], Repository]:
    rows = [{"host": host, "owner": owner, "name": name} for host, owner, name in keys]
    found = await db.execute(FIND_ALL, {"rows": json_text(rows)})
    return {(host, owner, name): repository_of(row) for host, owner, name, *row in found}


async def record_resolution(
    db: AsyncConnection,
    known: Repository,
    *,
    name: RepositoryName,
    host_id: int | None,
    default_branch: str,
    stars: int | None,
    commit: str,
    resolved_at: datetime,
    owner_id: int | None = None,
) -> RecordedRepository:
    """Record what the host reports. The canonical row is another one if the name is an alias.

    If the name has passed to another repository, that one gets a row of its own and takes over only the name.
    Raises NotFound if the row that has the name cannot give it up because its present name is unknown.
    """
    if host_id is not None:
        # Two names of one repository may be resolved concurrently, and only one row may have its id.
        await db.execute(LOCK, {"locks": REPOSITORIES, "number": host_id % 2**31})
    facts: dict[str, object] = {
        "host_id": host_id,
        "default_branch": default_branch,
        "stars": stars,
        "commit": commit,
        "owner_id": owner_id,
    }
    if known.name.key == name.key:
        values = {"id": known.id, "host": name.host.value, "owner": name.owner, "name": name.name}
        row = (await db.execute(CONFIRM, values | facts | {"resolved_at": resolved_at})).one_or_none()
        if row is not None:
            owner, plain, *rest = row
            return RecordedRepository(repository_of(rest), RepositoryName(name.host, owner, plain))
    locked = await _lock(db, known.id)
    if host_id is None:
        canonical, formers = locked, {locked.name}
    elif locked.host_id is None or locked.host_id == host_id:
        canonical = await find_by_host_id(db, name.host, host_id) or locked
        if canonical.id != locked.id:
            merged = update(repository).where(repository.c.id == locked.id).values(merged_into_id=canonical.id)
            await db.execute(merged)
        formers = {locked.name, canonical.name}
    else:
        canonical = await find_by_host_id(db, name.host, host_id) or await _reassign_name(db, locked, name)
        formers = {canonical.name}
    for former in formers:
        if former.key != name.key:
            await _add_alias(db, former, canonical)
    if owner_id is None:
        del facts["owner_id"]
    return RecordedRepository(
        await _update_row(db, canonical, name, {**facts, "resolved_at": resolved_at}), canonical.name
    )


async def replace_host_id(db: AsyncConnection, known: Repository, present_id: int) -> None:
    """Replace the host id. Raises Conflict if the other repository is listed, or if this one has changed."""
    await db.execute(LOCK, {"locks": REPOSITORIES, "number": present_id % 2**31})
    other = await find_by_host_id(db, known.name.host, present_id)
    if other is not None:
        raise Conflict(f"That repository is already listed as {other.name}.", code="already_listed")
    is_same = (repository.c.id == known.id) & (repository.c.host_id == known.host_id)
    if not (await db.execute(update(repository).where(is_same).values(host_id=present_id))).rowcount:
        raise Conflict(f"{known.name} was changed by someone else. Reload it and try again.", code="repository_changed")


async def _lock(db: AsyncConnection, repository_id: int) -> Repository:
    """Lock the row and return its current values."""
    return repository_of(
        (
            await db.execute(select(*COLUMNS).where(repository.c.id == repository_id).with_for_update(key_share=True))
        ).one()
    )


async def _reassign_name(db: AsyncConnection, former: Repository, name: RepositoryName) -> Repository:
    """Return a row for the repository that now has a name which led to another one before."""
    host, owner, plain = name.key
    alias = repository_alias.c
    await db.execute(
        delete(repository_alias).where(
            alias.host == host, alias.owner == owner, alias.name == plain, alias.repository_id == former.id
        )
    )
    fresh = (await find_or_add_repositories(db, [name]))[name.key]
    if fresh.host_id is not None:
        raise source_replaced_error(name)
    return fresh


async def _update_row(
    db: AsyncConnection, canonical: Repository, name: RepositoryName, facts: Mapping[str, object]
) -> Repository:
    """Write the facts, and the name unless another row still has it; that row gives it up when it is resolved."""
    statement = update(repository).where(repository.c.id == canonical.id).returning(*COLUMNS)
    try:
        async with db.begin_nested():
            row = (await db.execute(statement.values(**facts, owner=name.owner, name=name.name))).one()
    except IntegrityError:
        row = (await db.execute(statement.values(**facts))).one()
    return repository_of(row)


def source_replaced_error(name: RepositoryName) -> NotFound:
    """Return the error for a name that now leads to another repository than the one listed by it."""
    return NotFound(f"{name} is no longer the repository that is listed here under this name.", code="source_replaced")


async def find_by_host_id(db: AsyncConnection, host: Host, host_id: int) -> Repository | None:
    """Find a repository by the id that its host assigned, whatever its name."""
    statement = select(*COLUMNS).where(repository.c.host == host.value, repository.c.host_id == host_id)
    row = (await db.execute(statement)).one_or_none()
    return repository_of(row) if row else None


async def _add_alias(db: AsyncConnection, name: RepositoryName, canonical: Repository) -> None:
    host, owner, plain = name.key
    statement = upsert(repository_alias).values(host=host, owner=owner, name=plain, repository_id=canonical.id)
    await db.execute(statement.on_conflict_do_nothing())


def repository_of(row: Sequence[Any]) -> Repository:
    number, host, owner, name, host_id, commit, owner_id = row
    return Repository(number, RepositoryName(Host(host), owner, name), host_id, commit, owner_id)


async def find_owner_id(db: AsyncConnection, name: RepositoryName) -> int | None:
    """Return GitHub's numeric id of the owner as of the last fetch; None if it is unknown."""
    found = await find_repository(db, name)
    return found.owner_id if found else None


async def has_uploads(db: AsyncConnection, namespace: str) -> bool:
    """Return whether anything was ever uploaded to a namespace."""
    is_upload = repository.c.host == Host.UPLOAD.value, func.lower(repository.c.owner) == namespace
    return (await db.execute(select(repository.c.id).where(*is_upload).limit(1))).one_or_none() is not None
