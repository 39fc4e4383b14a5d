"""A listing taken down and brought back by its owner, on its own page."""

from typing import Annotated, Any

import msgspec
from litestar import post
from litestar.params import URLEncodedBody
from litestar.response import Redirect
from litestar.status_codes import HTTP_303_SEE_OTHER

from assay.model.listing_status import Standing
from assay.model.skill import Skill
from assay.moderation import withdraw
from assay.web.http.access import ACCOUNT
from assay.web.http.dependencies import Assay, CalledBy, WantedName
from assay.web.versions.naming import BY_NAME
from assay.web.versions.owned import must_be_the_same, owned_listing

NAME = "/skills/{owner:str}/{repo:str}/{skill:str}"
LONGEST_FIELD = 2_000
# A character may need twelve bytes in a form.
FORM: dict[str, Any] = {
    "opt": ACCOUNT,
    "dependencies": BY_NAME,
    "include_in_schema": False,
    "request_max_body_size": 12 * LONGEST_FIELD + 1_000,
}


class WhyForm(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The reason, which everybody will read."""

    reason: Annotated[str, msgspec.Meta(max_length=LONGEST_FIELD)]


@post(f"{NAME}/unlist", **FORM)
async def unlist_form(assay: Assay, caller: CalledBy, wanted: WantedName, data: URLEncodedBody[WhyForm]) -> Redirect:
    """Take it down, then show what everybody sees of it now."""
    why = withdraw.remark("unlisted", data.reason, at=assay.clock.now(), by=caller.name)
    async with assay.store.begin() as db:
        listing = await owned_listing(db, caller, wanted)
        return _shown(must_be_the_same(listing, await withdraw.unlist(db, listing.name, why)))


@post(f"{NAME}/relist", **FORM)
async def relist_form(assay: Assay, caller: CalledBy, wanted: WantedName, data: URLEncodedBody[WhyForm]) -> Redirect:
    """Bring it back, then show it."""
    why = withdraw.remark("relisted", data.reason, at=assay.clock.now(), by=caller.name)
    async with assay.store.begin() as db:
        listing = await owned_listing(db, caller, wanted)
        back = await withdraw.restore(db, listing.name, of=Standing.UNLISTED, by=why.by, reason=why.message)
        return _shown(must_be_the_same(listing, back))


def _shown(listing: Skill) -> Redirect:
    return Redirect(f"/skills/{listing.name}", status_code=HTTP_303_SEE_OTHER)
