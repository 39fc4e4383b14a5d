"""Ruleset replays: which published skills another ruleset would not publish, before it is activated."""

from typing import Annotated
from uuid import UUID

import msgspec
from litestar import Router, get, post
from litestar.params import FromQuery, JSONBody, QueryParameter
from litestar.status_codes import HTTP_200_OK

from assay.app.maintenance import open_replay
from assay.model.errors import Invalid
from assay.model.text import WITHOUT_NUL
from assay.model.verdict import Decision
from assay.scan.ruleset import Ruleset, parse_ruleset
from assay.store.operations.audit import record_audit
from assay.store.scans.replays import list_flips
from assay.web.http.access import ADMIN
from assay.web.http.context import Assay, CalledBy
from assay.web.http.errors import problems
from assay.web.http.json import Body, View

MAX_RULESET_CHARACTERS = 2_000_000
REFUSALS = problems(400, 401, 403, 503)


class ReplayBody(Body, frozen=True):
    """All files of a ruleset by name, or null for the active one. Set `after` to continue behind that listing."""

    files: dict[str, str] | None = None
    after: UUID | None = None
    limit: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 200


class ReplayView(View, frozen=True):
    """The progress of a replay. Repeat the request with `after` until it is null; no content is scanned twice."""

    ruleset: str
    scanned: int
    unreadable: int
    after: UUID | None


class FlipView(View, frozen=True):
    """A published skill that the ruleset would not publish."""

    name: str
    version: str
    content_digest: str
    score: int
    new_score: int
    new_decision: Decision
    reason: str | None


class FlipsView(View, frozen=True):
    """A page of published skills that the ruleset would not publish, ordered by id."""

    ruleset: str
    flips: list[FlipView]
    next_after: UUID | None


@post(
    "/",
    summary="Replay a ruleset",
    status_code=HTTP_200_OK,
    responses=problems(400, 401, 403, 413, 415, 503),
)
async def run_replay(assay: Assay, caller: CalledBy, data: JSONBody[ReplayBody]) -> ReplayView:
    """Scan published contents with a ruleset and record the verdicts, without changing anything published."""
    ruleset = assay.ruleset if data.files is None else _parse(data.files)
    done = await open_replay(assay).run(ruleset, after=data.after, at_most=data.limit)
    async with assay.store.begin() as db:
        await record_audit(db, caller.name, "ruleset_replayed", ruleset.version, {"scanned": done.scanned})
    return ReplayView(ruleset=ruleset.version, scanned=done.scanned, unreadable=done.unreadable, after=done.after)


@get("/", summary="List what a ruleset would change", responses=REFUSALS)
async def get_replay(
    assay: Assay,
    ruleset: Annotated[
        str, QueryParameter(max_length=100, pattern=WITHOUT_NUL, description="The version of the ruleset.")
    ],
    after: FromQuery[UUID | None] = None,
    limit: Annotated[int, QueryParameter(ge=1, le=500, description="Skills per page.")] = 100,
) -> FlipsView:
    """List the published skills that the ruleset would not publish, among those replayed so far."""
    async with assay.store.snapshot() as db:
        flips = await list_flips(db, ruleset, after, limit)
    return FlipsView(
        ruleset=ruleset,
        flips=[
            FlipView(
                name=each.name,
                version=each.version,
                content_digest=each.digest,
                score=each.score_now,
                new_score=each.score,
                new_decision=each.decision,
                reason=each.reason,
            )
            for each in flips
        ],
        next_after=flips[-1].skill_id if len(flips) == limit else None,
    )


def _parse(files: dict[str, str]) -> Ruleset:
    if sum(map(len, files.values())) > MAX_RULESET_CHARACTERS:
        raise Invalid(
            f"files: the ruleset must not exceed {MAX_RULESET_CHARACTERS:,} characters.", code="ruleset_too_large"
        )
    return parse_ruleset(files)


router = Router("/api/v1/admin/replay", tags=["admin"], opt=ADMIN, route_handlers=[run_replay, get_replay])
