"""`/api/v1/account/sessions`: the browsers in which the caller is signed in."""

from typing import Any
from uuid import UUID

from litestar import Request, delete, get
from litestar.params import FromPath
from litestar.status_codes import HTTP_200_OK

from assay.accounts.sessions import revoke_own_session
from assay.model.errors import NotFound
from assay.store.people.sessions import list_sessions
from assay.web.http.access import PUBLISHING
from assay.web.http.caller import session_of
from assay.web.http.context import Assay, CalledBy
from assay.web.http.errors import problems
from assay.web.people.json import OkView, SessionsView, SessionView

MAX_SESSIONS = 100


@get("/sessions", summary="List my sessions", responses=problems(400, 401, 403, 503))
async def list_my_sessions(assay: Assay, caller: CalledBy, request: Request[Any, Any, Any]) -> SessionsView:
    """List the browsers in which you are signed in, the last used first; at most 100."""
    if caller.account_id is None:
        return SessionsView(sessions=[])
    session = None if caller.by_token else session_of(request)
    current = session.sid if session else None
    async with assay.store.snapshot() as db:
        found = await list_sessions(db, caller.account_id, assay.clock.now(), MAX_SESSIONS)
    return SessionsView(sessions=[SessionView.of(each, is_current=each.id == current) for each in found])


@delete(
    "/sessions/{session_id:str}",
    summary="End a session",
    opt=PUBLISHING,
    status_code=HTTP_200_OK,
    responses=problems(400, 401, 403, 404, 503),
)
async def revoke_my_session(assay: Assay, caller: CalledBy, session_id: FromPath[UUID]) -> OkView:
    """Sign out one browser. Its cookies can no longer be used for anything that needs an account."""
    if caller.account_id is None:
        raise NotFound("The internal key of the registry has no sessions.", code="session_not_found")
    async with assay.store.begin() as db:
        await revoke_own_session(db, caller.account_id, caller.name, session_id, assay.clock.now())
    return OkView()
