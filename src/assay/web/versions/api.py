"""The versions of a skill: list them, look at one, compare two."""

from asyncio import to_thread
from typing import Annotated

from litestar import Response, get
from litestar.params import FromPath, QueryParameter

from assay.app.app import App
from assay.serve.versions.compare import FileChange, Pair, compare_sources, read_pair
from assay.serve.versions.skill_text import load_skill_text
from assay.serve.versions.versions import LATEST, read_version, read_versions
from assay.web.http.dependencies import Assay
from assay.web.http.problems import problems
from assay.web.versions.json import CompareView, DiffView, VersionDetailView, VersionsView
from assay.web.versions.naming import answered, wanted_name
from assay.web.versions.present import present_comparison, present_diff, present_version, present_versions

REFUSALS = problems(300, 400, 404, 410, 503)
NAME = "/{owner:str}/{repo:str}/{skill:str}"
From = Annotated[
    str, QueryParameter(name="from", max_length=100, description="The older version: a number, a tag or `latest`.")
]
To = Annotated[str, QueryParameter(name="to", max_length=100, description="The newer version; `latest` unless given.")]


@get(f"{NAME}/versions", summary="List the versions of a skill", responses=REFUSALS)
async def list_versions(
    assay: Assay,
    owner: FromPath[str],
    repo: FromPath[str],
    skill: FromPath[str],
    cursor: Annotated[
        str | None, QueryParameter(max_length=200, description="`nextCursor` of the page before.")
    ] = None,
    limit: Annotated[int, QueryParameter(ge=1, le=100, description="Versions on a page.")] = 100,
) -> Response[VersionsView]:
    """Newest first, those that were taken back included, with the reason."""
    wanted = wanted_name(owner, repo, skill)
    async with assay.store.snapshot() as db:
        page = await read_versions(db, wanted, cursor=cursor, limit=limit)
    return answered(present_versions(page), wanted, page.skill, "/versions")


@get(f"{NAME}/versions/{{version:str}}", summary="One version of a skill", responses=REFUSALS)
async def get_version(
    assay: Assay, owner: FromPath[str], repo: FromPath[str], skill: FromPath[str], version: FromPath[str]
) -> Response[VersionDetailView]:
    """By its number, a tag, or `latest`. A yanked version is given by its number only, a withdrawn one not at all."""
    wanted = wanted_name(owner, repo, skill)
    async with assay.store.snapshot() as db:
        detail = await read_version(db, wanted, version)
    text = await load_skill_text(assay.blobs, detail.version.content_digest)
    return answered(
        present_version(detail, text, assay.ruleset.version),
        wanted,
        detail.skill,
        f"/versions/{detail.version.version}",
    )


@get(f"{NAME}/versions/diff", summary="Two versions as one text", responses=REFUSALS)
async def diff_versions(
    assay: Assay, owner: FromPath[str], repo: FromPath[str], skill: FromPath[str], before: From, after: To = LATEST
) -> Response[DiffView]:
    """What changed, in the form of `git diff`; what is binary or very large is named only."""
    wanted = wanted_name(owner, repo, skill)
    pair, changes = await compare(assay, wanted, before, after)
    return answered(present_diff(pair, changes), wanted, pair.skill, "/versions/diff")


@get(f"{NAME}/versions/compare", summary="Two versions, file by file", responses=REFUSALS)
async def compare_versions(
    assay: Assay, owner: FromPath[str], repo: FromPath[str], skill: FromPath[str], before: From, after: To = LATEST
) -> Response[CompareView]:
    """Which files differ and how, and which hosts, programs, variables, files and tools are new or gone."""
    wanted = wanted_name(owner, repo, skill)
    pair, changes = await compare(assay, wanted, before, after)
    view = present_comparison(pair, changes, assay.settings.github_web_url)
    return answered(view, wanted, pair.skill, "/versions/compare")


async def compare(assay: App, wanted: str, before: str, after: str) -> tuple[Pair, list[FileChange]]:
    """Two versions and the files that differ."""
    async with assay.store.snapshot() as db:
        pair = await read_pair(db, wanted, before, after)
    if pair.before.content_digest == pair.after.content_digest:
        return pair, []
    old = await assay.blobs.load(pair.before.content_digest)
    new = await assay.blobs.load(pair.after.content_digest)
    # In a thread: it takes up to seconds for hostile texts, and others need not wait.
    return pair, await to_thread(compare_sources, old, new)
