"""RSS feed of the newest skills."""

from email.utils import format_datetime
from xml.etree import ElementTree

from litestar import Response, get

from assay.model.skill import Skill
from assay.store.skills.skills import list_recently_listed
from assay.web.http.access import PUBLIC
from assay.web.http.context import Assay
from assay.web.http.signing import SIGNED

NEWEST = 50
RSS = "application/rss+xml; charset=utf-8"


@get("/feed.xml", opt=PUBLIC | SIGNED, include_in_schema=False)
async def feed(assay: Assay) -> Response[bytes]:
    """Return the most recently listed skills, newest first."""
    async with assay.store.snapshot() as db:
        skills = await list_recently_listed(db, NEWEST)
    return Response(_feed(skills, assay.settings.base_url), media_type=RSS)


def _feed(skills: list[Skill], base_url: str) -> bytes:
    root = ElementTree.Element("rss", version="2.0")
    channel = ElementTree.SubElement(root, "channel")
    _text(channel, "title", "New skills")
    _text(channel, "link", f"{base_url}/skills")
    _text(channel, "description", "Newly listed skills, newest first.")
    for skill in skills:
        item = ElementTree.SubElement(channel, "item")
        _text(item, "title", skill.name)
        _text(item, "link", f"{base_url}/skills/{skill.name}")
        _text(item, "description", skill.description)
        _text(item, "category", skill.category)
        _text(item, "pubDate", format_datetime(skill.created_at))
        ElementTree.SubElement(item, "guid", isPermaLink="false").text = f"urn:uuid:{skill.id}"
    document: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return document


def _text(parent: ElementTree.Element, tag: str, text: str) -> None:
    """Add an element, without the characters that XML cannot represent."""
    ElementTree.SubElement(parent, tag).text = "".join(each for each in text if each.isprintable() or each == "\n")
