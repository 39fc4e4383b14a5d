"""How a request names a skill: `owner/repo/skill`, or `-/-/name` for a name without its repository."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, TypeVar
from urllib.parse import quote

from litestar import Response
from litestar.di import Provide
from litestar.params import FromPath

from assay.model.skill import Skill

FLAT = "-"
PREFIX = "/api/v1/skills"
T = TypeVar("T")


def wanted_name(owner: str, repo: str, skill: str) -> str:
    """The name that was asked for."""
    return skill if owner == repo == FLAT else f"{owner}/{repo}/{skill}"


def _wanted(owner: FromPath[str], repo: FromPath[str], skill: FromPath[str]) -> str:
    return wanted_name(owner, repo, skill)


# For routes below {owner}/{repo}/{skill} that need no part of it by itself: see `WantedName`.
BY_NAME: Mapping[str, Provide] = MappingProxyType({"wanted": Provide(_wanted, sync_to_thread=False)})


def answered(view: T, wanted: str, found: Skill, rest: str = "", **headers: str) -> Response[T]:
    """The answer; who asked by another name is told the address under which it is."""
    if wanted.lower() != found.name:
        headers["Content-Location"] = quote(f"{PREFIX}/{found.name}{rest}", safe="/:@")
    return Response(view, headers=headers)


def disposition(kind: str, name: str) -> str:
    """A header that gives what is sent a name, in any alphabet."""
    return f"{kind}; filename*=UTF-8''{quote(name, safe='')}"


def etag(value: str) -> str:
    """The value as a strong validator."""
    return f'"{value}"'


def is_known(request_headers: Any, tag: str) -> bool:
    """Whether the client has what bears this tag."""
    given = request_headers.get("if-none-match", "")
    return given.strip() == "*" or tag in [each.strip().removeprefix("W/") for each in given.split(",")]
