"""A listing once more: the request that led to it, in somebody else's name."""

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.account import Caller
from assay.model.naming import slug_in
from assay.model.skill import Skill
from assay.model.submission import Origin
from assay.store.submissions.submissions import get_submission
from assay.store.versions.status import submissions_of
from assay.submit.admission import Request


async def request_again(db: AsyncConnection, listing: Skill, caller: Caller) -> Request:
    """The same as the last one that led to the listing; one for its folder if there was none."""
    by = Origin.API, str(caller.account_id) if caller.account_id else None, caller.name
    number = next(iter(await submissions_of(db, listing.id)), None)
    if number is None:
        return Request(listing.repository, slug_in(listing.name), listing.skill_path, *by)
    known = await get_submission(db, number)
    return Request(known.repository.name, known.skill_name, known.skill_path, *by, known.upload_digest)
