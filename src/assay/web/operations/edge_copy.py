"""Admin routes of the edge copy: rebuild it, and compare it with the tables."""

from datetime import datetime

import msgspec
from litestar import Router, get, post
from litestar.status_codes import HTTP_200_OK

from assay.app.maintenance import make_backfill
from assay.edge_sync.drift import DriftKind, SkillsHealth, read_skills_health
from assay.edge_sync.rebuild import rebuild
from assay.serve.skills.starter import starter_skills
from assay.store.operations.audit import record_audit
from assay.web.http.access import ADMIN
from assay.web.http.context import Assay, CalledBy
from assay.web.http.errors import problems
from assay.web.http.json import View


class RebuildView(View, frozen=True):
    """The result of a rebuild: listings written, values that could not be read, aliases that lead to no live listing,
    and listings found only in the edge copy, which were submitted again (`prismaBackfilled`).
    """

    ok: bool
    rebuilt: int
    errors: int
    orphaned_aliases: int
    prisma_backfilled: int


class DifferenceView(msgspec.Struct, frozen=True, kw_only=True):
    """A key at which the edge copy and the tables differ."""

    key: str
    kind: DriftKind


class ProjectorView(msgspec.Struct, frozen=True, kw_only=True):
    """The lag of the edge copy behind the change feed, in serials and in seconds."""

    serial: int
    newest_serial: int
    waiting: int
    lag_seconds: float
    oldest_waiting_at: datetime | None


class RebuildAtView(msgspec.Struct, frozen=True, kw_only=True):
    """The progress of a rebuild that is running or was interrupted: its stage, and the listings written so far."""

    stage: str
    rebuilt: int
    errors: int
    started_at: datetime
    updated_at: datetime


class SkillsHealthView(msgspec.Struct, frozen=True, kw_only=True):
    """The edge copy compared with the tables. `prisma_count` is the number of rows in the tables.

    `differences` lists the first 100. Differences that the projector has yet to apply do not count as drift;
    `on_their_way` counts them.
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
    summary="Rebuild the edge copy",
    status_code=HTTP_200_OK,
    responses=problems(400, 401, 403, 409, 503),
)
async def rebuild_index(assay: Assay, caller: CalledBy) -> RebuildView:
    """Rebuild the edge copy from the tables. Safe to run at any time; resumes if interrupted.

    Listings that exist only in the edge copy are submitted again.
    """
    done = await rebuild(assay.store, assay.edge, assay.clock.now, backfill=make_backfill(assay, caller.name))
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
    """Compare every listing with its key and every key with its listing, and recommend what to run on drift."""
    return present_skills_health(await read_skills_health(assay.store, assay.edge))


def present_skills_health(health: SkillsHealth) -> SkillsHealthView:
    """Present the comparison, for the API and the command line."""
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
        differences=msgspec.convert(seen.differences, list[DifferenceView], from_attributes=True),
        difference_count=seen.total,
        on_their_way=seen.pending,
        counter_count=health.counted,
        projector=projector,
        rebuild=msgspec.convert(health.rebuild, RebuildAtView, from_attributes=True) if health.rebuild else None,
    )


router = Router("/api/v1/admin", tags=["admin"], opt=ADMIN, route_handlers=[rebuild_index, skills_health])
