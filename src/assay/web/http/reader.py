"""Who reads an answer: a person in a browser, or a program."""

from typing import Any

from litestar import MediaType
from litestar.connection import ASGIConnection

MACHINE_ROUTES = ("/api/", "/healthz", "/readyz", "/metrics")


def wants_page(connection: ASGIConnection[Any, Any, Any, Any]) -> bool:
    """Whether to answer with a page; the routes of machines never do."""
    is_machine_route = connection.scope["path"].startswith(MACHINE_ROUTES)
    return not is_machine_route and MediaType.HTML.value in connection.headers.get("accept", "")
