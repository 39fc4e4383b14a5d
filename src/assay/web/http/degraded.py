"""Which route is answered from the copy when the database is away, and how such an answer is sent."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import structlog
from litestar import Request, Response
from litestar.types import Receive, Scope, Send

from assay.edge.kv import EDGE_AWAY
from assay.model.errors import AssayError, Unavailable
from assay.store.database.database import AWAY
from assay.web.http.degraded_mark import HEADER
from assay.web.http.degraded_request import Asked
from assay.web.moderation import degraded as blocklist
from assay.web.queue import degraded as queue
from assay.web.skills import degraded as catalogue
from assay.web.skills import degraded_contents as contents
from assay.web.skills import degraded_stats as numbers

log = structlog.get_logger()
Answer = Callable[[Asked], Awaitable[Response[Any]]]
Refuse = Callable[[AssayError], Response[Any]]
# By the template of the path. Routes that are not here say 503: unknown is not zero, and not empty.
ANSWERS: Mapping[str, Answer] = {
    "/api/v1/skills": catalogue.list_skills,
    "/api/v1/skills/search": catalogue.search_skills,
    "/api/v1/skills/{owner}/{repo}/{skill}": catalogue.get_skill,
    "/api/v1/skills/{name}": catalogue.get_skill,
    "/api/v1/skills/{owner}/{repo}/{skill}/versions": catalogue.list_versions,
    "/api/v1/skills/{owner}/{repo}/{skill}/versions/{version}/download": contents.download,
    "/badge/{owner}/{repo}/{file}": contents.badge,
    "/api/v1/stats": numbers.catalogue_stats,
    "/api/v1/blocklist": blocklist.blocklist,
    "/api/v1/blocklist/check": blocklist.check,
    "/api/v1/submissions": queue.list_submissions,
    "/api/v1/submissions/stats": queue.count_submissions,
    "/api/v1/submissions/{submission_id}": queue.get_submission,
    "/": catalogue.home_page,
    "/skills": catalogue.skills_page,
    "/skills/{owner}/{repo}/{skill}": catalogue.skill_page,
    "/skills/{name}": catalogue.skill_page,
    "/queue": queue.queue_page,
    "/submissions/{submission_id}": queue.submission_page,
}


def answer_without_database(
    request: Request[Any, Any, Any], error: AssayError, refuse: Refuse
) -> "Response[Any] | None":
    """The answer from the copy, if this error is about the database and the route has one."""
    answer = ANSWERS.get(str(request.scope.get("path_template", "")))
    if error.code != AWAY or request.method != "GET" or answer is None:
        return None
    return _FromTheCopy(answer, refuse)


class _FromTheCopy(Response[None]):
    """An answer that is made while it is sent: those who turn errors into answers cannot wait, but sending can."""

    def __init__(self, answer: Answer, refuse: Refuse) -> None:
        super().__init__(None)
        self._answer, self._refuse = answer, refuse

    def to_asgi_response(self, app: Any, request: Request[Any, Any, Any], **_: Any) -> Any:
        """What the framework calls to send it."""

        async def send_it(scope: Scope, receive: Receive, send: Send) -> None:
            response = await self._made(request)
            await response.to_asgi_response(app=None, request=request)(scope, receive, send)

        return send_it

    async def _made(self, request: Request[Any, Any, Any]) -> Response[Any]:
        asked = Asked(request)
        try:
            try:
                return await self._answer(asked)
            except Unavailable as problem:
                if problem.code != EDGE_AWAY:
                    raise
                # The copy went away, too, after it had been read: there is one more source.
                asked.assay.copy.forget()
                return await self._answer(asked)
        except AssayError as problem:
            log.info("Refused without the database", path=request.url.path, problem=problem.message)
            refused = self._refuse(problem)
            refused.headers.setdefault(HEADER, "refused")
            return refused
