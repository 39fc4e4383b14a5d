"""`GET /badge/{owner}/{repo}/{skill}.svg` and `.json`: badges, drawn here or by shields.io."""

from typing import Any

import msgspec
from litestar import Request, Response, get
from litestar.openapi.datastructures import ResponseSpec
from litestar.params import FromPath
from litestar.status_codes import HTTP_304_NOT_MODIFIED

from assay.model.errors import NotFound
from assay.model.source import digest_of
from assay.serve.skills.catalogue import find_any_listing
from assay.web.http.access import PUBLIC
from assay.web.http.dependencies import Assay
from assay.web.http.json import View
from assay.web.http.problems import problems
from assay.web.skills.badge import LABEL, Badge, badge_of, draw
from assay.web.versions.naming import etag, is_known, wanted_name

SVG, JSON = "image/svg+xml", "application/json"
# An image may be kept for a while; pages that show it ask again with its tag.
KEPT = "public, max-age=300"
INERT = "default-src 'none'; style-src 'unsafe-inline'; sandbox"


class BadgeView(View, frozen=True):
    """What the endpoint badge of shields.io reads."""

    schema_version: int
    label: str
    message: str
    color: str
    is_error: bool


@get(
    "/badge/{owner:str}/{repo:str}/{file:str}",
    summary="A badge: tier, version and score of a skill",
    tags=["skills"],
    opt=PUBLIC,
    responses={
        200: ResponseSpec(
            BadgeView, generate_examples=False, description="For `.json`; an image (SVG) for `.svg`.", media_type=JSON
        ),
        **problems(300, 400, 404, 503),
    },
)
async def badge(
    assay: Assay, request: Request[Any, Any, Any], owner: FromPath[str], repo: FromPath[str], file: FromPath[str]
) -> Response[Any]:
    """`file` is the name of the skill with `.svg` or `.json`. One that is not live says so."""
    slug, kind = read_file_name(file)
    async with assay.store.snapshot() as db:
        return answer_badge(request, badge_of(await find_any_listing(db, wanted_name(owner, repo, slug))), kind)


def read_file_name(file: str) -> tuple[str, str]:
    """The skill, and whether an image or JSON is wanted."""
    slug, _, kind = file.rpartition(".")
    if kind not in ("svg", "json"):
        raise NotFound("A badge ends in .svg or .json.", code="badge_not_found")
    return slug, kind


def answer_badge(request: Request[Any, Any, Any], made: Badge, kind: str) -> Response[Any]:
    """The badge with its tag; only the tag for who has it."""
    content = draw(made).encode() if kind == "svg" else msgspec.json.encode(_present(made))
    headers = {"ETag": etag(digest_of(content)), "Cache-Control": KEPT, "Content-Security-Policy": INERT}
    if is_known(request.headers, headers["ETag"]):
        return Response(b"", status_code=HTTP_304_NOT_MODIFIED, headers=headers)
    return Response(content, media_type=SVG if kind == "svg" else JSON, headers=headers)


def _present(badge: Badge) -> BadgeView:
    return BadgeView(schema_version=1, label=LABEL, message=badge.message, color=badge.colour, is_error=badge.is_error)
