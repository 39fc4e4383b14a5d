"""The one table from an error's kind to a status and a body."""

import math
from collections.abc import Mapping
from http import HTTPStatus
from types import MappingProxyType
from typing import Any

import structlog
from litestar import Request, Response
from litestar.exceptions import HTTPException, ValidationException
from litestar.response import Template
from litestar.status_codes import HTTP_500_INTERNAL_SERVER_ERROR

from assay.model.errors import (
    Ambiguous,
    AssayError,
    Conflict,
    Forbidden,
    Gone,
    Invalid,
    NoSkill,
    NotFound,
    RateLimited,
    Throttled,
    Unauthenticated,
    Unavailable,
)
from assay.web.http.degraded import answer_without_database
from assay.web.http.parameters import query_names
from assay.web.http.problem import PROBLEM
from assay.web.http.reader import wants_page
from assay.web.http.redirects import LAPSED, ask_to_sign_in

log = structlog.get_logger()
STATUS: dict[type[AssayError], int] = {
    NoSkill: 422,
    Invalid: 400,
    Unauthenticated: 401,
    Forbidden: 403,
    NotFound: 404,
    Gone: 410,
    Ambiguous: 300,
    Conflict: 409,
    Throttled: 429,
    RateLimited: 503,
    Unavailable: 503,
}


def on_assay_error(request: Request[Any, Any, Any], error: AssayError) -> Response[Any]:
    """An error that the caller can understand."""
    if isinstance(error, Unauthenticated) and wants_page(request):
        return ask_to_sign_in(request, lapsed=error.code == LAPSED)
    degraded = answer_without_database(request, error, lambda problem: _refuse(request, problem))
    return degraded or _refuse(request, error)


def _refuse(request: Request[Any, Any, Any], error: AssayError) -> Response[Any]:
    if isinstance(error, Unavailable):
        log.warning("Answered 503", path=request.url.path, problem=error.message)
    return _answer(request, status_of(error), error.code, error.message, headers_of(error), _more(error))


def status_of(error: AssayError) -> int:
    """The status of an error of this kind."""
    return next(status for kind, status in STATUS.items() if isinstance(error, kind))


def headers_of(error: AssayError) -> dict[str, str]:
    """What a client should know besides the body: how to prove who it is, or when to ask again."""
    match error:
        case Unauthenticated():
            return {"WWW-Authenticate": 'Session realm="assay", Bearer realm="assay"'}
        case Throttled() | Unavailable():
            return {"Retry-After": str(max(1, math.ceil(error.retry_after_seconds)))}
        case _:
            return {}


def _more(error: AssayError) -> dict[str, object]:
    """What a program should know besides the code."""
    match error:
        case Ambiguous():
            return {"choices": list(error.choices)}
        case Gone():
            return {"reason": error.details.get("reason"), "since": error.details.get("since")}
        case _:
            return {}


def on_http_error(request: Request[Any, Any, Any], error: HTTPException) -> Response[Any]:
    """An error of the framework: a route that is not there, a body that is not what was declared."""
    code = HTTPStatus(error.status_code).phrase.lower().replace(" ", "_")
    return _answer(request, error.status_code, code, _told(request, error), dict(error.headers or {}))


def on_bug(request: Request[Any, Any, Any], error: Exception) -> Response[Any]:
    """Anything else is our mistake: logged here, and told without details."""
    log.error("A bug stopped a request", path=request.url.path, exc_info=error)
    return _answer(request, HTTP_500_INTERNAL_SERVER_ERROR, "internal_error", "Assay failed; this is our mistake.", {})


def _told(request: Request[Any, Any, Any], error: HTTPException) -> str:
    """What is wrong, in a sentence that names the thing."""
    if isinstance(error, ValidationException) and isinstance(error.extra, list) and error.extra:
        names = {**query_names(request.route_handler), "data": "body"}
        places = [(each.get("key", ""), each["message"]) for each in error.extra]
        return "; ".join(f"{names.get(key, key)}: {message}".lstrip(": ") for key, message in places)
    match error.status_code:
        case HTTPStatus.NOT_FOUND:
            return f"There is nothing at {request.url.path}."
        case HTTPStatus.METHOD_NOT_ALLOWED:
            return f"{request.method} is not possible at {request.url.path}."
        case HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
            return f"The body may have at most {request.route_handler.resolve_request_max_body_size():,} bytes."
        case _:
            return error.detail


def _answer(
    request: Request[Any, Any, Any],
    status: int,
    code: str,
    detail: str,
    headers: dict[str, str],
    more: Mapping[str, object] = MappingProxyType({}),
) -> Response[Any]:
    title = HTTPStatus(status).phrase
    if wants_page(request):
        context = {"status": status, "code": code, "title": title, "detail": detail}
        context["choices"] = more.get("choices", ())
        return Template("error.html", context=context, status_code=status, headers=headers)
    body = {"type": "about:blank", "title": title, "status": status, "code": code, "detail": detail, **more}
    return Response(body, status_code=status, headers=headers, media_type=PROBLEM)
