"""Unknown query parameters are refused: a filter that is silently ignored gives a wrong answer."""

from functools import cache
from typing import Any

from litestar import Request
from litestar.handlers import HTTPRouteHandler

from assay.model.errors import Invalid


async def refuse_unknown_parameters(request: Request[Any, Any, Any]) -> None:
    """Run before every handler."""
    if not request.query_params:
        return
    known = _query_names(request.route_handler)
    unknown = sorted(set(request.query_params) - known)
    if unknown:
        allowed = ", ".join(sorted(known)) or "none"
        raise Invalid(f"{unknown[0]}: there is no such parameter here (known: {allowed}).", code="unknown_parameter")


@cache
def _query_names(handler: HTTPRouteHandler) -> frozenset[str]:
    """The query parameters that a handler declares, by the names that clients use."""
    names = set()
    for name, field in handler.parsed_fn_signature.parameters.items():
        kwarg = field.kwarg_definition
        names.add(getattr(kwarg, "query", None) or name)
    return frozenset(names - {"request", "data", "assay"})
