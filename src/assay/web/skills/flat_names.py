"""Names without a repository: clients ask for `/api/v1/skills/pdf/versions` as they do for `…/owner/repo/pdf/versions`.

A path of that form is read as `…/-/-/pdf/versions`, so that every route exists once. Only forms that cannot be an
`owner/repo/skill` are: a version has dots, and the name of a skill has none.
"""

import re

from litestar.enums import ScopeType
from litestar.types import ASGIApp, Receive, Scope, Send

PREFIX = "/api/v1/skills/"
FORM = re.compile(
    r"(?P<name>[^/]+)(?P<rest>/(?:versions|security|installs|reports|rescan)|/versions/(?:diff|compare)|/versions/\d+\.[^/]+(?:/.*)?)/?"
)


def read_flat_names(app: ASGIApp) -> ASGIApp:
    """Around the router."""

    async def reading(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == ScopeType.HTTP and scope["path"].startswith(PREFIX):
            scope = {**scope, "path": _full(scope["path"])}
        await app(scope, receive, send)

    return reading


def _full(path: str) -> str:
    found = FORM.fullmatch(path.removeprefix(PREFIX))
    return f"{PREFIX}-/-/{found['name']}{found['rest']}" if found else path
