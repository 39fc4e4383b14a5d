"""Deep scans for the nodes that run them: what waits, who takes what, and the bytes to look at."""

from datetime import timedelta
from typing import Annotated, Any
from uuid import UUID

from litestar import Response, Router, delete, get, post
from litestar.params import FromPath, JSONBody, QueryParameter
from litestar.status_codes import HTTP_200_OK

from assay.deepscan.dispatch import dispatched, give_out, register_node, work_of
from assay.deepscan.messages import (
    LARGEST_MESSAGE_BYTES,
    MOST_AT_ONCE,
    ClaimMessage,
    NodeMessage,
    ReleaseMessage,
    Work,
)
from assay.model.deep_scan import DeepTool
from assay.model.errors import NotFound
from assay.serve.scans.scan_nodes import is_node_alive
from assay.store.operations.audit import record_audit
from assay.store.scans.deep_scans import count_by_tool, list_pending, release
from assay.store.scans.scan_nodes import forget_node, list_nodes
from assay.web.http.access import ADMIN
from assay.web.http.dependencies import Assay, CalledBy
from assay.web.http.problems import answer, problems
from assay.web.scans.internal_json import (
    NodesView,
    PendingView,
    RegisteredView,
    ReleasedView,
    present_node,
)

COUNTED = 10_000
# Of what a node says in a body.
SAID: dict[str, Any] = {
    "status_code": HTTP_200_OK,
    "responses": problems(400, 401, 403, 413, 415, 503),
    "request_max_body_size": LARGEST_MESSAGE_BYTES,
}


@get("/pending-sast-scans", summary="What waits for a tool", responses=problems(400, 401, 403, 503))
async def pending_sast_scans(
    assay: Assay,
    tool: Annotated[DeepTool | None, QueryParameter(description="Only those of this tool.")] = None,
    limit: Annotated[int, QueryParameter(ge=1, le=MOST_AT_ONCE)] = 50,
) -> PendingView:
    """Oldest first. To look is not to take: see `claim-sast-scan`."""
    async with assay.store.snapshot() as db:
        scans, waiting = await list_pending(db, tool, limit), await count_by_tool(db, COUNTED)
    return PendingView(
        scans=[dispatched(scan) for scan in scans], waiting={each.value: waiting[each] for each in waiting}
    )


@post("/claim-sast-scan", summary="Take scans of one tool", **SAID)
async def claim_sast_scan(assay: Assay, data: JSONBody[ClaimMessage]) -> Work:
    """Nobody else gets them before the lease ends. A heartbeat of the node prolongs it."""
    seconds = assay.settings.deep_scan_lease_seconds
    async with assay.store.begin() as db:
        given = await give_out(
            db, data.node_id, data.tool, at_most=data.limit, now=assay.clock.now(), lease_seconds=seconds
        )
    return work_of(data.node_id, data.tool, given)


@post("/release-sast-scan", summary="Give back what was not begun", **SAID)
async def release_sast_scan(assay: Assay, data: JSONBody[ReleaseMessage]) -> ReleasedView:
    """They wait again at once, and that was no attempt."""
    async with assay.store.begin() as db:
        return ReleasedView(released=await release(db, data.node_id, data.lease))


@post("/scan-nodes", summary="A node says that it is there", **SAID)
async def register_scan_node(assay: Assay, data: JSONBody[NodeMessage]) -> RegisteredView:
    """Register, and heartbeat: whoever is silent for the time of a lease loses its scans."""
    seconds = assay.settings.deep_scan_lease_seconds
    async with assay.store.begin() as db:
        kept = await register_node(db, data, now=assay.clock.now(), lease_seconds=seconds)
    return RegisteredView(lease_seconds=seconds, scans_kept=kept, tools=list(assay.settings.deep_scan_tools))


@get("/scan-nodes", summary="The nodes that are known", responses=problems(400, 401, 403, 503))
async def list_scan_nodes(assay: Assay) -> NodesView:
    """The last seen first."""
    async with assay.store.snapshot() as db:
        nodes = await list_nodes(db)
    now, lease = assay.clock.now(), timedelta(seconds=assay.settings.deep_scan_lease_seconds)
    return NodesView(nodes=[present_node(node, is_alive=is_node_alive(node, now, lease)) for node in nodes])


@delete(
    "/scan-nodes/{node_id:str}",
    summary="A node says goodbye",
    status_code=HTTP_200_OK,
    responses=problems(400, 401, 403, 404, 503),
)
async def forget_scan_node(assay: Assay, caller: CalledBy, node_id: FromPath[UUID]) -> NodesView:
    """It is not waited for any more. What it still has waits again when its leases end."""
    async with assay.store.begin() as db:
        if not await forget_node(db, node_id):
            raise NotFound(f"There is no scan node {node_id}.", code="node_not_found")
        await record_audit(db, caller.name, "scan_node_forgotten", str(node_id))
    return NodesView(nodes=[])


@get(
    "/contents/{digest:str}",
    summary="The bytes of a content",
    responses={200: answer(bytes, "The manifest in one line, then all files.", "application/octet-stream")}
    | dict(problems(400, 401, 403, 404, 503)),
    media_type="application/octet-stream",
)
async def content_of(assay: Assay, digest: FromPath[str]) -> Response[bytes]:
    """One object with all files; its first line hashes to the digest, and names every file by its hash."""
    return Response(await assay.blobs.packed(digest), media_type="application/octet-stream")


router = Router(
    "/api/v1/internal",
    tags=["scan nodes"],
    opt=ADMIN,
    route_handlers=[
        pending_sast_scans,
        claim_sast_scan,
        release_sast_scan,
        register_scan_node,
        list_scan_nodes,
        forget_scan_node,
        content_of,
    ],
)
