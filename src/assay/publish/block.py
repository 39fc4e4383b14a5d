"""Block: what is on the blocklist is not published, and what was published is taken down."""

from collections.abc import Sequence

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.blocklist import BlocklistEntry, Target
from assay.model.naming import repository_key, slug_of
from assay.model.submission import State, Submission
from assay.store.moderation.blocklist import find_blocks
from assay.store.repositories.repositories import former_names
from assay.store.submissions.transitions import Move, Step


async def blocks_of(db: AsyncConnection, wanted: Sequence[tuple[Submission, str]]) -> Sequence[BlocklistEntry | None]:
    """The entry that each submission with this content digest is on, until the end of the transaction."""
    former = await former_names(db, [submission.repository.id for submission, _ in wanted])
    return await find_blocks(
        db,
        [
            Target(
                digest,
                repository_key(submission.repository.name),
                slug_of(submission.skill_name),
                former_names=former.get(submission.repository.id, ()),
            )
            for submission, digest in wanted
        ],
    )


def blocked(submission: Submission, digest: str, entry: BlocklistEntry) -> Move:
    """To BLOCKED, with the reason of the entry."""
    step = Step(State.BLOCKED, "blocklisted", {"entry": str(entry.id), "threat": entry.threat})
    said = {
        "content_digest": digest,
        "reason_code": "blocklisted",
        "reason_message": f"It is on the blocklist ({entry.threat}): {entry.reason}",
        "next_step": "Ask an operator to lift the entry if it is a mistake.",
    }
    return Move(submission, (step,), "worker", said)
