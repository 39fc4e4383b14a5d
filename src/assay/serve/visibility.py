"""Decides which listings may be shown: the one filter for API, pages and clients.

Live listings are shown to everyone. A private listing, once there are any, would be hidden here from callers who may
not act for its namespace.
"""

from collections.abc import Collection

from assay.model.errors import Gone
from assay.model.skill import ListingStatus, Skill

LIVE_ONLY = frozenset({ListingStatus.LIVE})
# A version of a withdrawn listing can still be read by its exact number, unless it was withdrawn itself.
WITH_WITHDRAWN = LIVE_ONLY | {ListingStatus.WITHDRAWN}


def require_visible(listing: Skill, shown: Collection[ListingStatus] = LIVE_ONLY) -> None:
    """Raise Gone with the reason unless the listing has one of these statuses."""
    if listing.standing in shown:
        return
    reason = listing.remark
    details = {"reason": reason.message, "since": reason.at} if reason else {}
    why = reason.message if reason else "no reason was recorded"
    raise Gone(f"{listing.name} is {listing.standing}: {why}", code=f"skill_{listing.standing}", **details)
