"""The JSON of a reviewer's yes, for everybody: why and when, and not by whom."""

from datetime import datetime

from assay.model.review import Review
from assay.model.verdict import Path
from assay.web.http.json import View


class ApprovalView(View, frozen=True):
    """A person has approved exactly these bytes, whatever the scans say."""

    path: Path
    reason: str
    at: datetime


def present_approval(review: Review | None) -> ApprovalView | None:
    """The approval of a version, if there is one."""
    return ApprovalView(path=Path.REVIEWED, reason=review.reason, at=review.at) if review else None
