"""Listings that are known from elsewhere, but not to the tables: each is submitted, and examined like any other."""

from collections.abc import Sequence

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.repository import Host
from assay.model.skill import Skill
from assay.model.submission import Origin
from assay.submit.admission import Admission, Request
from assay.submit.bulk import MOST_ITEMS, accept_batch


async def submit_lost(db: AsyncConnection, lost: Sequence[Skill], *, by: str) -> int:
    """How many are new. What was uploaded has no source to fetch it from again, so it is left out."""
    requests = [
        Request(each.repository, each.name.rpartition("/")[2], each.skill_path, Origin.BULK, actor=by)
        for each in lost
        if each.repository.host is not Host.UPLOAD
    ]
    count = 0
    for start in range(0, len(requests), MOST_ITEMS):
        batch = await accept_batch(db, requests[start : start + MOST_ITEMS], may_reopen=False)
        count += batch.count(Admission.CREATED)
    return count
