"""Reviews, and everything else that people have said about the bytes of a submission."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import ARRAY, Text, Uuid, and_, func, insert, literal, select
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.human_decisions import NOTHING_SAID, Said
from assay.model.review import Review, Ruling
from assay.model.submission import Submission
from assay.store.moderation.suppressions import find_suppressions
from assay.store.tables import review
from assay.store.tables import submission as submitted

COLUMNS = (
    review.c.ruling,
    review.c.reason,
    review.c.reviewer,
    review.c.content_digest,
    review.c.seen,
    review.c.created_at,
)


async def add_review(db: AsyncConnection, submission_id: UUID, said: Review) -> None:
    """Write down what was decided."""
    await db.execute(
        insert(review).values(
            submission_id=submission_id,
            content_digest=said.content_digest,
            ruling=said.ruling.value,
            reason=said.reason,
            reviewer=said.reviewer,
            seen=sorted(said.seen),
            created_at=said.at,
        )
    )


async def list_reviews(db: AsyncConnection, submission_id: UUID) -> list[Review]:
    """Every decision about a submission, oldest first."""
    statement = select(*COLUMNS).where(review.c.submission_id == submission_id).order_by(review.c.id)
    return [_review_of(row) for row in await db.execute(statement)]


async def find_said(db: AsyncConnection, wanted: Sequence[tuple[Submission, str]]) -> list[Said]:
    """What was said about each submission with this content, in two statements for all of them."""
    reviews = await _last_reviews(db, wanted)
    skills = [(submission.repository.id, submission.skill_path) for submission, _ in wanted]
    suppressions = await find_suppressions(db, [digest for _, digest in wanted], skills)
    said = []
    for (submission, digest), skill in zip(wanted, skills, strict=True):
        concerned = tuple(each for each in suppressions if each.is_about(digest, *skill))
        known = reviews.get((submission.id, digest))
        said.append(Said(known, concerned) if known or concerned else NOTHING_SAID)
    return said


async def find_approvals(db: AsyncConnection, digest: str) -> dict[UUID, Review]:
    """The last word of a person about these bytes, by listing, where it is a yes."""
    statement = (
        select(submitted.c.skill_id, *COLUMNS)
        .join_from(review, submitted, submitted.c.id == review.c.submission_id)
        .where(review.c.content_digest == digest, submitted.c.skill_id.is_not(None))
        .order_by(review.c.id)
    )
    last = {row.skill_id: _review_of(row) for row in await db.execute(statement)}
    return {skill_id: said for skill_id, said in last.items() if said.ruling is Ruling.APPROVED}


async def _last_reviews(
    db: AsyncConnection, wanted: Sequence[tuple[Submission, str]]
) -> dict[tuple[UUID, str], Review]:
    ids, digests = [each.id for each, _ in wanted], [digest for _, digest in wanted]
    pairs = (
        func.unnest(literal(ids, ARRAY(Uuid)), literal(digests, ARRAY(Text)))
        .table_valued("id", "digest")
        .render_derived("wanted")
    )
    meant = and_(review.c.submission_id == pairs.c.id, review.c.content_digest == pairs.c.digest)
    statement = select(review.c.submission_id, *COLUMNS).join_from(pairs, review, meant).order_by(review.c.id)
    return {(row.submission_id, row.content_digest): _review_of(row) for row in await db.execute(statement)}


def _review_of(row: Any) -> Review:
    return Review(Ruling(row.ruling), row.reason, row.reviewer, row.content_digest, frozenset(row.seen), row.created_at)
