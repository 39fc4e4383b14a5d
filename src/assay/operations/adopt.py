"""Adoption of a recreated repository: its listings continue with the new one.

Only an operator can decide this: otherwise, anyone who registers an abandoned name could take over its listings.
"""

from dataclasses import dataclass

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.errors import Conflict, NotFound
from assay.model.repository import Repository, RepositoryFacts, RepositoryName
from assay.store.operations.audit import record_audit
from assay.store.repositories.repositories import find_repository, replace_host_id
from assay.store.repositories.upstream import schedule_check


@dataclass(frozen=True)
class Adopted:
    """An adopted repository with its former and present id at the host."""

    repository: Repository
    former_id: int
    present_id: int


async def adopt_repository(
    db: AsyncConnection, name: RepositoryName, present: RepositoryFacts, *, reason: str, by: str
) -> Adopted:
    """Replace the host id of a known repository. The content is examined as usual before it is published."""
    known = await find_repository(db, name)
    if known is None:
        raise NotFound(f"No repository named {name} is known.", code="repository_not_found")
    if known.name.key != name.key:
        raise Conflict(f"{name} was renamed to {known.name} and is listed under that name.", code="not_replaced")
    if known.host_id is None or present.host_id is None or known.host_id == present.host_id:
        raise Conflict(f"{name} is still the listed repository and was not replaced.", code="not_replaced")
    await replace_host_id(db, known, present.host_id)
    await schedule_check(db, known.id, with_details=True)
    detail = {"former_id": known.host_id, "present_id": present.host_id, "reason": reason}
    await record_audit(db, by, "repository_adopted", str(name), detail)
    return Adopted(known, known.host_id, present.host_id)
