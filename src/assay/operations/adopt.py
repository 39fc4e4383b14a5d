"""A repository that was made anew under its name: what was listed of the one before goes on with it.

Only because a person says so: whoever takes a name that has become free must not get what was listed by it.
"""

from dataclasses import dataclass

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.errors import Conflict, NotFound
from assay.model.repository import Repository, RepositoryFacts, RepositoryName
from assay.store.operations.audit import record_audit
from assay.store.repositories.repositories import find_repository, replace_host_id
from assay.store.repositories.upstream import make_due


@dataclass(frozen=True)
class Adopted:
    """The numbers at its host of the repository before and of the one that took its place."""

    repository: Repository
    former_id: int
    present_id: int


async def adopt_repository(
    db: AsyncConnection, name: RepositoryName, present: RepositoryFacts, *, reason: str, by: str
) -> Adopted:
    """Exactly this one takes the place; its content is examined like any other before anybody gets it."""
    known = await find_repository(db, name)
    if known is None:
        raise NotFound(f"No repository is known by the name {name}.", code="repository_not_found")
    if known.name.key != name.key:
        raise Conflict(f"What was {name} is called {known.name} now, and is listed so.", code="not_replaced")
    if known.host_id is None or present.host_id is None or known.host_id == present.host_id:
        raise Conflict(f"{name} is the repository that is listed by this name: nothing to decide.", code="not_replaced")
    await replace_host_id(db, known, present.host_id)
    await make_due(db, known.id, anew=True)
    detail = {"former_id": known.host_id, "present_id": present.host_id, "reason": reason}
    await record_audit(db, by, "repository_adopted", str(name), detail)
    return Adopted(known, known.host_id, present.host_id)
