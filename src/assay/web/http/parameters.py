"""Parameters and bodies that a route does not read are refused: what is silently ignored gives a wrong answer."""

from collections.abc import Mapping
from functools import cache
from http import HTTPStatus
from typing import Any

from litestar import Request
from litestar.enums import RequestEncodingType
from litestar.exceptions import ClientException
from litestar.handlers import HTTPRouteHandler
from litestar.params import BodyKwarg, QueryParameter

from assay.model.errors import Invalid


async def refuse_what_is_not_read(request: Request[Any, Any, Any]) -> None:
    """Run before every handler."""
    _check_query(request)
    await _check_body(request)


def _check_query(request: Request[Any, Any, Any]) -> None:
    given = [name for name, _ in request.query_params.multi_items()]
    known = frozenset(query_names(request.route_handler).values())
    if unknown := sorted(set(given) - known):
        allowed = ", ".join(sorted(known)) or "none"
        message = f"{', '.join(unknown)}: there is no such parameter here (known: {allowed})."
        raise Invalid(message, code="unknown_parameter")
    if repeated := sorted({name for name in given if given.count(name) > 1}):
        raise Invalid(f"{', '.join(repeated)}: give it once.", code="repeated_parameter")


async def _check_body(request: Request[Any, Any, Any]) -> None:
    wanted = _body_type(request.route_handler)
    if wanted is None:
        return
    if request.content_type[0] != wanted:
        detail = f"Content-Type: it must be {wanted.value}, not {request.content_type[0] or 'left out'}."
        raise ClientException(detail, status_code=HTTPStatus.UNSUPPORTED_MEDIA_TYPE)
    if wanted is RequestEncodingType.JSON:
        _check_json(await request.body())


def _check_json(body: bytes) -> None:
    """The decoder reports neither of these as the caller's mistake."""
    if not body:
        raise Invalid("body: it is empty, send a JSON object.", code="bad_body")
    try:
        body.decode()
    except UnicodeDecodeError:
        raise Invalid("body: it is not UTF-8.", code="bad_body") from None


@cache
def query_names(handler: HTTPRouteHandler) -> Mapping[str, str]:
    """The query parameters that a handler declares: its own names for them, and those that clients use."""
    declared = ((name, field.kwarg_definition) for name, field in handler.parsed_fn_signature.parameters.items())
    return {name: kwarg.name or name for name, kwarg in declared if isinstance(kwarg, QueryParameter)}


@cache
def _body_type(handler: HTTPRouteHandler) -> RequestEncodingType | None:
    """What a handler reads as its body, if it reads one."""
    field = handler.parsed_fn_signature.parameters.get("data")
    kwarg = field.kwarg_definition if field else None
    return RequestEncodingType(kwarg.media_type) if isinstance(kwarg, BodyKwarg) else None
