"""One skill, by its full name, an old name of it, or the last part of its name alone."""

import structlog
from litestar import Response, get
from litestar.params import FromPath

from assay.app.app import App
from assay.model.errors import NotFound, Unavailable
from assay.serve.skills.listing import Listing, read_listing
from assay.serve.versions.skill_text import load_skill_text
from assay.web.http.dependencies import Assay
from assay.web.http.problems import problems
from assay.web.versions.json import ListingView
from assay.web.versions.naming import answered, wanted_name
from assay.web.versions.present import present_listing

log = structlog.get_logger()
REFUSALS = problems(300, 400, 404, 410, 503)


@get("/{owner:str}/{repo:str}/{skill:str}", summary="One skill", responses=REFUSALS)
async def get_skill(
    assay: Assay, owner: FromPath[str], repo: FromPath[str], skill: FromPath[str]
) -> Response[ListingView]:
    """The listing with its versions, tags, hallmarks, files and findings; an old name leads to it, too."""
    return await _answer(assay, wanted_name(owner, repo, skill))


@get("/{name:str}", summary="One skill, by the last part of its name", responses=REFUSALS)
async def get_skill_by_name(assay: Assay, name: FromPath[str]) -> Response[ListingView]:
    """The same for a name without its repository: 300 with `choices` if several skills have it."""
    return await _answer(assay, name)


async def read_text(assay: App, listing: Listing) -> tuple[str, str] | None:
    """The SKILL.md of the live version and its hash; None if its bytes cannot be had: the rest still stands."""
    try:
        return await load_skill_text(assay.blobs, listing.skill.content_digest)
    except (NotFound, Unavailable) as problem:
        log.warning("A listing is shown without its text", skill=listing.skill.name, problem=problem.message)
        return None


async def _answer(assay: App, wanted: str) -> Response[ListingView]:
    async with assay.store.snapshot() as db:
        listing = await read_listing(db, wanted)
    settings = assay.settings
    is_trusted = settings.is_trusted(listing.skill.repository)
    text = await read_text(assay, listing)
    view = present_listing(listing, text, settings.github_web_url, assay.ruleset.version, is_trusted=is_trusted)
    return answered(view, wanted, listing.skill)
