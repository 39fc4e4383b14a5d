"""A badge: one line about a skill, for other people's pages."""

from dataclasses import dataclass
from xml.sax.saxutils import escape

from assay.model.listing_status import Standing
from assay.model.skill import Skill, Tier

LABEL = "assay"
COLOURS = {"brightgreen": "#3c8d2f", "green": "#2f7d57", "blue": "#2b6aa3", "red": "#b3362c", "lightgrey": "#767676"}
TIERS = {Tier.SCANNED: "blue", Tier.VERIFIED: "green", Tier.CERTIFIED: "brightgreen"}
CHARACTER, SIDE = 7, 7


@dataclass(frozen=True, slots=True)
class Badge:
    """What it says, and the colour of what it says."""

    message: str
    colour: str
    is_error: bool = False


def badge_of(skill: Skill) -> Badge:
    """Tier, version and score of a live listing; of another one, where it stands."""
    if skill.standing is not Standing.LIVE:
        return Badge(skill.standing.value, "red" if skill.standing is Standing.BLOCKED else "lightgrey", is_error=True)
    return Badge(f"{skill.tier.lower()} {skill.current_version} · {skill.score}", TIERS[skill.tier])


def draw(badge: Badge) -> str:
    """The badge as an SVG image without scripts, fonts or links."""
    left, right = (2 * SIDE + CHARACTER * len(text) for text in (LABEL, badge.message))
    said = escape(f"{LABEL}: {badge.message}", {'"': "&quot;"})
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="20" role="img" aria-label="{said}">'
        f"<title>{said}</title>"
        f'<clipPath id="r"><rect width="{left + right}" height="20" rx="3"/></clipPath>'
        f'<g clip-path="url(#r)"><rect width="{left}" height="20" fill="#4a4a4a"/>'
        f'<rect x="{left}" width="{right}" height="20" fill="{COLOURS[badge.colour]}"/></g>'
        '<g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">'
        f'<text x="{left / 2}" y="14" textLength="{left - 2 * SIDE}">{LABEL}</text>'
        f'<text x="{left + right / 2}" y="14" textLength="{right - 2 * SIDE}">{escape(badge.message)}</text></g></svg>'
    )
