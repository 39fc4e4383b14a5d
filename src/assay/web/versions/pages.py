"""Pages of a version, of a file and of a comparison, and the forms with which owners unlist and relist."""

from typing import Annotated, Any

import msgspec
from litestar import get, post
from litestar.params import FromPath, URLEncodedBody
from litestar.response import Redirect, Template
from litestar.status_codes import HTTP_303_SEE_OTHER

from assay.model.skill import Skill
from assay.moderation.withdraw import status_reason
from assay.serve.versions.compare import text_of
from assay.serve.versions.versions import LATEST, read_version, read_versions
from assay.web.findings.scans import capabilities_of, newest_scan
from assay.web.http.access import OWNER, PUBLIC
from assay.web.http.context import Assay, CalledBy, RequestedName
from assay.web.http.links import commit_url
from assay.web.versions.api import From, To
from assay.web.versions.api import compare as compare_two
from assay.web.versions.files import file_at, find_files
from assay.web.versions.json import compare_url
from assay.web.versions.naming import BY_NAME
from assay.web.versions.owners import relist_as, unlist_as

NAME = "/skills/{owner:str}/{repo:str}/{skill:str}"
# Longer files are cut; the download has all of them.
SHOWN_CHARACTERS = 200_000
# Versions offered in the selection of a comparison.
CHOICES = 100
LONGEST_FIELD = 2_000
PAGE: dict[str, Any] = {"opt": PUBLIC, "dependencies": BY_NAME, "include_in_schema": False}
FORM: dict[str, Any] = {
    "opt": OWNER,
    "dependencies": BY_NAME,
    "include_in_schema": False,
    # A character needs up to twelve bytes in a form.
    "request_max_body_size": 12 * LONGEST_FIELD + 1_000,
}


class StatusReasonForm(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A reason, which is shown publicly."""

    reason: Annotated[str, msgspec.Meta(max_length=LONGEST_FIELD)]


@get(f"{NAME}/versions/{{version:str}}", **PAGE)
async def version(assay: Assay, requested_name: RequestedName, version: FromPath[str]) -> Template:
    """Render one version with its files, findings and status."""
    async with assay.store.snapshot() as db:
        detail = await read_version(db, requested_name, version)
    context = {
        "detail": detail,
        "skill": detail.skill,
        "release": detail.version,
        "scan": newest_scan(detail.scans, 1),
        "judgement": newest_scan(detail.scans, 2),
        "has_judge": assay.settings.llm_url is not None,
        "capabilities": capabilities_of(detail.scans),
        "commit_url": commit_url(detail.skill.repository, detail.version.commit, assay.settings.github_web_url),
    }
    return Template("versions/version.html", context=context)


@get(f"{NAME}/versions/{{version:str}}/files/{{path:path}}", **PAGE)
async def file(assay: Assay, requested_name: RequestedName, version: FromPath[str], path: FromPath[str]) -> Template:
    """Render one file as text."""
    listing, found, files = await find_files(assay, requested_name, version)
    chosen = file_at(files, path)
    text = text_of(await assay.blobs.read_file(found.content_digest, chosen.path))
    context = {
        "skill": listing,
        "release": found,
        "file": chosen,
        "files": files,
        "text": text[:SHOWN_CHARACTERS] if text is not None else None,
        "is_cut": text is not None and len(text) > SHOWN_CHARACTERS,
    }
    return Template("versions/file.html", context=context)


@get(f"{NAME}/compare", **PAGE)
async def compare(assay: Assay, requested_name: RequestedName, before: From, after: To = LATEST) -> Template:
    """Render the differences in files and capabilities between two versions."""
    pair, changes = await compare_two(assay, requested_name, before, after)
    async with assay.store.snapshot() as db:
        page = await read_versions(db, pair.skill.name, cursor=None, limit=CHOICES)
    context = {
        "skill": pair.skill,
        "pair": pair,
        "changes": changes,
        "versions": [each for each in page.versions if each.status.value != "withdrawn"],
        "compare_url": compare_url(pair, assay.settings.github_web_url),
    }
    return Template("versions/compare.html", context=context)


@post(f"{NAME}/unlist", **FORM)
async def unlist_form(
    assay: Assay, caller: CalledBy, requested_name: RequestedName, data: URLEncodedBody[StatusReasonForm]
) -> Redirect:
    """Unlist the skill, then redirect to its page."""
    return _page_of(await unlist_as(assay, caller, requested_name, data.reason))


@post(f"{NAME}/relist", **FORM)
async def relist_form(
    assay: Assay, caller: CalledBy, requested_name: RequestedName, data: URLEncodedBody[StatusReasonForm]
) -> Redirect:
    """Relist the skill, then redirect to its page."""
    reason = status_reason("relisted", data.reason, at=assay.clock.now(), by=caller.name)
    return _page_of(await relist_as(assay, caller, requested_name, reason.message))


def _page_of(listing: Skill) -> Redirect:
    return Redirect(f"/skills/{listing.name}", status_code=HTTP_303_SEE_OTHER)
