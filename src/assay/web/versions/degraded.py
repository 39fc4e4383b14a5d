"""Versions while the database is down: the list of versions, and downloads of what the edge copy lists."""

from typing import Any

from litestar import Response

from assay.model.errors import Unavailable
from assay.model.skill import VersionStatus
from assay.serve.operations.edge_copy import EdgeOrigin
from assay.serve.skills.listing import Listing
from assay.serve.versions.versions import LATEST, VersionsPage, gone_version
from assay.store.database.database import DATABASE_UNAVAILABLE
from assay.web.http.degraded import DegradedMark, DegradedRequest
from assay.web.versions.archives import ArchiveParameters, VersionArchive, answer_archive
from assay.web.versions.json import present_versions
from assay.web.versions.naming import name_in_path


async def list_versions(request: DegradedRequest) -> Response[dict[str, Any]]:
    """Return all versions on one page; the edge copy has no tags."""
    snapshot = await request.assay.copy.snapshot()
    listing = await request.assay.copy.find(requested_name(request))
    page = VersionsPage(listing.skill, listing.versions, listing.summaries, listing.tags, None)
    return DegradedMark(snapshot.origin, snapshot.as_of, request.ignored()).json(present_versions(page))


async def download(request: DegradedRequest) -> Response[Any]:
    """Stream the archive of a version given by its number or as `latest`."""
    listing, version = await find_listing(request, request.path("skill")), request.path("version")
    archive = VersionArchive(
        listing.skill.name,
        listing.skill.current_version if version == LATEST else version,
        _digest(listing, version),
        request.parameters(ArchiveParameters).kind,
    )
    return await marked(request, await answer_archive(request.assay, request.http, archive))


def requested_name(request: DegradedRequest) -> str:
    if "name" in request.http.path_params:
        return request.path("name")
    return name_in_path(*(request.path(part) for part in ("owner", "repo", "skill")))


async def find_listing(request: DegradedRequest, slug: str) -> Listing:
    """Return a listing of the edge copy; raise Unavailable if only the starter catalogue is left.

    The starter catalogue was never scanned and does not say what is listed.
    """
    if (await request.assay.copy.snapshot()).origin is EdgeOrigin.STARTER:
        raise unavailable("the catalogue is unknown without it")
    return await request.assay.copy.find(name_in_path(request.path("owner"), request.path("repo"), slug))


async def marked(request: DegradedRequest, response: Response[Any]) -> Response[Any]:
    """Add the headers of a degraded answer to a response that is not JSON."""
    snapshot = await request.assay.copy.snapshot()
    response.headers.update(DegradedMark(snapshot.origin, snapshot.as_of).headers)
    return response


def unavailable(reason: str) -> Unavailable:
    message = f"The database is unavailable, and {reason}. Try again later."
    return Unavailable(message, code=DATABASE_UNAVAILABLE, retry_after_seconds=5)


def _digest(listing: Listing, version: str) -> str:
    """Return the content digest of a version. An unknown one may be a tag, which the edge copy does not have."""
    if version in (LATEST, listing.skill.current_version):
        return listing.skill.content_digest
    found = next((each for each in listing.versions if each.version == version), None)
    if found is None:
        raise unavailable("without it a version can be requested only by its number")
    if found.status is VersionStatus.WITHDRAWN:
        raise gone_version(listing.skill, found)
    return found.content_digest
