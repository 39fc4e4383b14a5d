"""Names of skills in requests: `owner/repo/skill`, or the last part alone.

A name without its repository is written `-/-/skill` in the path, so that every route exists once. Clients may also
leave that out: `/api/v1/skills/pdf/versions` is rewritten to `/api/v1/skills/-/-/pdf/versions`.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import TypeVar
from urllib.parse import quote

from litestar import Response
from litestar.di import Provide
from litestar.enums import ScopeType
from litestar.params import FromPath
from litestar.types import ASGIApp, Receive, Scope, Send

from assay.model.skill import Skill

FLAT = "-"
PREFIX = "/api/v1/skills"
# Only paths that cannot be an `owner/repo/skill`: a version has dots, and the name of a skill has none.
FLAT_PATH = re.compile(
    r"(?P<name>[^/]+)(?P<rest>/(?:versions|security|installs|reports|rescan)|/versions/(?:diff|compare)|/versions/\d+\.[^/]+(?:/.*)?)/?"
)
T = TypeVar("T")


def name_in_path(owner: str, repo: str, skill: str) -> str:
    return skill if owner == repo == FLAT else f"{owner}/{repo}/{skill}"


def _requested_name(owner: FromPath[str], repo: FromPath[str], skill: FromPath[str]) -> str:
    return name_in_path(owner, repo, skill)


# Provides `requested_name: RequestedName` to routes below {owner}/{repo}/{skill}.
BY_NAME: Mapping[str, Provide] = MappingProxyType({"requested_name": Provide(_requested_name, sync_to_thread=False)})


def located(view: T, requested_name: str, skill: Skill, rest: str = "") -> Response[T]:
    """Return the response, with `Content-Location` if the skill was requested by a former or short name."""
    headers = {}
    if requested_name.lower() != skill.name:
        headers["Content-Location"] = quote(f"{PREFIX}/{skill.name}{rest}", safe="/:@")
    return Response(view, headers=headers)


def expand_flat_names(app: ASGIApp) -> ASGIApp:
    """Wrap the router and rewrite the paths of names without a repository."""

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == ScopeType.HTTP and scope["path"].startswith(f"{PREFIX}/"):
            scope = {**scope, "path": _expand(scope["path"])}
        await app(scope, receive, send)

    return serve


def _expand(path: str) -> str:
    flat = FLAT_PATH.fullmatch(path.removeprefix(f"{PREFIX}/"))
    return f"{PREFIX}/-/-/{flat['name']}{flat['rest']}" if flat else path
