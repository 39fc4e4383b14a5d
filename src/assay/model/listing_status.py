"""Standing: whether a listing and its versions are there to be used, and if not, why."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class Standing(StrEnum):
    """Where a listing stands. Only what is live is listed, found and counted."""

    LIVE = "live"
    # Its owner took it down.
    UNLISTED = "unlisted"
    # No version of it is left that may be used.
    WITHDRAWN = "withdrawn"
    # It is on the blocklist.
    BLOCKED = "blocked"
    # Its source is gone.
    GONE = "gone"


class VersionStatus(StrEnum):
    """Where a version stands. A yanked one is given to whoever asks for exactly it; a withdrawn one to nobody."""

    LIVE = "live"
    YANKED = "yanked"
    WITHDRAWN = "withdrawn"


@dataclass(frozen=True, slots=True)
class Remark:
    """Why something is no longer as it was: a slug for programs, a sentence for people."""

    code: str
    message: str
    at: datetime
    by: str
