"""A listing that is the caller's to change, and that nothing else was changed in its place."""

from typing import Any

from assay.accounts.permissions import must_own
from assay.model.account import Caller
from assay.model.errors import Conflict
from assay.model.skill import Skill
from assay.serve.skills.catalogue import find_any_listing


async def owned_listing(db: Any, caller: Caller, wanted: str) -> Skill:
    """The listing of this name, live or not, if it is the caller's to change."""
    listing = await find_any_listing(db, wanted)
    await must_own(db, caller, listing)
    return listing


def must_be_the_same(owned: Skill, changed: Skill) -> Skill:
    """What was changed, by its name, is what the caller owns; the name may have gone to another listing meanwhile."""
    if changed.id != owned.id:
        raise Conflict(f"{owned.name} was renamed at this moment; ask again by its new name.", code="renamed")
    return changed
