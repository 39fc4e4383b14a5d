"""Blocklist checks before publishing."""

from collections.abc import Sequence

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.blocklist import BlocklistEntry, BlocklistTarget
from assay.model.skill import repository_key, slug_of
from assay.model.submission import State, Submission
from assay.store.moderation.blocklist import find_blocks
from assay.store.repositories.repositories import former_names
from assay.store.submissions.transitions import Move, Step


async def find_block_entries(
    db: AsyncConnection, items: Sequence[tuple[Submission, str]]
) -> Sequence[BlocklistEntry | None]:
    """Return the blocklist entry of each (submission, digest), valid until the end of the transaction."""
    former = await former_names(db, [submission.repository.id for submission, _ in items])
    return await find_blocks(
        db,
        [
            BlocklistTarget(
                digest,
                repository_key(submission.repository.name),
                slug_of(submission.skill_name),
                former_names=former.get(submission.repository.id, ()),
            )
            for submission, digest in items
        ],
    )


def block_move(submission: Submission, digest: str, entry: BlocklistEntry) -> Move:
    """Return the move to BLOCKED with the reason of the entry."""
    step = Step(State.BLOCKED, "blocklisted", {"entry": str(entry.id), "threat": entry.threat})
    columns = {
        "content_digest": digest,
        "reason_code": "blocklisted",
        "reason_message": f"This skill is on the blocklist ({entry.threat}): {entry.reason}",
        "next_step": "If this is a mistake, ask an operator to lift the blocklist entry.",
    }
    return Move(submission, (step,), "worker", columns)
