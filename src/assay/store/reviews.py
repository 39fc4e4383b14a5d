"""Reviews, and everything else that people have said about the bytes of a submission."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import ARRAY, Text, Uuid, and_, any_, func, insert, literal, or_, select
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.review import Review, Ruling
from assay.model.said import NOTHING_SAID, Said
from assay.model.submission import Submission
from assay.model.suppression import Scope
from assay.store.suppressions import COLUMNS as SUPPRESSION_COLUMNS
from assay.store.suppressions import suppression_of
from assay.store.tables import review, suppression

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
    suppressions = await _suppressions(db, wanted)
    said = []
    for submission, digest in wanted:
        concerned = tuple(
            each
            for each in suppressions
            if each.content_digest == digest
            or (
                each.scope is Scope.SKILL
                and (each.repository_id, each.skill_path) == (submission.repository.id, submission.skill_path)
            )
        )
        known = reviews.get((submission.id, digest))
        said.append(Said(known, concerned) if known or concerned else NOTHING_SAID)
    return said


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


async def _suppressions(db: AsyncConnection, wanted: Sequence[tuple[Submission, str]]) -> list[Any]:
    """Those of these bytes wherever they were first seen, and those of these skills; oldest first."""
    digests = any_(literal(sorted({digest for _, digest in wanted}), ARRAY(Text)))
    skills = sorted({(each.repository.id, each.skill_path) for each, _ in wanted})
    of_skills = [
        and_(suppression.c.repository_id == number, suppression.c.skill_path == path) for number, path in skills
    ]
    meant = or_(suppression.c.content_digest == digests, *of_skills)
    statement = select(*SUPPRESSION_COLUMNS).where(meant).order_by(suppression.c.id)
    return [suppression_of(row) for row in await db.execute(statement)]


def _review_of(row: Any) -> Review:
    return Review(Ruling(row.ruling), row.reason, row.reviewer, row.content_digest, frozenset(row.seen), row.created_at)
