"""Another ruleset, for administrators: which published skills it would not publish, before it is activated."""

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
from assay.web.http.dependencies import Assay, CalledBy
from assay.web.http.json import View
from assay.web.http.problems import problems
from assay.web.submissions.json import Body

LARGEST_RULESET = 2_000_000
REFUSALS = problems(400, 401, 403, 503)


class ReplayBody(Body, frozen=True):
    """All files of a ruleset by name, or none for the one that this process has; and after which listing to go on."""

    files: dict[str, str] | None = None
    after: UUID | None = None
    limit: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 200


class ReplayView(View, frozen=True):
    """What was done. Ask again with `after` until it is null; what was scanned before is not scanned again."""

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
    """Some of them, in the order of their ids."""

    ruleset: str
    flips: list[FlipView]
    next_after: UUID | None


@post(
    "/",
    summary="Try a ruleset on what is published",
    status_code=HTTP_200_OK,
    responses=problems(400, 401, 403, 413, 415, 503),
)
async def run_replay(assay: Assay, caller: CalledBy, data: JSONBody[ReplayBody]) -> ReplayView:
    """Scans some published contents with it and keeps what it says; nothing that is published changes."""
    ruleset = assay.ruleset if data.files is None else _parsed(data.files)
    done = await open_replay(assay).run(ruleset, after=data.after, at_most=data.limit)
    async with assay.store.begin() as db:
        await record_audit(db, caller.name, "ruleset_replayed", ruleset.version, {"scanned": done.scanned})
    return ReplayView(ruleset=ruleset.version, scanned=done.scanned, unreadable=done.unreadable, after=done.after)


@get("/", summary="What a ruleset would change", responses=REFUSALS)
async def get_replay(
    assay: Assay,
    ruleset: Annotated[
        str, QueryParameter(max_length=100, pattern=WITHOUT_NUL, description="The version of the ruleset.")
    ],
    after: FromQuery[UUID | None] = None,
    limit: Annotated[int, QueryParameter(ge=1, le=500)] = 100,
) -> FlipsView:
    """The published skills that it would not publish, as far as it has been tried."""
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


def _parsed(files: dict[str, str]) -> Ruleset:
    if sum(map(len, files.values())) > LARGEST_RULESET:
        raise Invalid(f"files: together no more than {LARGEST_RULESET:,} characters.", code="ruleset_too_large")
    return parse_ruleset(files)


router = Router("/api/v1/admin/replay", tags=["admin"], opt=ADMIN, route_handlers=[run_replay, get_replay])
