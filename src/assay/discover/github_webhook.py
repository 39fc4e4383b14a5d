"""GitHub's webhook: pushes and changes of repositories. Messages only trigger checks; they prove nothing."""

from datetime import datetime

import msgspec
import structlog
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.discover.repository_names import parse_repository
from assay.model.discovery import Candidate
from assay.model.errors import Invalid
from assay.model.repository import Host
from assay.operations.requeue import requeue_behind_new
from assay.store.discovery.records import claim_new_candidates
from assay.store.repositories.repositories import find_by_host_id, find_repository
from assay.store.repositories.upstream import list_outdated, schedule_check

log = structlog.get_logger()
BY = "github-webhook"
SOURCE = "webhook"
# Repository actions that may affect its listings.
RELEVANT_ACTIONS = frozenset(
    {"renamed", "transferred", "deleted", "archived", "unarchived", "privatized", "publicized"}
)
COMMIT_CHARACTERS = frozenset("0123456789abcdef")


class _WebhookRepository(msgspec.Struct):
    id: int
    full_name: str
    default_branch: str = ""


class _WebhookMessage(msgspec.Struct):
    repository: _WebhookRepository | None = None
    action: str = ""
    ref: str = ""
    after: str = ""


async def handle_message(db: AsyncConnection, event: str, body: bytes, *, web_url: str, now: datetime) -> int:
    """Trigger the checks that a message calls for; return the number of requeued submissions."""
    try:
        message = msgspec.json.decode(body, type=_WebhookMessage)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Invalid(f"The webhook message cannot be read: {error}", code="bad_message") from None
    repository = message.repository
    name = parse_repository(repository.full_name, web_url) if repository else None
    if repository is None or name is None:
        return 0
    known = await find_by_host_id(db, Host.GITHUB, repository.id) or await find_repository(db, name)
    match event:
        case "push" if message.ref == f"refs/heads/{repository.default_branch}" and _is_commit(message.after):
            # Listed skills are requeued for the new commit; new skills are found by the next discovery run.
            await claim_new_candidates(db, [Candidate(name, changed_at=now)], source=SOURCE, room=1)
            if known is None:
                return 0
            await schedule_check(db, known.id)
            outdated = await list_outdated(db, known.id, message.after)
            reason = f"commit {message.after[:12]} was pushed to the repository"
            return len(await requeue_behind_new(db, outdated, by=BY, reason=reason))
        case "repository" if message.action in RELEVANT_ACTIONS and known is not None:
            await schedule_check(db, known.id, with_details=True)
            log.info("Repository changed on GitHub", repository=str(name), action=message.action)
    return 0


def _is_commit(text: str) -> bool:
    # The push of a deleted branch has a commit id of zeros.
    return len(text) == 40 and set(text) <= COMMIT_CHARACTERS and set(text) != {"0"}
