"""Query parameters and bodies. A route refuses those it does not declare: a parameter that is silently ignored would
give a wrong answer.

The parameters of a list are declared once, as a dataclass that the API handler, the page and the degraded answer share.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import MISSING, fields
from functools import cache
from http import HTTPStatus
from typing import Any, ClassVar, TypeVar
from urllib.parse import unquote_plus

from litestar import Request
from litestar.di import NamedDependency, Provide
from litestar.enums import RequestEncodingType
from litestar.exceptions import ClientException, ValidationException
from litestar.handlers import HTTPRouteHandler
from litestar.params import BodyKwarg, QueryParameter, SkipValidation
from litestar.types import Receive, Scope, Send
from litestar.typing import FieldDefinition

from assay.model.errors import Invalid

Parameters = TypeVar("Parameters")
# The type of a handler's `params`, as `Params[SkillListParameters]`; see `parameters`.
Params = NamedDependency[SkipValidation[Parameters]]


class FormRequest(Request[Any, Any, Any]):
    """A request to a page with a filter form: browsers also send empty fields, which are dropped here."""

    # Parameters that only links set, so that a blank value is a mistake and not an empty field.
    set_by_links: ClassVar[frozenset[str]] = frozenset({"cursor"})

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        fields = set(query_names(scope["route_handler"]).values()) - self.set_by_links
        pairs = scope["query_string"].split(b"&")
        scope["query_string"] = b"&".join(pair for pair in pairs if not _is_blank(pair, fields))
        super().__init__(scope, receive, send)


def parameters(kind: type[Any]) -> dict[str, Provide]:
    """Return the dependency `params` that reads the query parameters declared by a dataclass."""
    return {"params": Provide(kind, sync_to_thread=False)}


def read_parameters(request: Request[Any, Any, Any], kind: type[Parameters]) -> Parameters:
    """Read the parameters that the route declares with this dataclass, validated as they are for its handler."""
    model = request.route_handler.resolve_dependencies()["params"].signature_model
    names, query, values = query_names(request.route_handler), request.query_params, {}
    for field in (each for each in fields(kind) if each.init):  # type: ignore[arg-type]
        name = names[field.name]
        if name in query:
            values[field.name] = query[name]
        elif field.default is MISSING:
            raise ValidationException(f"Missing required query parameter {name!r} for path {request.url.path}")
        else:
            values[field.name] = field.default
    return kind(**model.parse_values_from_connection_kwargs(request, values))


def requested_fields(request: Request[Any, Any, Any], *paging: str) -> dict[str, str]:
    """Return the values of all query parameters that the route declares, "" where absent, except those for paging."""
    names = query_names(request.route_handler).values()
    return {name: request.query_params.get(name, "") for name in names if name not in paging}


async def refuse_undeclared(request: Request[Any, Any, Any]) -> None:
    """Raise before the handler runs if the request has parameters or a body that the route does not declare."""
    _check_query(request)
    await _check_body(request)


@cache
def query_names(handler: HTTPRouteHandler) -> Mapping[str, str]:
    """Return the query parameters of a handler and its dependencies: Python name to public name."""
    providers = handler.resolve_dependencies()

    def declared(parameters: Mapping[str, FieldDefinition]) -> Iterator[tuple[str, str]]:
        for name, field in parameters.items():
            if name in providers:
                yield from declared(providers[name].parsed_fn_signature.parameters)
            elif isinstance(field.kwarg_definition, QueryParameter):
                yield name, field.kwarg_definition.name or name

    return dict(declared(handler.parsed_fn_signature.parameters))


def _check_query(request: Request[Any, Any, Any]) -> None:
    sent = [name for name, _ in request.query_params.multi_items()]
    known = frozenset(query_names(request.route_handler).values())
    if unknown := sorted(set(sent) - known):
        allowed = ", ".join(sorted(known)) or "none"
        raise Invalid(f"{', '.join(unknown)}: unknown query parameter (known: {allowed}).", code="unknown_parameter")
    if repeated := sorted({name for name in sent if sent.count(name) > 1}):
        raise Invalid(f"{', '.join(repeated)}: give the parameter only once.", code="repeated_parameter")


async def _check_body(request: Request[Any, Any, Any]) -> None:
    expected = _body_type(request.route_handler)
    if expected is None:
        return
    if request.content_type[0] != expected:
        detail = f"Content-Type: must be {expected.value}, not {request.content_type[0] or 'absent'}."
        raise ClientException(detail, status_code=HTTPStatus.UNSUPPORTED_MEDIA_TYPE)
    if expected is RequestEncodingType.JSON:
        _check_json(await request.body())


def _check_json(body: bytes) -> None:
    """Raise Invalid for two mistakes that the decoder does not report as the client's."""
    if not body:
        raise Invalid("body: it is empty; send a JSON object.", code="bad_body")
    try:
        body.decode()
    except UnicodeDecodeError:
        raise Invalid("body: it is not valid UTF-8.", code="bad_body") from None


@cache
def _body_type(handler: HTTPRouteHandler) -> RequestEncodingType | None:
    field = handler.parsed_fn_signature.parameters.get("data")
    kwarg = field.kwarg_definition if field else None
    return RequestEncodingType(kwarg.media_type) if isinstance(kwarg, BodyKwarg) else None


def _is_blank(pair: bytes, fields: Collection[str]) -> bool:
    name, _, value = pair.partition(b"=")
    return _decoded(name) in fields and not _decoded(value).strip()


def _decoded(text: bytes) -> str:
    return unquote_plus(text.decode("latin-1"))
