"""Repositories under one identity: spellings and renames all lead to the same row."""

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
from assay.store.database.records import json_text
from assay.store.tables import repository, repository_alias

COLUMNS = (
    repository.c.id,
    repository.c.host,
    repository.c.owner,
    repository.c.name,
    repository.c.host_id,
    repository.c.commit,
)

# The usual case in one statement: the name is the one we know, it is no other repository than before, and no other row
# has this id.
CONFIRM = text(
    f"""
    WITH before AS (
        SELECT owner, name FROM repository WHERE id = :id FOR NO KEY UPDATE
    )
    UPDATE repository SET
        owner = :owner, name = :name, host_id = :host_id, default_branch = :default_branch, stars = :stars,
        commit = :commit, resolved_at = :resolved_at
    FROM before
    WHERE id = :id AND merged_into_id IS NULL AND (host_id IS NULL OR host_id = :host_id) AND NOT EXISTS (
        SELECT FROM repository AS other WHERE other.host = :host AND other.host_id = :host_id AND other.id <> :id
    )
    RETURNING before.owner, before.name, {", ".join(f"repository.{column.name}" for column in COLUMNS)}
    """
)


LOCKS = 20_261_119
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
class Recorded:
    """The canonical row of a repository, and what it was called before."""

    repository: Repository
    former: RepositoryName


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
    host_id: int | None,
    default_branch: str,
    stars: int | None,
    commit: str,
    resolved_at: datetime,
) -> Recorded:
    """Write down what the host says. The canonical row is another one if this is a second name.

    A name may have passed to another repository: that gets a row of its own, and takes nothing over but the name.
    Raises NotFound if the row that has the name cannot give it up, because nobody knows what it is called now.
    """
    if host_id is not None:
        # Two names of one repository may be looked at at once, and only one of their rows may have its id.
        await db.execute(LOCK, {"locks": LOCKS, "number": host_id % 2**31})
    facts = {"host_id": host_id, "default_branch": default_branch, "stars": stars, "commit": commit}
    if known.name.key == name.key:
        values = {"id": known.id, "host": name.host.value, "owner": name.owner, "name": name.name}
        row = (await db.execute(CONFIRM, values | facts | {"resolved_at": resolved_at})).one_or_none()
        if row is not None:
            owner, plain, *rest = row
            return Recorded(repository_of(rest), RepositoryName(name.host, owner, plain))
    held = await _lock(db, known.id)
    if host_id is None:
        canonical, formers = held, {held.name}
    elif held.host_id is None or held.host_id == host_id:
        canonical = await find_by_host_id(db, name.host, host_id) or held
        if canonical.id != held.id:
            merged = update(repository).where(repository.c.id == held.id).values(merged_into_id=canonical.id)
            await db.execute(merged)
        formers = {held.name, canonical.name}
    else:
        canonical = await find_by_host_id(db, name.host, host_id) or await _give_name(db, held, name)
        formers = {canonical.name}
    for former in formers:
        if former.key != name.key:
            await _add_alias(db, former, canonical)
    return Recorded(await _write(db, canonical, name, {**facts, "resolved_at": resolved_at}), canonical.name)


async def replace_host_id(db: AsyncConnection, known: Repository, present_id: int) -> None:
    """Another repository takes the place of this one. Raises Conflict if it has a place, or if this one has changed."""
    await db.execute(LOCK, {"locks": LOCKS, "number": present_id % 2**31})
    other = await find_by_host_id(db, known.name.host, present_id)
    if other is not None:
        raise Conflict(f"That repository is listed already, as {other.name}.", code="already_listed")
    is_same = (repository.c.id == known.id) & (repository.c.host_id == known.host_id)
    if not (await db.execute(update(repository).where(is_same).values(host_id=present_id))).rowcount:
        raise Conflict(f"{known.name} has just changed: look again.", code="repository_changed")


async def _lock(db: AsyncConnection, repository_id: int) -> Repository:
    """As it is now, until the end of the transaction."""
    return repository_of(
        (
            await db.execute(select(*COLUMNS).where(repository.c.id == repository_id).with_for_update(key_share=True))
        ).one()
    )


async def _give_name(db: AsyncConnection, former: Repository, name: RepositoryName) -> Repository:
    """A row for the repository that has this name now, which led to another one before."""
    host, owner, plain = name.key
    alias = repository_alias.c
    await db.execute(
        delete(repository_alias).where(
            alias.host == host, alias.owner == owner, alias.name == plain, alias.repository_id == former.id
        )
    )
    fresh = (await find_or_add_repositories(db, [name]))[name.key]
    if fresh.host_id is not None:
        raise replaced(name)
    return fresh


async def _write(
    db: AsyncConnection, canonical: Repository, name: RepositoryName, facts: Mapping[str, object]
) -> Repository:
    """What the host says of it, and its name unless another row has that: it is given up when that one is looked at."""
    statement = update(repository).where(repository.c.id == canonical.id).returning(*COLUMNS)
    try:
        async with db.begin_nested():
            row = (await db.execute(statement.values(**facts, owner=name.owner, name=name.name))).one()
    except IntegrityError:
        row = (await db.execute(statement.values(**facts))).one()
    return repository_of(row)


def replaced(name: RepositoryName) -> NotFound:
    """What is told when a name leads to another repository than the one that was listed by it."""
    return NotFound(
        f"{name} is another repository now than the one that is listed here by this name.", code="source_replaced"
    )


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
