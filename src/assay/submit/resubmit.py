"""Resubmission of a listing."""

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.account import Caller
from assay.model.errors import Conflict
from assay.model.skill import Skill, slug_in
from assay.model.submission import Origin
from assay.store.scans.stored_blobs import keep_blobs
from assay.store.submissions.submissions import get_submission, list_ids_of_skill
from assay.submit.admission import SubmissionRequest


async def build_resubmission(db: AsyncConnection, listing: Skill, caller: Caller) -> SubmissionRequest:
    """Return the latest request for the listing in the caller's name, or one for its folder if there is none.

    Raises Conflict if its files were uploaded and have been deleted.
    """
    by = Origin.API, str(caller.account_id) if caller.account_id else None, caller.name
    number = next(iter(await list_ids_of_skill(db, listing.id)), None)
    if number is None:
        return SubmissionRequest(listing.repository, slug_in(listing.name), listing.skill_path, *by)
    known = await get_submission(db, number)
    if known.upload_digest is not None and not await keep_blobs(db, [known.upload_digest]):
        raise Conflict(f"The files of {listing.name} were deleted. Upload it again.", code="files_deleted")
    return SubmissionRequest(known.repository.name, known.skill_name, known.skill_path, *by, known.upload_digest)
