"""What owners and operators do to a listing after it is published: take back, deprecate, tag, unlist, look again."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from litestar import Response, Router, delete, post, put
from litestar.di import NamedDependency, Provide
from litestar.params import FromPath, JSONBody, SkipValidation
from litestar.status_codes import HTTP_200_OK, HTTP_201_CREATED

from assay.accounts.permissions import must_own_or_have_submitted
from assay.app.app import App
from assay.model.account import Caller
from assay.model.errors import NotFound
from assay.model.listing_status import Remark, Standing
from assay.model.skill import Skill
from assay.moderation import withdraw
from assay.serve.skills.catalogue import find_any_listing
from assay.serve.versions.versions import read_summaries
from assay.store.operations.audit import record_audit
from assay.store.skills.skills import find_version, page_versions
from assay.store.versions.status import list_tags
from assay.submit.admission import accept_submission
from assay.submit.resubmit import request_again
from assay.web.http.access import ACCOUNT
from assay.web.http.dependencies import Assay, CalledBy, WantedName
from assay.web.http.problems import answer, problems
from assay.web.submissions.json import LARGEST_REQUEST_BYTES, AcceptedView
from assay.web.submissions.present import present_accepted
from assay.web.versions.json import StandingView, TagBody, TagsView, VersionEntryView, WhyBody
from assay.web.versions.naming import BY_NAME
from assay.web.versions.owned import must_be_the_same, owned_listing
from assay.web.versions.present import present_entry, present_standing

NAME = "/{owner:str}/{repo:str}/{skill:str}"
VERSION = f"{NAME}/versions/{{version:str}}"
ASKED: dict[str, Any] = {
    "status_code": HTTP_200_OK,
    "responses": problems(300, 400, 401, 403, 404, 409, 413, 415, 503),
    "request_max_body_size": LARGEST_REQUEST_BYTES,
}
Change = Callable[[Any, Skill], Awaitable[Skill]]


@dataclass(frozen=True)
class Wish:
    """That a version is changed: of which listing, and by whom."""

    assay: App
    caller: Caller
    wanted: str
    version: str

    async def fulfil(self, change: Change) -> VersionEntryView:
        """Change it, if it is the caller's to change, and show it."""
        async with self.assay.store.begin() as db:
            listing = await owned_listing(db, self.caller, self.wanted)
            _refuse_odd(listing, self.version)
            must_be_the_same(listing, await change(db, listing))
            found = await find_version(db, listing.id, self.version)
            assert found is not None, "what was changed exists"
            around = await page_versions(db, listing.id, before=found.ordinal, limit=1)
            return present_entry(found, (await read_summaries(db, [found, *around]))[found.version])


WishedChange = NamedDependency[SkipValidation[Wish]]


def _wish(assay: Assay, caller: CalledBy, wanted: WantedName, version: FromPath[str]) -> Wish:
    return Wish(assay, caller, wanted, version)


@post(f"{VERSION}/yank", summary="Yank a version", **ASKED)
async def yank_version(wish: WishedChange, data: JSONBody[WhyBody]) -> VersionEntryView:
    """Only who asks for exactly this version still gets it; the one before is live again."""
    why = _remark(wish.assay, wish.caller, "yanked", data)
    return await wish.fulfil(lambda db, listing: withdraw.yank(db, listing.name, wish.version, why))


@post(f"{VERSION}/unyank", summary="Take a yank back", **ASKED)
async def unyank_version(wish: WishedChange, data: JSONBody[WhyBody]) -> VersionEntryView:
    """It may be used again, and is live if it is the newest."""
    said = {"by": wish.caller.name, "reason": data.reason}
    return await wish.fulfil(lambda db, listing: withdraw.unyank(db, listing.name, wish.version, **said))


@post(f"{VERSION}/deprecate", summary="Deprecate a version", **ASKED)
async def deprecate_version(wish: WishedChange, data: JSONBody[WhyBody]) -> VersionEntryView:
    """It stays where it is, and everybody who sees it sees the reason not to use it."""
    why, by = _remark(wish.assay, wish.caller, "deprecated", data), wish.caller.name
    return await wish.fulfil(lambda db, listing: withdraw.deprecate(db, listing.name, wish.version, why, by=by))


@post(f"{VERSION}/undeprecate", summary="Take a deprecation back", **ASKED)
async def undeprecate_version(wish: WishedChange, data: JSONBody[WhyBody]) -> VersionEntryView:
    """It is as good as any other again."""
    said = {"by": wish.caller.name, "reason": data.reason}
    return await wish.fulfil(lambda db, listing: withdraw.deprecate(db, listing.name, wish.version, None, **said))


@put(f"{NAME}/tags/{{tag:str}}", summary="Let a tag point to a version", **ASKED)
async def set_tag(
    assay: Assay,
    caller: CalledBy,
    wanted: WantedName,
    tag: FromPath[str],
    data: JSONBody[TagBody],
) -> TagsView:
    """Whoever asks for the tag gets that version. `latest` is always the live one and cannot be set."""
    return await _tag(assay, caller, wanted, tag, data.version)


@delete(
    f"{NAME}/tags/{{tag:str}}",
    summary="Remove a tag",
    status_code=HTTP_200_OK,
    responses=problems(300, 400, 401, 403, 404, 503),
)
async def remove_tag(assay: Assay, caller: CalledBy, wanted: WantedName, tag: FromPath[str]) -> TagsView:
    """The version stays."""
    return await _tag(assay, caller, wanted, tag, None)


@post(f"{NAME}/unlist", summary="Take a listing down", **ASKED)
async def unlist(
    assay: Assay,
    caller: CalledBy,
    wanted: WantedName,
    data: JSONBody[WhyBody],
) -> StandingView:
    """It is in no list, no search and no count any more, and its page says why."""
    why = _remark(assay, caller, "unlisted", data)
    async with assay.store.begin() as db:
        listing = await owned_listing(db, caller, wanted)
        return present_standing(must_be_the_same(listing, await withdraw.unlist(db, listing.name, why)))


@post(f"{NAME}/relist", summary="Bring a listing back", **ASKED)
async def relist(
    assay: Assay,
    caller: CalledBy,
    wanted: WantedName,
    data: JSONBody[WhyBody],
) -> StandingView:
    """What was unlisted is back; what was blocked, withdrawn or has lost its source is not."""
    async with assay.store.begin() as db:
        listing = await owned_listing(db, caller, wanted)
        back = await withdraw.restore(db, listing.name, of=Standing.UNLISTED, by=caller.name, reason=data.reason)
        return present_standing(must_be_the_same(listing, back))


@post(
    f"{NAME}/reindex",
    summary="Look at the source again",
    status_code=HTTP_200_OK,
    responses={
        HTTP_201_CREATED: answer(AcceptedView, "A new submission."),
        **problems(300, 400, 401, 403, 404, 409, 503),
    },
)
async def reindex(assay: Assay, caller: CalledBy, wanted: WantedName) -> Response[AcceptedView]:
    """Submits it again, as anybody could; the live version stays live meanwhile."""
    async with assay.store.begin() as db:
        listing = await find_any_listing(db, wanted)
        await must_own_or_have_submitted(db, caller, listing)
        request = await request_again(db, listing, caller)
        accepted = await accept_submission(db, request)
        await record_audit(
            db, caller.name, "skill_reindexed", listing.name, {"submission": str(accepted.submission.id)}
        )
    status, view = present_accepted(accepted, assay.settings.base_url)
    return Response(view, status_code=status)


async def _tag(assay: App, caller: Caller, wanted: str, tag: str, version: str | None) -> TagsView:
    async with assay.store.begin() as db:
        listing = await owned_listing(db, caller, wanted)
        _refuse_odd(listing, version or "")
        must_be_the_same(listing, await withdraw.tag_version(db, listing.name, tag, version, by=caller.name))
        return TagsView(name=listing.name, tags=await list_tags(db, listing.id))


def _remark(assay: App, caller: Caller, code: str, body: WhyBody) -> Remark:
    return withdraw.remark(code, body.reason, at=assay.clock.now(), by=caller.name)


def _refuse_odd(listing: Skill, version: str) -> None:
    if "\x00" in version:  # the database would refuse the question instead of answering it
        raise NotFound(f"{listing.name} has no such version.", code="version_not_found")


router = Router(
    "/",
    opt=ACCOUNT,
    dependencies={**BY_NAME, "wish": Provide(_wish, sync_to_thread=False)},
    route_handlers=[
        yank_version,
        unyank_version,
        deprecate_version,
        undeprecate_version,
        set_tag,
        remove_tag,
        unlist,
        relist,
        reindex,
    ],
)
