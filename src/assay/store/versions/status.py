"""What changes after a version is out: its status, its tags, the standing and the name of its listing.

Every function here leaves its record in the change feed; the listing is locked first, by `lock_skill`. Rows that others
refer to are locked with `key_share`: whoever writes a row that refers to one need not wait. Whoever
locks a listing and its submissions locks the listing first, so that two never wait for each other crosswise.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, CompoundSelect, cast, delete, func, insert, or_, select, text, union, update
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.dialects.postgresql import insert as upsert
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.blocklist import Target
from assay.model.change import ChangeKind
from assay.model.errors import NotFound
from assay.model.listing_status import Remark, Standing, VersionStatus
from assay.model.naming import repository_key
from assay.model.skill import Certificate, Skill, SkillVersion
from assay.store.database.records import json_text
from assay.store.repositories.repositories import former_names
from assay.store.skills.skills import SKILLS, find_version, get_skill, list_versions, skill_of
from assay.store.tables import (
    change,
    dist_tag,
    repository,
    repository_alias,
    skill,
    skill_alias,
    skill_version,
    submission,
)
from assay.store.versions.publications import DESCRIBED, certified

# The live version stays if it may; else the newest that may be used takes its place, and the listing says what it said
# then. A version that is back is the newest if it was. A listing that stays as it is, is not touched: nobody would be
# told.
FALL_BACK = text(
    f"""
    WITH best AS (
        SELECT id, described FROM skill_version
        WHERE skill_id = :skill_id AND status = 'live'
        ORDER BY id = coalesce(
            CAST(:back AS uuid), (SELECT current_version_id FROM skill WHERE id = :skill_id)
        ) DESC, ordinal DESC
        LIMIT 1
    ), said AS (
        SELECT best.id AS version_id, described.*
        FROM best, skill CROSS JOIN LATERAL jsonb_populate_record(NULL::skill, to_jsonb(skill) || best.described)
            AS described
        WHERE skill.id = :skill_id
    ), changed AS (
        UPDATE skill SET
            updated_at = now(), current_version_id = said.version_id,
            {", ".join(f"{column.name} = said.{column.name}" for column in DESCRIBED)}
        FROM said WHERE skill.id = :skill_id AND skill.current_version_id <> said.version_id
    )
    SELECT id FROM best
    """
)

ADOPT = text(
    """
    UPDATE skill SET repository_id = :to_id WHERE repository_id = :from_id
        AND EXISTS (SELECT FROM repository WHERE id = :from_id AND merged_into_id = :to_id)
        AND skill_path NOT IN (SELECT skill_path FROM skill WHERE repository_id = :to_id)
    """
)


# Whether a listing of a repository is not called after it, or has other stars.
IS_BEHIND = text(
    """
    SELECT EXISTS (
        SELECT FROM skill WHERE repository_id = :id
            AND (NOT starts_with(name, :beginning) OR stars IS DISTINCT FROM CAST(:stars AS integer))
    )
    """
)


async def lock_skill(db: AsyncConnection, name: str) -> Skill:
    """The listing of this name, locked until the end of the transaction, or NotFound."""
    await db.execute(select(skill.c.id).where(skill.c.name == name.lower()).with_for_update(key_share=True))
    return await get_skill(db, name)


async def hold_listing(db: AsyncConnection, skill_id: UUID | None) -> None:
    """Lock the listing until the end of the transaction, if there is one, for whoever goes on to its submissions."""
    await db.execute(select(skill.c.id).where(skill.c.id == skill_id).with_for_update(key_share=True))


async def get_version(db: AsyncConnection, listing: Skill, version: str) -> SkillVersion:
    """One version of a listing, or NotFound."""
    found = await find_version(db, listing.id, version)
    if found is None:
        raise NotFound(f"{listing.name} has no version {version}.", code="version_not_found")
    return found


async def set_status(
    db: AsyncConnection, listing: Skill, version: SkillVersion, status: VersionStatus, remark: Remark | None
) -> None:
    """Yank, withdraw, or make usable again."""
    values = {"status": status.value, **_columns("status", remark)}
    await db.execute(update(skill_version).where(skill_version.c.id == version.id).values(values))
    kind = {
        VersionStatus.YANKED: ChangeKind.YANK,
        VersionStatus.WITHDRAWN: ChangeKind.WITHDRAW,
        VersionStatus.LIVE: ChangeKind.UNYANK,
    }[status]
    await record_change(db, kind, listing, remark, version=version.version, digest=version.content_digest)


async def set_deprecation(db: AsyncConnection, listing: Skill, version: SkillVersion, remark: Remark | None) -> None:
    """Say that a version is better not used any more, or take that back."""
    values = _columns("deprecation", remark)
    await db.execute(update(skill_version).where(skill_version.c.id == version.id).values(values))
    kind = ChangeKind.DEPRECATE if remark else ChangeKind.UNDEPRECATE
    await record_change(db, kind, listing, remark, version=version.version, digest=version.content_digest)


async def set_certificate(db: AsyncConnection, listing: Skill, version: SkillVersion, certificate: Certificate) -> None:
    """Say of a version, and of its listing while it is the live one, what this certificate says."""
    said = certified(certificate)
    described = skill_version.c.described.op("||")(cast(json_text(said), JSONB))
    values = {
        "tier": certificate.tier.value,
        "score": certificate.score,
        "hallmark": certificate.hallmark,
        "oms_signature": func.coalesce(skill_version.c.oms_signature, cast(certificate.oms_signature, JSONB)),
        "described": described,
    }
    await db.execute(update(skill_version).where(skill_version.c.id == version.id).values(values))
    if version.version == listing.current_version:
        await db.execute(update(skill).where(skill.c.id == listing.id).values(updated_at=func.now(), **said))
    more = {"version": version.version, "digest": version.content_digest, "tier": certificate.tier.value}
    await record_change(db, ChangeKind.UPDATE, listing, None, **more)


async def fall_back(db: AsyncConnection, listing: Skill, *, back: SkillVersion | None = None) -> UUID | None:
    """Keep the live version if it is usable, or make the newest usable one the live one; None if there is none.

    A version that is usable again takes the place of the live one if it is newer.
    """
    is_newer = back is not None and back.ordinal > await _live_ordinal(db, listing.id)
    given = {"skill_id": listing.id, "back": back.id if back and is_newer else None}
    live: UUID | None = (await db.execute(FALL_BACK, given)).scalar_one_or_none()
    return live


async def set_standing(
    db: AsyncConnection, listing: Skill, standing: Standing, remark: Remark | None, *, kind: ChangeKind
) -> None:
    """Take a listing down, or bring it back."""
    values = {"standing": standing.value, "updated_at": func.now(), **_columns("standing", remark)}
    await db.execute(update(skill).where(skill.c.id == listing.id).values(values))
    await record_change(db, kind, listing, remark, standing=standing.value)


async def set_tag(db: AsyncConnection, listing: Skill, tag: str, version: SkillVersion) -> None:
    """Let a tag point to a version."""
    statement = upsert(dist_tag).values(skill_id=listing.id, tag=tag, version_id=version.id)
    moved = {"version_id": version.id, "updated_at": func.now()}
    await db.execute(statement.on_conflict_do_update(index_elements=("skill_id", "tag"), set_=moved))
    await record_change(db, ChangeKind.TAG, listing, None, tag=tag, version=version.version)


async def remove_tag(db: AsyncConnection, listing: Skill, tag: str) -> None:
    """Take a tag away, or NotFound."""
    statement = delete(dist_tag).where(dist_tag.c.skill_id == listing.id, dist_tag.c.tag == tag)
    if (await db.execute(statement)).rowcount == 0:
        raise NotFound(f"{listing.name} has no tag {tag}.", code="tag_not_found")
    await record_change(db, ChangeKind.TAG, listing, None, tag=tag, version=None)


async def list_tags(db: AsyncConnection, skill_id: UUID) -> dict[str, str]:
    """The version that each tag of a listing points to."""
    joined = dist_tag.join(skill_version, dist_tag.c.version_id == skill_version.c.id)
    statement = select(dist_tag.c.tag, skill_version.c.version).select_from(joined)
    rows = await db.execute(statement.where(dist_tag.c.skill_id == skill_id).order_by(dist_tag.c.tag))
    return {row.tag: row.version for row in rows}


async def rename(db: AsyncConnection, listing: Skill, name: str) -> bool:
    """Give a listing a new name, to which the old one leads; whether it could be had, or is another's."""
    try:
        async with db.begin_nested():
            await db.execute(update(skill).where(skill.c.id == listing.id).values(name=name, updated_at=func.now()))
    except IntegrityError:
        return False
    # The new name is its own now, and no longer another way to it.
    await db.execute(delete(skill_alias).where(skill_alias.c.alias == name, skill_alias.c.skill_id == listing.id))
    await add_alias(db, listing.name, listing.id)
    data = {"name": name, "from": listing.name}
    await db.execute(insert(change).values(kind=ChangeKind.RENAME.value, skill_id=listing.id, data=data))
    return True


async def lock_listings(db: AsyncConnection, repository_id: int) -> list[Skill]:
    """The listings of a repository, locked until the end of the transaction."""
    return await _locked(db, skill.c.repository_id == repository_id)


async def lock_misnamed(db: AsyncConnection, repository_id: int, key: str) -> list[Skill]:
    """The listings of a repository that are not called after it, locked until the end of the transaction."""
    misnamed = ~skill.c.name.startswith(f"{key}/", autoescape=True)
    return await _locked(db, skill.c.repository_id == repository_id, misnamed)


async def is_any_behind(db: AsyncConnection, repository_id: int, key: str, stars: int | None) -> bool:
    """Whether a listing of a repository has another name or other stars than the repository."""
    values = {"id": repository_id, "beginning": f"{key}/", "stars": stars}
    return bool((await db.execute(IS_BEHIND, values)).scalar_one())


async def names_in(db: AsyncConnection, repository_id: int, standing: Standing, code: str | None = None) -> list[str]:
    """The names of the listings of a repository that stand so, and for this reason if one is given."""
    statement = select(skill.c.name).where(skill.c.repository_id == repository_id, skill.c.standing == standing.value)
    if code is not None:
        statement = statement.where(skill.c.standing_code == code)
    return list((await db.execute(statement.order_by(skill.c.name))).scalars())


async def adopt_listings(db: AsyncConnection, from_id: int, to_id: int) -> bool:
    """Give a repository the listings of a row that is merged into it, but for folders that it has listed already.

    Returns whether there were any.
    """
    return (await db.execute(ADOPT, {"from_id": from_id, "to_id": to_id})).rowcount > 0


async def update_stars(db: AsyncConnection, repository_id: int, stars: int | None) -> None:
    """Write down the stars of a repository, for itself and for its listings."""
    is_it, differ = repository.c.id == repository_id, repository.c.stars.is_distinct_from(stars)
    await db.execute(update(repository).where(is_it, differ).values(stars=stars))
    of_repository = skill.c.repository_id == repository_id
    await db.execute(update(skill).where(of_repository, skill.c.stars.is_distinct_from(stars)).values(stars=stars))


async def add_alias(db: AsyncConnection, alias: str, skill_id: UUID) -> None:
    """Let another name lead to a listing."""
    statement = upsert(skill_alias).values(alias=alias.lower(), skill_id=skill_id)
    await db.execute(statement.on_conflict_do_nothing())


async def record_change(
    db: AsyncConnection, kind: ChangeKind, listing: Skill, remark: Remark | None, **more: object
) -> None:
    """One entry of the feed about a listing."""
    reason = {"reason": {"code": remark.code, "message": remark.message}} if remark else {}
    data: Mapping[str, Any] = {"name": listing.name, **more, **reason}
    await db.execute(insert(change).values(kind=kind.value, skill_id=listing.id, data=data))


async def _live_ordinal(db: AsyncConnection, skill_id: UUID) -> int:
    """The place of the live version among all of a listing; 0 if what stands there is not usable."""
    statement = select(skill_version.c.ordinal).join_from(
        skill, skill_version, skill.c.current_version_id == skill_version.c.id
    )
    is_usable = skill_version.c.status == VersionStatus.LIVE.value
    found = await db.execute(statement.where(skill.c.id == skill_id, is_usable))
    return int(found.scalar_one_or_none() or 0)


def _columns(prefix: str, remark: Remark | None) -> dict[str, str | datetime | None]:
    if remark is None:
        return dict.fromkeys(f"{prefix}_{part}" for part in ("code", "message", "at", "by"))
    return {
        f"{prefix}_code": remark.code,
        f"{prefix}_message": remark.message,
        f"{prefix}_at": remark.at,
        f"{prefix}_by": remark.by,
    }


async def versions_with(db: AsyncConnection, digest: str) -> list[tuple[Skill, SkillVersion]]:
    """Every version with these bytes and its listing, which is locked until the end of the transaction."""
    holders = select(skill_version.c.skill_id).where(skill_version.c.content_digest == digest)
    found = await _locked(db, skill.c.id.in_(holders))
    return [
        (listing, version)
        for listing in found
        for version in await list_versions(db, listing.id)
        if version.content_digest == digest
    ]


async def target_of(db: AsyncConnection, listing: Skill) -> Target:
    """What an entry of the blocklist could be about, of a listing and its live version."""
    number = (await db.execute(select(skill.c.repository_id).where(skill.c.id == listing.id))).scalar_one()
    called, slug = listing.name.rsplit("/", 1)
    former = {*(await former_names(db, [number])).get(number, ()), called}
    return Target(listing.content_digest, repository_key(listing.repository), slug, former_names=tuple(sorted(former)))


async def find_yank(db: AsyncConnection, listing: Skill, version: SkillVersion, by: str) -> Remark | None:
    """Why a version was yanked before it was withdrawn, if it was, as the feed tells."""
    statement = select(change.c.kind, change.c.data, change.c.created_at).where(
        change.c.skill_id == listing.id,
        change.c.kind.in_((ChangeKind.YANK.value, ChangeKind.UNYANK.value)),
        change.c.data["version"].astext == version.version,
    )
    row = (await db.execute(statement.order_by(change.c.id.desc()).limit(1))).one_or_none()
    if row is None or row.kind != ChangeKind.YANK.value:
        return None
    return Remark(row.data["reason"]["code"], row.data["reason"]["message"], row.created_at, by)


async def lock_targets(db: AsyncConnection, target: Target) -> list[Skill]:
    """The listings that an entry of the blocklist is about by their names, locked."""
    conditions = []
    if target.repository is not None:
        conditions.append(_is_of(target.repository))
    if target.skill_name is not None:
        conditions.append(func.split_part(skill.c.name, "/", 3) == target.skill_name)
    return await _locked(db, *conditions)


async def lock_blocked(db: AsyncConnection, target: Target, code: str) -> list[Skill]:
    """The listings that are down because of such an entry, locked."""
    is_down = (skill.c.standing == Standing.BLOCKED.value) & (skill.c.standing_code == code)
    if target.content_digest is not None:
        holders = select(skill_version.c.skill_id).where(skill_version.c.content_digest == target.content_digest)
        return await _locked(db, is_down, skill.c.id.in_(holders))
    return [each for each in await lock_targets(db, target) if each.standing is Standing.BLOCKED]


def _is_of(key: str) -> ColumnElement[bool]:
    """Whether a listing is called after this repository, or is of it under whatever name it has now."""
    is_called = skill.c.name.startswith(f"{key}/", autoescape=True)
    return or_(is_called, skill.c.repository_id.in_(_repositories_called(key)))


def _repositories_called(key: str) -> CompoundSelect[int]:
    host_name = repository.c.owner + "/" + repository.c.name
    alias_name = repository_alias.c.owner + "/" + repository_alias.c.name
    return union(
        select(repository.c.id).where(func.lower(host_name) == key),
        select(repository_alias.c.repository_id).where(alias_name == key),
    )


async def submissions_of(db: AsyncConnection, skill_id: UUID) -> list[UUID]:
    """The ids of the submissions that led to a listing, the last one first."""
    statement = select(submission.c.id).where(submission.c.skill_id == skill_id)
    return list((await db.execute(statement.order_by(submission.c.received_at.desc(), submission.c.id))).scalars())


async def is_submitter(db: AsyncConnection, skill_id: UUID, submitter: str) -> bool:
    """Whether this account has submitted what became this listing."""
    mine = select(submission.c.id).where(submission.c.skill_id == skill_id, submission.c.submitter == submitter)
    return (await db.execute(mine.limit(1))).one_or_none() is not None


async def blocked_submissions(db: AsyncConnection, target: Target, code: str) -> list[UUID]:
    """The ids of submissions that an entry may have blocked: those of its bytes or its repository, or all that are."""
    statement = select(submission.c.id).where(submission.c.reason_code == code, submission.c.state == "BLOCKED")
    if target.content_digest is not None:
        statement = statement.where(submission.c.content_digest == target.content_digest)
    if target.repository is not None:
        statement = statement.where(submission.c.repository_id.in_(_repositories_called(target.repository)))
    return list((await db.execute(statement)).scalars())


async def _locked(db: AsyncConnection, *conditions: ColumnElement[bool]) -> list[Skill]:
    ids = list(
        (
            await db.execute(select(skill.c.id).where(*conditions).order_by(skill.c.id).with_for_update(key_share=True))
        ).scalars()
    )
    if not ids:
        return []
    return [skill_of(row) for row in await db.execute(SKILLS.where(skill.c.id.in_(ids)).order_by(skill.c.id))]
