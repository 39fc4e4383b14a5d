"""Changes to published listings and versions, by their owners and by administrators."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated, Any

from litestar import Router, delete, post, put
from litestar.di import NamedDependency, Provide
from litestar.params import FromPath, JSONBody, QueryParameter, SkipValidation
from litestar.status_codes import HTTP_200_OK

from assay.accounts.permissions import require_namespace, require_owner
from assay.accounts.uploading import check_new_name
from assay.app.app import App
from assay.model.account import Caller
from assay.model.errors import Conflict, NotFound
from assay.model.namespace import namespace_of
from assay.model.repository import Host
from assay.model.skill import ListingStatus, Skill, StatusReason
from assay.moderation import listing_changes, withdraw
from assay.serve.skills.catalogue import find_any_listing
from assay.serve.versions.versions import read_summaries
from assay.store.versions.tags import list_tags
from assay.store.versions.versions import find_version, page_versions
from assay.web.http.access import ADMIN, OWNER
from assay.web.http.context import Assay, CalledBy, RequestedName
from assay.web.http.errors import problems
from assay.web.http.json import LARGEST_REQUEST_BYTES
from assay.web.versions.json import (
    ListingStatusView,
    MoveBody,
    ReasonBody,
    RenameBody,
    TagBody,
    TagsView,
    VersionEntryView,
    present_entry,
    present_status,
)
from assay.web.versions.naming import BY_NAME

NAME = "/{owner:str}/{repo:str}/{skill:str}"
VERSION = f"{NAME}/versions/{{version:str}}"
WITH_BODY: dict[str, Any] = {
    "status_code": HTTP_200_OK,
    "responses": problems(300, 400, 401, 403, 404, 409, 413, 415, 503),
    "request_max_body_size": LARGEST_REQUEST_BYTES,
}


DeletionReason = Annotated[str, QueryParameter(max_length=1_000, description="A reason that everyone can read.")]


@dataclass(frozen=True)
class VersionChange:
    """A request to change the status of one version."""

    assay: App
    caller: Caller
    requested_name: str
    version: str

    async def apply(self, change: Callable[[Any, Skill], Awaitable[Skill]]) -> VersionEntryView:
        """Apply the change if the caller owns the listing, and return the changed version."""
        async with self.assay.store.begin() as db:
            listing = await owned_listing(db, self.caller, self.requested_name)
            _check_version(listing, self.version)
            same_listing(listing, await change(db, listing))
            found = await find_version(db, listing.id, self.version)
            assert found is not None, "a version that was changed exists"
            around = await page_versions(db, listing.id, before=found.ordinal, limit=1)
            return present_entry(found, (await read_summaries(db, [found, *around]))[found.version])


def _version_change(
    assay: Assay, caller: CalledBy, requested_name: RequestedName, version: FromPath[str]
) -> VersionChange:
    return VersionChange(assay, caller, requested_name, version)


Change = NamedDependency[SkipValidation[VersionChange]]


@post(f"{VERSION}/yank", summary="Yank a version", **WITH_BODY)
async def yank_version(change: Change, data: JSONBody[ReasonBody]) -> VersionEntryView:
    """Hide a version from resolution. It remains available by its exact number, and the previous one becomes live."""
    reason = _status_reason(change.assay, change.caller, "yanked", data)
    return await change.apply(lambda db, listing: withdraw.yank(db, listing.name, change.version, reason))


@post(f"{VERSION}/unyank", summary="Undo the yank of a version", **WITH_BODY)
async def unyank_version(change: Change, data: JSONBody[ReasonBody]) -> VersionEntryView:
    """Make a yanked version available again. It becomes live if it is the newest."""
    by = {"by": change.caller.name, "reason": data.reason}
    return await change.apply(lambda db, listing: withdraw.unyank(db, listing.name, change.version, **by))


@post(f"{VERSION}/deprecate", summary="Deprecate a version", **WITH_BODY)
async def deprecate_version(change: Change, data: JSONBody[ReasonBody]) -> VersionEntryView:
    """Mark a version as deprecated. It stays available, and its reason is shown wherever the version is."""
    reason, by = _status_reason(change.assay, change.caller, "deprecated", data), change.caller.name
    return await change.apply(lambda db, listing: withdraw.deprecate(db, listing.name, change.version, reason, by=by))


@post(f"{VERSION}/undeprecate", summary="Undo the deprecation of a version", **WITH_BODY)
async def undeprecate_version(change: Change, data: JSONBody[ReasonBody]) -> VersionEntryView:
    """Remove the deprecation of a version."""
    by = {"by": change.caller.name, "reason": data.reason}
    return await change.apply(lambda db, listing: withdraw.deprecate(db, listing.name, change.version, None, **by))


@put(f"{NAME}/tags/{{tag:str}}", summary="Set a tag", **WITH_BODY)
async def set_tag(
    assay: Assay, caller: CalledBy, requested_name: RequestedName, tag: FromPath[str], data: JSONBody[TagBody]
) -> TagsView:
    """Point a tag, such as `stable`, to a version. `latest` always points to the live version and cannot be set."""
    return await _set_tag(assay, caller, requested_name, tag, data.version)


@delete(
    f"{NAME}/tags/{{tag:str}}",
    summary="Remove a tag",
    status_code=HTTP_200_OK,
    responses=problems(300, 400, 401, 403, 404, 503),
)
async def remove_tag(assay: Assay, caller: CalledBy, requested_name: RequestedName, tag: FromPath[str]) -> TagsView:
    """Remove a tag. The version that it points to is not changed."""
    return await _set_tag(assay, caller, requested_name, tag, None)


@post(f"{NAME}/unlist", summary="Unlist a skill", **WITH_BODY)
async def unlist(
    assay: Assay, caller: CalledBy, requested_name: RequestedName, data: JSONBody[ReasonBody]
) -> ListingStatusView:
    """Remove a listing from all lists, searches and counts. Its page remains and shows the reason."""
    return present_status(await unlist_as(assay, caller, requested_name, data.reason))


@post(f"{NAME}/relist", summary="Relist a skill", **WITH_BODY)
async def relist(
    assay: Assay, caller: CalledBy, requested_name: RequestedName, data: JSONBody[ReasonBody]
) -> ListingStatusView:
    """Make an unlisted listing live again. Listings that were blocked, withdrawn or lost their source stay hidden."""
    return present_status(await relist_as(assay, caller, requested_name, data.reason))


@post(f"{NAME}/rename", summary="Rename a skill", **WITH_BODY)
async def rename(
    assay: Assay, caller: CalledBy, requested_name: RequestedName, data: JSONBody[RenameBody]
) -> ListingStatusView:
    """Change the last part of the name of a listing. The old name leads to the listing, and hallmarks stay valid."""
    async with assay.store.begin() as db:
        listing = await owned_listing(db, caller, requested_name)
        if listing.repository.host is Host.UPLOAD and not caller.is_admin:
            owner = namespace_of(listing.name)
            await check_new_name(db, owner, data.name, assay.popular_names, assay.clock.now())
        changed = await listing_changes.rename(db, listing.name, data.name, by=caller.name)
        return present_status(same_listing(listing, changed))


@post(f"{NAME}/move", summary="Move an uploaded skill to another namespace", **WITH_BODY)
async def move(
    assay: Assay, caller: CalledBy, requested_name: RequestedName, data: JSONBody[MoveBody]
) -> ListingStatusView:
    """Move an uploaded skill to another namespace that you own. The old name leads to the listing."""
    async with assay.store.begin() as db:
        if "\x00" not in data.namespace:  # PostgreSQL refuses NUL characters with an error
            await listing_changes.lock_for_move(db, await find_any_listing(db, requested_name), data.namespace)
        target = await require_namespace(db, caller, data.namespace)
        listing = await owned_listing(db, caller, requested_name)
        changed = await listing_changes.move_to_namespace(db, listing.name, target.name, by=caller.name)
        return present_status(same_listing(listing, changed))


@delete(
    NAME,
    summary="Delete a skill",
    status_code=HTTP_200_OK,
    responses=problems(300, 400, 401, 403, 404, 409, 503),
)
async def delete_skill(
    assay: Assay, caller: CalledBy, requested_name: RequestedName, reason: DeletionReason = "Deleted by its owner."
) -> ListingStatusView:
    """Remove a listing with all its versions. Its page says so, and `undelete` restores it."""
    why = withdraw.status_reason("deleted", reason, at=assay.clock.now(), by=caller.name)
    async with assay.store.begin() as db:
        listing = await owned_listing(db, caller, requested_name)
        return present_status(same_listing(listing, await listing_changes.delete(db, listing.name, why)))


@post(f"{NAME}/undelete", summary="Restore a deleted skill", **WITH_BODY)
async def undelete(
    assay: Assay, caller: CalledBy, requested_name: RequestedName, data: JSONBody[ReasonBody]
) -> ListingStatusView:
    """Restore a deleted listing with all its versions."""
    async with assay.store.begin() as db:
        listing = await owned_listing(db, caller, requested_name)
        restored = await listing_changes.undelete(db, listing.name, by=caller.name, reason=data.reason)
        return present_status(same_listing(listing, restored))


@post(
    "/{owner:str}/{repo:str}/{skill:str}/versions/{version:str}/withdraw",
    summary="Withdraw a version",
    status_code=HTTP_200_OK,
    responses=problems(300, 400, 401, 403, 404, 409, 413, 415, 503),
)
async def withdraw_version(
    assay: Assay,
    caller: CalledBy,
    requested_name: RequestedName,
    version: FromPath[str],
    data: JSONBody[ReasonBody],
) -> ListingStatusView:
    """Remove a version for everyone; the previous version becomes live. This cannot be undone."""
    reason = _status_reason(assay, caller, "withdrawn", data)
    if "\x00" in version:  # PostgreSQL refuses NUL characters with an error
        raise NotFound(f"There is no version {version!r}.", code="version_not_found")
    async with assay.store.begin() as db:
        listing = await find_any_listing(db, requested_name)
        return present_status(await withdraw.withdraw(db, listing.name, version, reason))


async def unlist_as(assay: App, caller: Caller, requested_name: str, reason: str) -> Skill:
    why = withdraw.status_reason("unlisted", reason, at=assay.clock.now(), by=caller.name)
    async with assay.store.begin() as db:
        listing = await owned_listing(db, caller, requested_name)
        return same_listing(listing, await withdraw.unlist(db, listing.name, why))


async def relist_as(assay: App, caller: Caller, requested_name: str, reason: str) -> Skill:
    async with assay.store.begin() as db:
        listing = await owned_listing(db, caller, requested_name)
        restored = await withdraw.restore(db, listing.name, of=ListingStatus.UNLISTED, by=caller.name, reason=reason)
        return same_listing(listing, restored)


async def owned_listing(db: Any, caller: Caller, name: str) -> Skill:
    """Return the listing, whatever its status; raise Forbidden unless the caller owns it."""
    listing = await find_any_listing(db, name)
    await require_owner(db, caller, listing)
    return listing


def same_listing(owned: Skill, changed: Skill) -> Skill:
    """Return the changed listing; raise Conflict if the name moved to another listing in the meantime."""
    if changed.id != owned.id:
        raise Conflict(f"{owned.name} was renamed at this moment. Retry with its new name.", code="renamed")
    return changed


async def _set_tag(assay: App, caller: Caller, name: str, tag: str, version: str | None) -> TagsView:
    async with assay.store.begin() as db:
        listing = await owned_listing(db, caller, name)
        _check_version(listing, version or "")
        same_listing(listing, await withdraw.tag_version(db, listing.name, tag, version, by=caller.name))
        return TagsView(name=listing.name, tags=await list_tags(db, listing.id))


def _status_reason(assay: App, caller: Caller, code: str, body: ReasonBody) -> StatusReason:
    return withdraw.status_reason(code, body.reason, at=assay.clock.now(), by=caller.name)


def _check_version(listing: Skill, version: str) -> None:
    if "\x00" in version:  # PostgreSQL refuses NUL characters with an error
        raise NotFound(f"{listing.name} has no such version.", code="version_not_found")


router = Router(
    "/",
    opt=OWNER,
    dependencies={"change": Provide(_version_change, sync_to_thread=False)},
    route_handlers=[
        yank_version,
        unyank_version,
        deprecate_version,
        undeprecate_version,
        set_tag,
        remove_tag,
        unlist,
        relist,
        rename,
        move,
        delete_skill,
        undelete,
    ],
)
admin_router = Router(
    "/api/v1/admin/skills", tags=["admin"], opt=ADMIN, dependencies=BY_NAME, route_handlers=[withdraw_version]
)
