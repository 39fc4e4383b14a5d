"""A review: what a person has decided about exactly these bytes of a submission, and why."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from assay.model.finding import Finding, Report


class Ruling(StrEnum):
    """What the reviewer said."""

    APPROVED = "approved"
    REJECTED = "rejected"


@dataclass(frozen=True, slots=True)
class Review:
    """One decision. It holds for these bytes, and for the findings that the reviewer has seen in them."""

    ruling: Ruling
    reason: str
    reviewer: str
    content_digest: str
    seen: frozenset[str]
    at: datetime

    def covers(self, report: Report) -> bool:
        """Whether nothing is known of the bytes that the reviewer did not know."""
        return self.content_digest == report.digest and all(seen_as(each) in self.seen for each in report.findings)


def seen_as(finding: Finding) -> str:
    """A finding as a reviewer remembers it: which rule, in which file."""
    return f"{finding.rule_id} {finding.file}"
