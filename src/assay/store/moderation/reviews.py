"""Reviews, and all human decisions about some content."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import ARRAY, Text, Uuid, and_, func, insert, literal, select
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.moderation import NO_DECISIONS, HumanDecisions, Review, ReviewDecision
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


async def add_review(db: AsyncConnection, submission_id: UUID, new: Review) -> None:
    await db.execute(
        insert(review).values(
            submission_id=submission_id,
            content_digest=new.content_digest,
            ruling=new.ruling.value,
            reason=new.reason,
            reviewer=new.reviewer,
            seen=sorted(new.seen),
            created_at=new.at,
        )
    )


async def list_reviews(db: AsyncConnection, submission_id: UUID) -> list[Review]:
    """Return all reviews of a submission, oldest first."""
    statement = select(*COLUMNS).where(review.c.submission_id == submission_id).order_by(review.c.id)
    return [_review_of(row) for row in await db.execute(statement)]


async def find_human_decisions(db: AsyncConnection, contents: Sequence[tuple[Submission, str]]) -> list[HumanDecisions]:
    """Return the decisions about each submission and content, in two statements for all of them."""
    reviews = await _last_reviews(db, contents)
    skills = [(submission.repository.id, submission.skill_path) for submission, _ in contents]
    suppressions = await find_suppressions(db, [digest for _, digest in contents], skills)
    decisions = []
    for (submission, digest), skill in zip(contents, skills, strict=True):
        concerned = tuple(each for each in suppressions if each.applies_to(digest, *skill))
        known = reviews.get((submission.id, digest))
        decisions.append(HumanDecisions(known, concerned) if known or concerned else NO_DECISIONS)
    return decisions


async def find_approvals(db: AsyncConnection, digest: str) -> dict[UUID, Review]:
    """Return the last review of the content for each listing, if it is an approval."""
    statement = (
        select(submitted.c.skill_id, *COLUMNS)
        .join_from(review, submitted, submitted.c.id == review.c.submission_id)
        .where(review.c.content_digest == digest, submitted.c.skill_id.is_not(None))
        .order_by(review.c.id)
    )
    last = {row.skill_id: _review_of(row) for row in await db.execute(statement)}
    return {skill_id: each for skill_id, each in last.items() if each.ruling is ReviewDecision.APPROVED}


async def _last_reviews(
    db: AsyncConnection, contents: Sequence[tuple[Submission, str]]
) -> dict[tuple[UUID, str], Review]:
    ids, digests = [each.id for each, _ in contents], [digest for _, digest in contents]
    pairs = (
        func.unnest(literal(ids, ARRAY(Uuid)), literal(digests, ARRAY(Text)))
        .table_valued("id", "digest")
        .render_derived("wanted")
    )
    is_same = and_(review.c.submission_id == pairs.c.id, review.c.content_digest == pairs.c.digest)
    statement = select(review.c.submission_id, *COLUMNS).join_from(pairs, review, is_same).order_by(review.c.id)
    return {(row.submission_id, row.content_digest): _review_of(row) for row in await db.execute(statement)}


def _review_of(row: Any) -> Review:
    return Review(
        ReviewDecision(row.ruling), row.reason, row.reviewer, row.content_digest, frozenset(row.seen), row.created_at
    )
