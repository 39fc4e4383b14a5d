"""Errors as responses: the one table from error to status, problem bodies (RFC 9457), and their documentation."""

import math
from collections.abc import Mapping
from http import HTTPStatus
from types import MappingProxyType
from typing import Any

import structlog
from litestar import Request, Response
from litestar.exceptions import HTTPException, ValidationException
from litestar.openapi.datastructures import ResponseSpec
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
    QuotaExceeded,
    RateLimited,
    Throttled,
    Unauthenticated,
    Unavailable,
)
from assay.web.http.access import INSUFFICIENT_SCOPE
from assay.web.http.degraded import answer_without_database
from assay.web.http.headers import rate_limit_headers
from assay.web.http.json import ChoicesView, GoneProblemView, ProblemView
from assay.web.http.parameters import query_names
from assay.web.http.redirects import SESSION_EXPIRED, ask_to_sign_in, wants_page

log = structlog.get_logger()
PROBLEM = "application/problem+json"
STATUS: dict[type[AssayError], int] = {
    NoSkill: 422,
    Invalid: 400,
    Unauthenticated: 401,
    Forbidden: 403,
    NotFound: 404,
    Gone: 410,
    Ambiguous: 300,
    Conflict: 409,
    QuotaExceeded: 413,
    Throttled: 429,
    RateLimited: 503,
    Unavailable: 503,
}
DESCRIPTIONS = {
    300: "The name is ambiguous; `choices` lists the full names of the matching skills.",
    400: "The request is invalid; `detail` names the parameter or field.",
    401: "Authentication is required: sign in, or send the internal key or a token.",
    403: "The caller is not allowed to do this, or the token lacks the scope.",
    404: "Not found.",
    409: "The request conflicts with the current state; `detail` says how.",
    410: "The listing or version was removed; `reason` says why.",
    413: "The body is too large, or a quota of bytes is used up.",
    415: "The body has a media type that this route does not read.",
    422: "The repository has no skill that can be submitted.",
    429: "Too many requests; retry after `Retry-After` seconds.",
    503: "The database or the blob store is unavailable; retry after `Retry-After` seconds.",
}
BODIES: Mapping[int, type[ProblemView]] = {300: ChoicesView, 410: GoneProblemView}


def problems(*statuses: int) -> Mapping[int, ResponseSpec]:
    """Document the problem bodies with which a route may respond."""
    return {
        status: response_spec(BODIES.get(status, ProblemView), DESCRIPTIONS[status], PROBLEM) for status in statuses
    }


def response_spec(view: type, description: str, media_type: str = "application/json") -> ResponseSpec:
    """Document a response other than the default one of a route."""
    return ResponseSpec(view, generate_examples=False, description=description, media_type=media_type)


def on_assay_error(request: Request[Any, Any, Any], error: AssayError) -> Response[Any]:
    """Redirect pages to sign-in, answer from the edge copy if the database is down, or send a problem body."""
    if isinstance(error, Unauthenticated) and wants_page(request):
        return ask_to_sign_in(request, is_refreshable=error.code == SESSION_EXPIRED)
    return answer_without_database(request, error, lambda refusal: _refuse(request, refusal)) or _refuse(request, error)


def on_http_error(request: Request[Any, Any, Any], error: HTTPException) -> Response[Any]:
    """Answer an error raised by Litestar, such as an unknown route or an invalid parameter."""
    code = HTTPStatus(error.status_code).phrase.lower().replace(" ", "_")
    return _answer(request, error.status_code, code, _detail(request, error), dict(error.headers or {}))


def on_unexpected_error(request: Request[Any, Any, Any], error: Exception) -> Response[Any]:
    """Log an unexpected error and answer 500 without details."""
    log.error("Request failed unexpectedly", path=request.url.path, exc_info=error)
    return _answer(
        request,
        HTTP_500_INTERNAL_SERVER_ERROR,
        "internal_error",
        "Assay failed to process this request. The error was logged.",
        {},
    )


def status_of(error: AssayError) -> int:
    return next(status for kind, status in STATUS.items() if isinstance(error, kind))


def headers_of(error: AssayError) -> dict[str, str]:
    match error:
        case Unauthenticated():
            return {"WWW-Authenticate": 'Session realm="assay", Bearer realm="assay"'}
        case Forbidden() if error.code == INSUFFICIENT_SCOPE:
            return {"WWW-Authenticate": f'Bearer error="{error.code}", scope="{error.details["scope"]}"'}
        case Throttled() | Unavailable():
            seconds = max(1, math.ceil(error.retry_after_seconds))
            quota = error.quota if isinstance(error, Throttled) else None
            return {"Retry-After": str(seconds), **(rate_limit_headers(quota, seconds) if quota else {})}
        case _:
            return {}


def _refuse(request: Request[Any, Any, Any], error: AssayError | HTTPException) -> Response[Any]:
    if isinstance(error, HTTPException):
        return on_http_error(request, error)
    if isinstance(error, Unavailable):
        log.warning("Answered 503", path=request.url.path, error=error.message)
    return _answer(request, status_of(error), error.code, error.message, headers_of(error), _extra(error))


def _extra(error: AssayError) -> dict[str, object]:
    """Return the fields of the problem body beyond the standard ones."""
    match error:
        case Ambiguous():
            return {"choices": list(error.choices)}
        case Gone():
            return {"reason": error.details.get("reason"), "since": error.details.get("since")}
        case _:
            return {}


def _detail(request: Request[Any, Any, Any], error: HTTPException) -> str:
    if isinstance(error, ValidationException) and isinstance(error.extra, list) and error.extra:
        names = {**query_names(request.route_handler), "data": "body"}
        mistakes = [(each.get("key", ""), each["message"]) for each in error.extra]
        return "; ".join(f"{names.get(key, key)}: {message}".lstrip(": ") for key, message in mistakes)
    match error.status_code:
        case HTTPStatus.NOT_FOUND:
            return f"There is nothing at {request.url.path}."
        case HTTPStatus.METHOD_NOT_ALLOWED:
            return f"{request.method} is not allowed at {request.url.path}."
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
    extra: Mapping[str, object] = MappingProxyType({}),
) -> Response[Any]:
    title = HTTPStatus(status).phrase
    if wants_page(request):
        context = {"status": status, "code": code, "title": title, "detail": detail}
        context["choices"] = extra.get("choices", ())
        return Template("error.html", context=context, status_code=status, headers=headers)
    body = {"type": "about:blank", "title": title, "status": status, "code": code, "detail": detail, **extra}
    return Response(body, status_code=status, headers=headers, media_type=PROBLEM)
