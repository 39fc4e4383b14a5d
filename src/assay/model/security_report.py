"""A security report: what somebody thinks is wrong with a listing, and what came of it."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from assay.model.blocklist import Threat

SHORTEST, LONGEST = 10, 4_000


class ReportOutcome(StrEnum):
    """What came of it."""

    DISMISSED = "dismissed"
    WITHDRAWN = "withdrawn"
    BLOCKED = "blocked"


@dataclass(frozen=True, slots=True)
class SecurityReport:
    """One report. Who sent it is for administrators only; its id is the receipt of whoever did."""

    id: UUID
    skill_id: UUID
    skill_name: str
    version: str
    content_digest: str
    category: Threat
    text: str
    reporter: str | None
    created_at: datetime
    outcome: ReportOutcome | None = None
    answer: str | None = None
    answered_by: str | None = None
    answered_at: datetime | None = None
