"""Badges: one line about a skill for other pages, as an SVG image or as JSON for shields.io."""

from dataclasses import dataclass
from typing import Any
from xml.sax.saxutils import escape

import msgspec
from litestar import Request, Response

from assay.model.errors import NotFound
from assay.model.skill import ListingStatus, Skill, Tier
from assay.model.source import digest_of
from assay.web.http.headers import etag_of, is_cached, not_modified
from assay.web.http.json import View

LABEL = "assay"
COLOURS = {"brightgreen": "#3c8d2f", "green": "#2f7d57", "blue": "#2b6aa3", "red": "#b3362c", "lightgrey": "#767676"}
TIERS = {Tier.SCANNED: "blue", Tier.VERIFIED: "green", Tier.CERTIFIED: "brightgreen"}
CHARACTER_WIDTH, PADDING = 7, 7
SVG, JSON = "image/svg+xml", "application/json"
CACHE_CONTROL = "public, max-age=300"
INERT = "default-src 'none'; style-src 'unsafe-inline'; sandbox"


class BadgeView(View, frozen=True):
    """The schema of shields.io endpoint badges."""

    schema_version: int
    label: str
    message: str
    color: str
    is_error: bool


@dataclass(frozen=True, slots=True)
class Badge:
    """The text of a badge and its colour."""

    message: str
    color: str
    is_error: bool = False


def badge_of(skill: Skill) -> Badge:
    """Return tier, version and score of a live listing, or the status of another one."""
    status = skill.standing
    if status is not ListingStatus.LIVE:
        return Badge(status.value, "red" if status is ListingStatus.BLOCKED else "lightgrey", is_error=True)
    return Badge(f"{skill.tier.lower()} {skill.current_version} · {skill.score}", TIERS[skill.tier])


def parse_file_name(file: str) -> tuple[str, str]:
    """Split `name.svg` or `name.json` into name and format; raise NotFound for another ending."""
    slug, _, kind = file.rpartition(".")
    if kind not in ("svg", "json"):
        raise NotFound("The address of a badge ends in .svg or .json.", code="badge_not_found")
    return slug, kind


def answer_badge(request: Request[Any, Any, Any], badge: Badge, kind: str) -> Response[Any]:
    """Return the badge, or 304 if the client has it."""
    view = BadgeView.of(badge, schema_version=1, label=LABEL)
    content = draw(badge).encode() if kind == "svg" else msgspec.json.encode(view)
    headers = {"ETag": etag_of(digest_of(content)), "Cache-Control": CACHE_CONTROL, "Content-Security-Policy": INERT}
    if is_cached(request.headers, headers["ETag"]):
        return not_modified(headers)
    return Response(content, media_type=SVG if kind == "svg" else JSON, headers=headers)


def draw(badge: Badge) -> str:
    """Return an SVG image without scripts, fonts or links."""
    left, right = (2 * PADDING + CHARACTER_WIDTH * len(text) for text in (LABEL, badge.message))
    title = escape(f"{LABEL}: {badge.message}", {'"': "&quot;"})
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="20" role="img" aria-label="{title}">'
        f"<title>{title}</title>"
        f'<clipPath id="r"><rect width="{left + right}" height="20" rx="3"/></clipPath>'
        f'<g clip-path="url(#r)"><rect width="{left}" height="20" fill="#4a4a4a"/>'
        f'<rect x="{left}" width="{right}" height="20" fill="{COLOURS[badge.color]}"/></g>'
        '<g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">'
        f'<text x="{left / 2}" y="14" textLength="{left - 2 * PADDING}">{LABEL}</text>'
        f'<text x="{left + right / 2}" y="14" textLength="{right - 2 * PADDING}">{escape(badge.message)}</text>'
        "</g></svg>"
    )
