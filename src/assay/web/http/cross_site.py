"""Whether a request comes from a page of ours, in the browser's word: another site must not act for a person."""

from urllib.parse import urlsplit

from litestar.enums import ScopeType

from assay.model.errors import Forbidden
from assay.web.http.caller import Connection, registry_of

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


def is_safe(connection: Connection) -> bool:
    """Whether the method changes nothing."""
    return connection.scope["type"] == ScopeType.HTTP and connection.scope["method"] in SAFE_METHODS


def refuse_cross_site(connection: Connection) -> None:
    """For what a cookie proves: Forbidden unless the browser says that the request is our own page's."""
    if not _is_ours(connection):
        raise Forbidden("This request does not come from a page of this registry.", code="cross_site")


def refuse_foreign_page(connection: Connection) -> None:
    """For what needs no cookie: Forbidden only if a browser says that the request is another site's."""
    if _is_ours(connection) is False:
        raise Forbidden("This request comes from a page of another site.", code="cross_site")


def _is_ours(connection: Connection) -> bool | None:
    """None if nothing is said, which a browser never does."""
    site, origin = connection.headers.get("sec-fetch-site"), connection.headers.get("origin")
    if site is not None:
        return site in ("same-origin", "none")
    return origin in own_origins(connection) if origin is not None else None


def own_origins(connection: Connection) -> frozenset[str]:
    """Where this registry is: the address people use, and the one that was asked."""
    public = urlsplit(registry_of(connection).settings.base_url)
    asked = f"{connection.url.scheme}://{connection.headers.get('host', '')}"
    return frozenset({f"{public.scheme}://{public.netloc}", asked})
