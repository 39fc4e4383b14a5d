"""An appeal: why the author thinks that a submission was refused wrongly, and what a reviewer answered."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

SHORTEST, LONGEST = 10, 4_000


class AppealStatus(StrEnum):
    """What has become of it."""

    OPEN = "open"
    GRANTED = "granted"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Appeal:
    """One for each content of a submission. The text is its author's, and as little to be trusted as the skill."""

    id: UUID
    submission_id: UUID
    content_digest: str
    text: str
    appellant: str
    created_at: datetime
    status: AppealStatus = AppealStatus.OPEN
    answer: str | None = None
    answered_by: str | None = None
    answered_at: datetime | None = None
