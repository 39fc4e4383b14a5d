"""Versions of a skill: list them, get one, compare two."""

from asyncio import to_thread
from typing import Annotated

from litestar import Response, get
from litestar.params import FromPath, QueryParameter

from assay.app.app import App
from assay.serve.versions.compare import FileChange, Pair, compare_sources, read_pair
from assay.serve.versions.skill_text import load_skill_text
from assay.serve.versions.versions import LATEST, read_version, read_versions
from assay.web.http.context import Assay, RequestedName
from assay.web.http.degraded import degraded
from assay.web.http.errors import problems
from assay.web.versions import degraded as without_database
from assay.web.versions.json import (
    CompareView,
    DiffView,
    VersionDetailView,
    VersionsView,
    present_comparison,
    present_diff,
    present_version,
    present_versions,
)
from assay.web.versions.naming import located

PROBLEMS = problems(300, 400, 404, 410, 503)
NAME = "/{owner:str}/{repo:str}/{skill:str}"
From = Annotated[
    str,
    QueryParameter(
        name="from", max_length=100, description="The older version: a number such as `1.0.0`, a tag, or `latest`."
    ),
]
To = Annotated[
    str,
    QueryParameter(name="to", max_length=100, description="The newer version: a number, a tag, or `latest`."),
]


@get(
    f"{NAME}/versions",
    summary="List the versions of a skill",
    opt=degraded(without_database.list_versions),
    responses=PROBLEMS,
)
async def list_versions(
    assay: Assay,
    requested_name: RequestedName,
    cursor: Annotated[
        str | None, QueryParameter(max_length=200, description="`nextCursor` of the previous page.")
    ] = None,
    limit: Annotated[int, QueryParameter(ge=1, le=100, description="Versions per page.")] = 100,
) -> Response[VersionsView]:
    """List the versions, newest first. Yanked and withdrawn versions are included, with the reason."""
    async with assay.store.snapshot() as db:
        page = await read_versions(db, requested_name, cursor=cursor, limit=limit)
    return located(present_versions(page), requested_name, page.skill, "/versions")


@get(f"{NAME}/versions/{{version:str}}", summary="Get a version of a skill", responses=PROBLEMS)
async def get_version(
    assay: Assay, requested_name: RequestedName, version: FromPath[str]
) -> Response[VersionDetailView]:
    """Return a version by its number, a tag, or `latest`.

    A yanked version is returned only for its exact number. A withdrawn version is answered with 410.
    """
    async with assay.store.snapshot() as db:
        detail = await read_version(db, requested_name, version)
    text = await load_skill_text(assay.blobs, detail.version.content_digest)
    view = present_version(detail, text, assay.ruleset.version)
    return located(view, requested_name, detail.skill, f"/versions/{detail.version.version}")


@get(f"{NAME}/versions/diff", summary="Get the diff of two versions", responses=PROBLEMS)
async def diff_versions(
    assay: Assay, requested_name: RequestedName, before: From, after: To = LATEST
) -> Response[DiffView]:
    """Return the differences in the format of `git diff`. Binary and very large files are named without their lines."""
    pair, changes = await compare(assay, requested_name, before, after)
    return located(present_diff(pair, changes), requested_name, pair.skill, "/versions/diff")


@get(f"{NAME}/versions/compare", summary="Compare two versions file by file", responses=PROBLEMS)
async def compare_versions(
    assay: Assay, requested_name: RequestedName, before: From, after: To = LATEST
) -> Response[CompareView]:
    """Return the files that differ, and the hosts, programs, variables, files and tools that were added or removed."""
    pair, changes = await compare(assay, requested_name, before, after)
    view = present_comparison(pair, changes, assay.settings.github_web_url)
    return located(view, requested_name, pair.skill, "/versions/compare")


async def compare(assay: App, name: str, before: str, after: str) -> tuple[Pair, list[FileChange]]:
    """Return two versions and the files that differ."""
    async with assay.store.snapshot() as db:
        pair = await read_pair(db, name, before, after)
    if pair.before.content_digest == pair.after.content_digest:
        return pair, []
    old = await assay.blobs.load(pair.before.content_digest)
    new = await assay.blobs.load(pair.after.content_digest)
    # In a thread, because hostile texts can take seconds.
    return pair, await to_thread(compare_sources, old, new)
