"""The blocklist under control: block and unblock."""

from uuid import UUID

from litestar import Router, delete, post
from litestar.params import FromPath, JSONBody
from litestar.status_codes import HTTP_200_OK

from assay.model.blocklist import BlocklistEntry, Target
from assay.model.ids import new_id
from assay.moderation.blocklist import block, checked_target, unblock
from assay.moderation.withdraw import remark
from assay.web.http.access import ADMIN
from assay.web.http.dependencies import Assay, CalledBy
from assay.web.http.problems import problems
from assay.web.moderation.blocklist_json import BlockBody, BlockedView, LiftBody, LiftedView, present_entry


@post("/", summary="Block", status_code=HTTP_200_OK, responses=problems(400, 401, 403, 409, 413, 415, 503))
async def add_to_blocklist(assay: Assay, caller: CalledBy, data: JSONBody[BlockBody]) -> BlockedView:
    """From the moment this answers, nothing of it is published any more, and what was published is gone."""
    target = checked_target(Target(data.content_digest, data.repository, data.skill_name, data.everywhere))
    why = remark("blocklisted", data.reason, at=assay.clock.now(), by=caller.name)
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
    summary="Unblock",
    status_code=HTTP_200_OK,
    responses=problems(400, 401, 403, 404, 413, 415, 503),
)
async def lift_from_blocklist(
    assay: Assay, caller: CalledBy, entry_id: FromPath[UUID], data: JSONBody[LiftBody]
) -> LiftedView:
    """What nothing else blocks is back as it was."""
    why = remark("lifted", data.reason, at=assay.clock.now(), by=caller.name)
    async with assay.store.begin() as db:
        skills = await unblock(db, entry_id, reason=why.message, by=why.by)
    return LiftedView(skills=skills)


router = Router(
    "/api/v1/admin/blocklist", tags=["admin"], opt=ADMIN, route_handlers=[add_to_blocklist, lift_from_blocklist]
)
