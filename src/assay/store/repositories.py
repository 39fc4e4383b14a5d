"""Repositories under one identity: spellings and renames all lead to the same row."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import func, select, text, update
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.repository import Host, Repository, RepositoryName
from assay.store.records import json_text
from assay.store.tables import repository, repository_alias

COLUMNS = (
    repository.c.id,
    repository.c.host,
    repository.c.owner,
    repository.c.name,
    repository.c.host_id,
    repository.c.commit,
)

# The usual case in one statement: the name is the one we know, and no other row has this id.
CONFIRM = text(
    f"""
    UPDATE repository SET
        owner = :owner, name = :name, host_id = :host_id, default_branch = :default_branch, stars = :stars,
        commit = :commit, resolved_at = :resolved_at
    WHERE id = :id AND merged_into_id IS NULL AND NOT EXISTS (
        SELECT FROM repository AS other WHERE other.host = :host AND other.host_id = :host_id AND other.id <> :id
    )
    RETURNING {", ".join(column.name for column in COLUMNS)}
    """
)


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


async def find_repository(db: AsyncConnection, name: RepositoryName) -> Repository | None:
    """The repository that is, or once was, called this."""
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
    """By the key of the name. Idempotent; two that add the same name at once get the same row."""
    wanted = {name.key: name for name in names}
    found = await _find_all(db, sorted(wanted))
    if missing := sorted(set(wanted) - set(found)):
        rows = [{"host": key[0], "owner": wanted[key].owner, "name": wanted[key].name} for key in missing]
        await db.execute(ADD, {"rows": json_text(rows)})
        # Also those that somebody else has just committed: invisible to the first look, not to this one.
        found |= await _find_all(db, missing)
    return found


async def former_names(db: AsyncConnection, repository_ids: Iterable[int]) -> dict[int, tuple[str, ...]]:
    """`owner/name` in lower case of all other names that lead to these repositories."""
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
    host_id: int,
    default_branch: str,
    stars: int,
    commit: str,
    resolved_at: datetime,
) -> Repository:
    """Write down what the host says. Returns the canonical row, which is another one if this is a second name."""
    facts = {"host_id": host_id, "default_branch": default_branch, "stars": stars, "commit": commit}
    if known.name.key == name.key:
        values = {"id": known.id, "host": name.host.value, "owner": name.owner, "name": name.name}
        row = (await db.execute(CONFIRM, values | facts | {"resolved_at": resolved_at})).one_or_none()
        if row is not None:
            return repository_of(row)
    canonical = await find_by_host_id(db, name.host, host_id) or known
    if canonical.id != known.id:
        merged = update(repository).where(repository.c.id == known.id).values(merged_into_id=canonical.id)
        await db.execute(merged)
    for former in {known.name, canonical.name}:
        if former.key != name.key:
            await _add_alias(db, former, canonical)
    taken = await find_repository(db, name)
    renamed = {"owner": name.owner, "name": name.name} if taken is None or taken.id == canonical.id else {}
    statement = (
        update(repository)
        .where(repository.c.id == canonical.id)
        .values(**facts, **renamed, resolved_at=resolved_at)
        .returning(*COLUMNS)
    )
    return repository_of((await db.execute(statement)).one())


async def find_by_host_id(db: AsyncConnection, host: Host, host_id: int) -> Repository | None:
    """The repository to which its host has given this number, whatever it is called."""
    statement = select(*COLUMNS).where(repository.c.host == host.value, repository.c.host_id == host_id)
    row = (await db.execute(statement)).one_or_none()
    return repository_of(row) if row else None


async def _add_alias(db: AsyncConnection, name: RepositoryName, canonical: Repository) -> None:
    host, owner, plain = name.key
    statement = upsert(repository_alias).values(host=host, owner=owner, name=plain, repository_id=canonical.id)
    await db.execute(statement.on_conflict_do_nothing())


def repository_of(row: Sequence[Any]) -> Repository:
    """A row of COLUMNS as a value."""
    number, host, owner, name, host_id, commit = row
    return Repository(number, RepositoryName(Host(host), owner, name), host_id, commit)
