"""Downloads and badges while the database is away: what the copy lists can be had, and is shown on other pages."""

from typing import Any

from litestar import Response

from assay.model.errors import Unavailable
from assay.model.listing_status import VersionStatus
from assay.serve.operations.edge_copy import Origin
from assay.serve.skills.listing import Listing
from assay.serve.versions.archive import Format
from assay.serve.versions.versions import LATEST, gone_version
from assay.store.database.database import AWAY
from assay.web.http.degraded_mark import Mark
from assay.web.http.degraded_request import Asked
from assay.web.skills.badge import badge_of
from assay.web.skills.badges import answer_badge, read_file_name
from assay.web.versions.files import Archive, answer_archive
from assay.web.versions.naming import wanted_name


async def download(asked: Asked) -> Response[Any]:
    """`GET …/versions/{version}/download`: the bytes are not in the database. By its number, or `latest`."""
    listing, version = await _find(asked, asked.path("skill")), asked.path("version")
    archive = Archive(
        listing.skill.name,
        listing.skill.current_version if version == LATEST else version,
        _digest(listing, version),
        asked.choice("format", Format) or Format.ZIP,
    )
    return await _marked(asked, await answer_archive(asked.assay, asked.request, archive))


async def badge(asked: Asked) -> Response[Any]:
    """`GET /badge/{owner}/{repo}/{skill}.svg`, or `.json`."""
    slug, kind = read_file_name(asked.path("file"))
    return await _marked(asked, answer_badge(asked.request, badge_of((await _find(asked, slug)).skill), kind))


async def _find(asked: Asked, slug: str) -> Listing:
    """What the starter catalogue has was never examined, and says nothing about what was."""
    if (await asked.assay.copy.snapshot()).origin is Origin.STARTER:
        raise _unknown("nothing is known of what is listed without it")
    return await asked.assay.copy.find(wanted_name(asked.path("owner"), asked.path("repo"), slug))


def _digest(listing: Listing, version: str) -> str:
    """Where tags lead is not in the copy, so a version that it does not have may still be one."""
    if version in (LATEST, listing.skill.current_version):
        return listing.skill.content_digest
    found = next((each for each in listing.versions if each.version == version), None)
    if found is None:
        raise _unknown("only versions are known without it, by their number")
    if found.status is VersionStatus.WITHDRAWN:
        raise gone_version(listing.skill, found)
    return found.content_digest


def _unknown(what: str) -> Unavailable:
    message = f"The database does not answer, and {what}. Ask again when it is back."
    return Unavailable(message, code=AWAY, retry_after_seconds=5)


async def _marked(asked: Asked, response: Response[Any]) -> Response[Any]:
    snapshot = await asked.assay.copy.snapshot()
    response.headers.update(Mark(snapshot.origin, snapshot.as_of).headers)
    return response
