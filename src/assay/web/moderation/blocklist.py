"""The blocklist: public routes to read and check it, admin routes to block and unblock."""

from typing import Annotated
from uuid import UUID

import msgspec
from litestar import Router, delete, get, post
from litestar.params import FromPath, JSONBody, QueryParameter
from litestar.status_codes import HTTP_200_OK

from assay.model.blocklist import BlocklistEntry, BlocklistTarget
from assay.model.ids import new_id
from assay.model.submission import Submission
from assay.moderation.blocklist import block, normalise_target, unblock
from assay.moderation.withdraw import status_reason
from assay.serve.moderation.blocklist import check_skill, last_updated, read_blocklist, read_blocklist_changes
from assay.store.feed.changes import number_changes
from assay.web.http.access import PUBLIC, REVIEWER
from assay.web.http.context import Assay, CalledBy
from assay.web.http.degraded import degraded
from assay.web.http.errors import problems
from assay.web.http.links import repository_url
from assay.web.http.parameters import Params, parameters
from assay.web.http.signing import SIGNED
from assay.web.moderation import degraded as without_database
from assay.web.moderation.json import (
    BlockBody,
    BlockedView,
    BlocklistChangesView,
    BlocklistChangeView,
    BlocklistView,
    CheckedView,
    LiftBlockBody,
    LiftedView,
    RefusalView,
    present_entry,
)
from assay.web.moderation.query import BlocklistCheckParameters


@get(
    "/",
    summary="Get the blocklist",
    opt=SIGNED | degraded(without_database.blocklist),
    responses=problems(400, 503),
)
async def blocklist(assay: Assay) -> BlocklistView:
    """Return the whole blocklist, signed.

    To keep a copy up to date, send the ETag in `If-None-Match`, or read the changes after `serial`.
    """
    async with assay.store.begin() as db:
        await number_changes(db)
    async with assay.store.snapshot() as db:
        found = await read_blocklist(db)
    return BlocklistView(
        entries=[present_entry(entry, assay.settings.github_web_url) for entry in found.entries],
        count=len(found.entries),
        last_updated=last_updated(found),
        serial=found.last.serial if found.last else 0,
    )


@get("/changes", summary="List blocklist changes", opt=SIGNED, responses=problems(400, 503))
async def blocklist_changes(
    assay: Assay,
    since: Annotated[int, QueryParameter(ge=0, le=2**62, description="The last serial that you have processed.")] = 0,
    limit: Annotated[int, QueryParameter(ge=1, le=1000, description="Changes per page.")] = 1000,
) -> BlocklistChangesView:
    """Return the entries that were added (`block`) or lifted (`unblock`) after a serial, signed."""
    async with assay.store.begin() as db:
        await number_changes(db)
    async with assay.store.snapshot() as db:
        found = await read_blocklist_changes(db, since, limit)
    changes = msgspec.convert(found, list[BlocklistChangeView], from_attributes=True)
    return BlocklistChangesView(changes=changes, next_since=changes[-1].serial if changes else since)


@get(
    "/check",
    summary="Check a skill against the blocklist",
    opt=degraded(without_database.check),
    dependencies=parameters(BlocklistCheckParameters),
    responses=problems(400, 503),
)
async def blocklist_check(assay: Assay, params: Params[BlocklistCheckParameters]) -> CheckedView:
    """Report whether a skill is blocked or was refused by this registry.

    Give at least one of `name`, `repoUrl` and `digest`; the more you give, the more entries can match.
    """
    repository, web_url = params.repository(assay.settings), assay.settings.github_web_url
    async with assay.store.snapshot() as db:
        found = await check_skill(db, name=params.name, repository=repository, digest=params.digest)
    return CheckedView(
        blocked=found.entry is not None,
        entry=present_entry(found.entry, web_url) if found.entry else None,
        rejected=found.refused is not None,
        rejection=_present_refusal(found.refused, web_url) if found.refused else None,
        tainted=False,
        taint_reason=None,
    )


def _present_refusal(refused: Submission, web_url: str) -> RefusalView:
    return RefusalView(
        skill_name=refused.skill_name,
        state=refused.state,
        reason=refused.reason.message if refused.reason else None,
        score=refused.score,
        rejected_at=refused.decided_at,
        repo_url=repository_url(refused.repository.name, web_url),
    )


router = Router(
    "/api/v1/blocklist",
    tags=["blocklist"],
    opt=PUBLIC,
    route_handlers=[blocklist, blocklist_changes, blocklist_check],
)


@post(
    "/", summary="Add a blocklist entry", status_code=HTTP_200_OK, responses=problems(400, 401, 403, 409, 413, 415, 503)
)
async def add_to_blocklist(assay: Assay, caller: CalledBy, data: JSONBody[BlockBody]) -> BlockedView:
    """Block specific content, a repository, one skill of it, or a name everywhere.

    When the response arrives, matching listings are no longer published, and matching submissions cannot be published.
    """
    target = normalise_target(BlocklistTarget(data.content_digest, data.repository, data.skill_name, data.everywhere))
    why = status_reason("blocklisted", data.reason, at=assay.clock.now(), by=caller.name)
    entry = BlocklistEntry(
        id=new_id(),
        target=target,
        threat=data.threat_type,
        severity=data.severity,
        reason=why.message,
        evidence_urls=tuple(data.evidence_urls),
        discovered_at=why.at,
        added_by=why.by,
        lifted_at=None,
    )
    async with assay.store.begin() as db:
        skills = await block(db, entry)
    return BlockedView(entry=present_entry(entry, assay.settings.github_web_url), skills=skills)


@delete(
    "/{entry_id:str}",
    summary="Lift a blocklist entry",
    status_code=HTTP_200_OK,
    responses=problems(400, 401, 403, 404, 413, 415, 503),
)
async def lift_from_blocklist(
    assay: Assay, caller: CalledBy, entry_id: FromPath[UUID], data: JSONBody[LiftBlockBody]
) -> LiftedView:
    """Lift an entry. Listings that no other entry blocks are published again."""
    why = status_reason("lifted", data.reason, at=assay.clock.now(), by=caller.name)
    async with assay.store.begin() as db:
        skills = await unblock(db, entry_id, reason=why.message, by=why.by)
    return LiftedView(skills=skills)


admin_router = Router(
    "/api/v1/admin/blocklist", tags=["admin"], opt=REVIEWER, route_handlers=[add_to_blocklist, lift_from_blocklist]
)
