"""Block: what is on the blocklist is not published, and what was published is taken down."""

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.blocklist import BlocklistEntry, Target
from assay.model.naming import repository_key, slug_of
from assay.model.submission import State, Submission
from assay.store.transitions import Step, move


def target_of(submission: Submission, content_digest: str | None) -> Target:
    """What an entry of the blocklist could be about."""
    return Target(content_digest, repository_key(submission.repository.name), slug_of(submission.skill_name))


async def block_submission(db: AsyncConnection, submission: Submission, entry: BlocklistEntry) -> Submission:
    """BLOCKED, with the reason of the entry."""
    step = Step(State.BLOCKED, "blocklisted", {"entry": str(entry.id), "threat": entry.threat})
    return await move(
        db,
        submission,
        step,
        actor="worker",
        reason_code="blocklisted",
        reason_message=f"It is on the blocklist ({entry.threat}): {entry.reason}",
        next_step="Ask an operator to lift the entry if it is a mistake.",
    )
