"""RSS: the newest skills, for readers of feeds."""

from email.utils import format_datetime
from xml.etree import ElementTree

from litestar import Response, get

from assay.model.skill import Skill
from assay.serve.skills.catalogue import read_first_published
from assay.web.http.access import PUBLIC
from assay.web.http.dependencies import Assay
from assay.web.http.signing import SIGNED

NEWEST = 50
RSS = "application/rss+xml; charset=utf-8"


@get("/feed.xml", opt=PUBLIC | SIGNED, include_in_schema=False)
async def feed(assay: Assay) -> Response[bytes]:
    """The skills that were listed last, newest first."""
    async with assay.store.snapshot() as db:
        skills = await read_first_published(db, NEWEST)
    return Response(_feed(skills, assay.settings.base_url), media_type=RSS)


def _feed(skills: list[Skill], base_url: str) -> bytes:
    root = ElementTree.Element("rss", version="2.0")
    channel = ElementTree.SubElement(root, "channel")
    _text(channel, "title", "New skills")
    _text(channel, "link", f"{base_url}/skills")
    _text(channel, "description", "Skills that were examined and listed, newest first.")
    for skill in skills:
        item = ElementTree.SubElement(channel, "item")
        _text(item, "title", skill.name)
        _text(item, "link", f"{base_url}/skills/{skill.name}")
        _text(item, "description", skill.description)
        _text(item, "category", skill.category)
        _text(item, "pubDate", format_datetime(skill.created_at))
        ElementTree.SubElement(item, "guid", isPermaLink="false").text = f"urn:uuid:{skill.id}"
    whole: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return whole


def _text(parent: ElementTree.Element, tag: str, text: str) -> None:
    """What XML has no way to write is left out."""
    ElementTree.SubElement(parent, tag).text = "".join(each for each in text if each.isprintable() or each == "\n")
