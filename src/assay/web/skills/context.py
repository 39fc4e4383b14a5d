"""The text of a skill and the template context of its page, from the database or from the edge copy."""

from asyncio import to_thread

import structlog
from markupsafe import Markup

from assay.accounts.name_policy import looks_alike
from assay.app.app import App
from assay.model.blocklist import Threat
from assay.model.errors import NotFound, Unavailable
from assay.scan.text.front_matter import read_front_matter
from assay.serve.skills.listing import Listing
from assay.serve.versions.skill_text import load_skill_text
from assay.web.findings.scans import capabilities_of, newest_scan
from assay.web.http.links import commit_url, repository_url
from assay.web.skills.json import ListingView, present_listing
from assay.web.skills.markdown import render_markdown

log = structlog.get_logger()


async def load_text(assay: App, listing: Listing) -> tuple[str, str] | None:
    """Return the SKILL.md of the live version and its SHA-256, or None if the blob store does not have it."""
    try:
        return await load_skill_text(assay.blobs, listing.skill.content_digest)
    except (NotFound, Unavailable) as error:
        log.warning("Showed a listing without its text", skill=listing.skill.name, error=error.message)
        return None


async def listing_view(assay: App, listing: Listing) -> ListingView:
    text = await load_text(assay, listing)
    settings = assay.settings
    return present_listing(
        listing,
        text,
        settings.github_web_url,
        assay.ruleset.version,
        is_trusted=settings.is_trusted(listing.skill.repository),
        looks_like=looks_alike(listing.skill.name, assay.popular_names.names),
    )


async def skill_context(assay: App, listing: Listing) -> dict[str, object]:
    skill, web_url = listing.skill, assay.settings.github_web_url
    text = await load_text(assay, listing)
    return {
        "listing": listing,
        "skill": skill,
        "scan": newest_scan(listing.scans, 1),
        "judgement": newest_scan(listing.scans, 2),
        "is_trusted": assay.settings.is_trusted(skill.repository),
        "looks_like": looks_alike(skill.name, assay.popular_names.names),
        "capabilities": capabilities_of(listing.scans),
        "repo_url": repository_url(skill.repository, web_url),
        "commit_url": commit_url(skill.repository, skill.commit, web_url),
        "instructions": await _render(text[0]) if text else None,
        "base_url": assay.settings.base_url,
        "has_judge": assay.settings.llm_url is not None,
        "threats": list(Threat),
    }


async def _render(text: str) -> Markup:
    """Render a SKILL.md in a thread, because hostile text can take seconds."""
    return await to_thread(render_markdown, read_front_matter(text.encode()).body)
