"""The copy at the edge, for administrators: make it anew, and compare it with the tables."""

from collections.abc import Sequence
from datetime import datetime

import msgspec
from litestar import Router, get, post
from litestar.status_codes import HTTP_200_OK

from assay.app.maintenance import backfill_of
from assay.edge.values import RebuildValue
from assay.edge_sync.drift import Difference, Kind, SkillsHealth, read_skills_health
from assay.edge_sync.rebuild import rebuild
from assay.serve.skills.starter import starter_skills
from assay.store.operations.audit import record_audit
from assay.web.http.access import ADMIN
from assay.web.http.dependencies import Assay, CalledBy
from assay.web.http.json import View
from assay.web.http.problems import problems


class RebuildView(View, frozen=True):
    """How many listings were written, values could not be read, other names lead to no live listing, and listings that
    only the copy knew were submitted again.
    """

    ok: bool
    rebuilt: int
    errors: int
    orphaned_aliases: int
    prisma_backfilled: int


class DifferenceView(msgspec.Struct, frozen=True, kw_only=True):
    """One key at which the copy and the tables differ."""

    key: str
    kind: Kind


class ProjectorView(msgspec.Struct, frozen=True, kw_only=True):
    """How far the copy is behind the changes: in serials and in seconds."""

    serial: int
    newest_serial: int
    waiting: int
    lag_seconds: float
    oldest_waiting_at: datetime | None


class RebuildAtView(msgspec.Struct, frozen=True, kw_only=True):
    """How far a rebuild has come that is under way, or was cut short: its stage, and the listings written so far."""

    stage: str
    rebuilt: int
    errors: int
    started_at: datetime
    updated_at: datetime


class SkillsHealthView(msgspec.Struct, frozen=True, kw_only=True):
    """The sources of the catalogue side by side; `prisma_count` is the number of rows. `differences` has the first 100.

    A difference that the projector has not come to yet is none: `on_their_way` counts those.
    """

    kv_index_count: int | None
    kv_enumerated_count: int | None
    prisma_count: int
    seed_count: int
    drift_detected: bool
    drifts: list[str]
    recommendations: list[str]
    differences: list[DifferenceView]
    difference_count: int
    on_their_way: int
    counter_count: int
    projector: ProjectorView | None
    rebuild: RebuildAtView | None


@post(
    "/rebuild-index",
    summary="Make the edge copy anew from the tables",
    status_code=HTTP_200_OK,
    responses=problems(400, 401, 403, 409, 503),
)
async def rebuild_index(assay: Assay, caller: CalledBy) -> RebuildView:
    """Safe at any time. One that was cut short is gone on with; listings that only the copy has are submitted again."""
    done = await rebuild(assay.store, assay.edge, assay.clock.now, backfill=backfill_of(assay, caller.name))
    view = RebuildView(
        ok=True,
        rebuilt=done.rebuilt,
        errors=done.errors,
        orphaned_aliases=done.orphaned_aliases,
        prisma_backfilled=done.backfilled,
    )
    async with assay.store.begin() as db:
        await record_audit(db, caller.name, "edge.rebuild", assay.edge.identity, msgspec.to_builtins(view))
    return view


@get("/health/skills", summary="Compare the edge copy with the tables", responses=problems(400, 401, 403, 503))
async def skills_health(assay: Assay) -> SkillsHealthView:
    """Every listing with its key and every key with its listing; what to run is in the recommendations."""
    return present_skills_health(await read_skills_health(assay.store, assay.edge))


def present_skills_health(health: SkillsHealth) -> SkillsHealthView:
    """As it is answered and printed."""
    seen, lag = health.comparison, health.lag
    projector = None
    if lag is not None:
        projector = ProjectorView(
            serial=health.serial,
            newest_serial=lag.newest,
            waiting=lag.waiting,
            lag_seconds=health.lag_seconds,
            oldest_waiting_at=lag.since,
        )
    return SkillsHealthView(
        kv_index_count=health.index_count,
        kv_enumerated_count=seen.keys if health.edge_problem is None else None,
        prisma_count=seen.rows,
        seed_count=len(starter_skills()),
        drift_detected=bool(health.drifts),
        drifts=health.drifts,
        recommendations=health.recommendations,
        differences=_present(seen.differences),
        difference_count=seen.total,
        on_their_way=seen.on_their_way,
        counter_count=health.counted,
        projector=projector,
        rebuild=_present_rebuild(health.rebuild) if health.rebuild else None,
    )


def _present(differences: Sequence[Difference]) -> list[DifferenceView]:
    return [DifferenceView(key=each.key, kind=each.kind) for each in differences]


def _present_rebuild(at: RebuildValue) -> RebuildAtView:
    return RebuildAtView(
        stage=at.stage, rebuilt=at.rebuilt, errors=at.errors, started_at=at.started_at, updated_at=at.updated_at
    )


router = Router("/api/v1/admin", tags=["admin"], opt=ADMIN, route_handlers=[rebuild_index, skills_health])
