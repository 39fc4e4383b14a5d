"""What GitHub tells of a repository: it was pushed to, renamed, deleted. Each is a reason to look, and no proof."""

from datetime import datetime

import msgspec
import structlog
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.discover.names import repository_named
from assay.model.discovery import Candidate
from assay.model.errors import Invalid
from assay.model.repository import Host
from assay.operations.requeue import requeue_quietly
from assay.store.discovery.records import claim_fresh
from assay.store.repositories.repositories import find_by_host_id, find_repository
from assay.store.repositories.upstream import list_outdated, make_due

log = structlog.get_logger()
BY = "github-webhook"
SOURCE = "webhook"
# What a repository goes through that its listings must follow.
FOLLOWED = frozenset({"renamed", "transferred", "deleted", "archived", "unarchived", "privatized", "publicized"})
COMMIT_CHARACTERS = frozenset("0123456789abcdef")


class _Repository(msgspec.Struct):
    id: int
    full_name: str
    default_branch: str = ""


class _Message(msgspec.Struct):
    repository: _Repository | None = None
    action: str = ""
    ref: str = ""
    after: str = ""


async def take_message(db: AsyncConnection, event: str, body: bytes, *, web_url: str, now: datetime) -> int:
    """Do what a message is a reason for. Returns how many submissions are looked at again."""
    try:
        message = msgspec.json.decode(body, type=_Message)
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        raise Invalid(f"The message cannot be read: {problem}", code="bad_message") from None
    repository = message.repository
    name = repository_named(repository.full_name, web_url) if repository else None
    if repository is None or name is None:
        return 0
    known = await find_by_host_id(db, Host.GITHUB, repository.id) or await find_repository(db, name)
    match event:
        case "push" if message.ref == f"refs/heads/{repository.default_branch}" and _is_commit(message.after):
            # What is listed is examined at the new commit; what is not listed yet is found by the next run.
            await claim_fresh(db, [Candidate(name, changed_at=now)], source=SOURCE, room=1)
            if known is None:
                return 0
            await make_due(db, known.id)
            outdated = await list_outdated(db, known.id, message.after)
            reason = f"the source was pushed to {message.after[:12]}"
            return len(await requeue_quietly(db, outdated, by=BY, reason=reason))
        case "repository" if message.action in FOLLOWED and known is not None:
            await make_due(db, known.id, anew=True)
            log.info("A repository has changed", repository=str(name), action=message.action)
    return 0


def _is_commit(text: str) -> bool:
    # A branch that was deleted is pushed to nothing but zeros.
    return len(text) == 40 and set(text) <= COMMIT_CHARACTERS and set(text) != {"0"}
