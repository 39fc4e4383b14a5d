"""Names and aliases of listings."""

from uuid import UUID

from sqlalchemy import (
    ColumnElement,
    ScalarSelect,
    Select,
    delete,
    func,
    insert,
    or_,
    select,
    union_all,
    update,
)
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.change import ChangeKind
from assay.model.repository import Host
from assay.model.skill import (
    ListingStatus,
    Skill,
)
from assay.store.skills.skills import IS_LIVE
from assay.store.tables import (
    change,
    repository,
    skill,
    skill_alias,
)
from assay.store.tables.skill import SLUG

# Maximum number of choices for an ambiguous name.
MAX_CHOICES = 20
# Listings with these statuses do not keep others from getting their name.
FREES_NAME = (ListingStatus.DELETED.value, ListingStatus.BLOCKED.value)


async def resolve_name(db: AsyncConnection, name: str) -> tuple[str, ...]:
    """Return the listings that an unknown name may refer to: former holders, else live ones with this flat name.

    An upload has a flat name only if it was the first listing with it. Otherwise anyone could make a name ambiguous, or
    get the clients of a skill that was unlisted.
    """
    by_alias = select(skill.c.name).join_from(skill_alias, skill).where(skill_alias.c.alias == name)
    found = await _names(db, by_alias)
    if found or "/" in name:
        return found
    has_name = SLUG == name  # noqa: SIM300 - a column
    is_first = skill.c.id == _first_holder(has_name)
    by_slug = select(skill.c.name).join_from(skill, repository).where(has_name, IS_LIVE)
    return await _names(db, by_slug.where(or_(repository.c.host != Host.UPLOAD.value, is_first)))


def _first_holder(has_name: ColumnElement[bool]) -> ScalarSelect[UUID]:
    """Return the first listing with a flat name, whether it is live or may become live again."""
    columns = (skill.c.id, skill.c.named_at)
    # Two queries, because each can use an index.
    live = select(*columns).where(has_name, IS_LIVE)
    down = select(*columns).where(has_name, ~IS_LIVE, skill.c.standing.not_in(FREES_NAME))
    holder = union_all(live, down).subquery()
    return select(holder.c.id).order_by(holder.c.named_at, holder.c.id).limit(1).scalar_subquery()


async def aliases_of(db: AsyncConnection, skill_id: UUID) -> list[str]:
    """Return the aliases of a listing, including those that are now the name of another one."""
    statement = select(skill_alias.c.alias).where(skill_alias.c.skill_id == skill_id).order_by(skill_alias.c.alias)
    return list((await db.execute(statement)).scalars())


async def _names(db: AsyncConnection, statement: Select[str]) -> tuple[str, ...]:
    ordered = statement.order_by(skill.c.stars.desc().nulls_last(), skill.c.name).limit(MAX_CHOICES)
    return tuple((await db.execute(ordered)).scalars())


async def rename_listing(db: AsyncConnection, listing: Skill, name: str) -> bool:
    """Rename a listing and keep its old name as an alias; False if the name belongs to another listing."""
    try:
        async with db.begin_nested():
            await db.execute(update(skill).where(skill.c.id == listing.id).values(name=name, updated_at=func.now()))
    except IntegrityError:
        return False
    # The new name must not remain an alias of the same listing.
    await db.execute(delete(skill_alias).where(skill_alias.c.alias == name, skill_alias.c.skill_id == listing.id))
    await add_alias(db, listing.name, listing.id)
    data = {"name": name, "from": listing.name}
    await db.execute(insert(change).values(kind=ChangeKind.RENAME.value, skill_id=listing.id, data=data))
    return True


async def add_alias(db: AsyncConnection, alias: str, skill_id: UUID) -> None:
    statement = upsert(skill_alias).values(alias=alias.lower(), skill_id=skill_id)
    await db.execute(statement.on_conflict_do_nothing())
