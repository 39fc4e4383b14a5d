"""The queue page while the database is down."""

from litestar.response import Template

from assay.web.http.degraded import DegradedRequest
from assay.web.submissions.degraded import HEEDED, find_active, mark_submissions
from assay.web.submissions.query import QueuePageParameters


async def queue_page(request: DegradedRequest) -> Template:
    """Render the active submissions that the edge copy has."""
    submissions, total = await find_active(request, QueuePageParameters)
    mark = await mark_submissions(request, *HEEDED)
    return mark.page("queue/degraded.html", {"submissions": submissions, "total": total})
