"""The page of one skill: how to get it, what was found, what it says, how it came to be."""

from asyncio import to_thread
from typing import Any

from litestar import get
from litestar.params import FromPath
from litestar.response import Redirect, Template
from litestar.status_codes import HTTP_301_MOVED_PERMANENTLY

from assay.accounts.permissions import owns_listing
from assay.app.app import App
from assay.model.account import Caller
from assay.model.blocklist import Threat
from assay.model.capability import Capabilities
from assay.model.scan import Scan
from assay.scan.text.front_matter import read_front_matter
from assay.serve.skills.listing import Listing, read_listing
from assay.web.http.access import PUBLIC
from assay.web.http.dependencies import Assay, CalledBy
from assay.web.http.present import commit_url, repository_url
from assay.web.skills.listing import read_text
from assay.web.skills.markdown import render_markdown

Answer = Template | Redirect


@get("/skills/{owner:str}/{repo:str}/{skill:str}", opt=PUBLIC, include_in_schema=False)
async def skill(
    assay: Assay, caller: CalledBy, owner: FromPath[str], repo: FromPath[str], skill: FromPath[str]
) -> Answer:
    """One skill: what it says, what was found, what can be checked."""
    return await _page(assay, caller, f"{owner}/{repo}/{skill}")


@get("/skills/{name:str}", opt=PUBLIC, include_in_schema=False)
async def skill_by_name(assay: Assay, caller: CalledBy, name: FromPath[str]) -> Answer:
    """The page of the one skill of this name; a page of choices if there are several."""
    return await _page(assay, caller, name)


def scan_of(scans: list[Scan], tier: int) -> Scan | None:
    """The newest scan of a tier."""
    return next((scan for scan in scans if scan.tier == tier), None)


def capabilities_of(scans: list[Scan]) -> Capabilities:
    """What the last static scan saw the skill reach for; others look for other things."""
    return next((scan.report.capabilities for scan in scans if scan.tier == 1), Capabilities())


async def rendered(text: str) -> Any:
    """A SKILL.md as HTML. In a thread, because a hostile text takes seconds, which other readers need not wait for."""
    return await to_thread(render_markdown, read_front_matter(text.encode()).body)


async def _page(assay: App, caller: Caller, wanted: str) -> Answer:
    async with assay.store.snapshot() as db:
        listing = await read_listing(db, wanted)
        is_owner = await owns_listing(db, caller, listing.skill)
    found = listing.skill
    if found.name != wanted.lower():
        return Redirect(f"/skills/{found.name}", status_code=HTTP_301_MOVED_PERMANENTLY)
    return Template("skills/skill.html", context={**await skill_context(assay, listing), "is_owner": is_owner})


async def skill_context(assay: App, listing: Listing) -> dict[str, object]:
    """What the page of a listing shows, whether it comes from the database or from its copy."""
    found = listing.skill
    text = await read_text(assay, listing)
    return {
        "listing": listing,
        "skill": found,
        "scan": scan_of(listing.scans, 1),
        "judgement": scan_of(listing.scans, 2),
        "is_trusted": assay.settings.is_trusted(found.repository),
        "capabilities": capabilities_of(listing.scans),
        "repo_url": repository_url(found.repository, assay.settings.github_web_url),
        "commit_url": commit_url(found.repository, found.commit, assay.settings.github_web_url),
        "instructions": await rendered(text[0]) if text else None,
        "base_url": assay.settings.base_url,
        "has_judge": assay.settings.llm_url is not None,
        "threats": list(Threat),
    }
