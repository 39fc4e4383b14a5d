"""Internal routes for scan nodes: claim deep scans, register, and download contents."""

from datetime import timedelta
from typing import Annotated, Any
from uuid import UUID

from litestar import Response, Router, delete, get, post
from litestar.params import FromPath, JSONBody, QueryParameter
from litestar.status_codes import HTTP_200_OK

from assay.deepscan.dispatch import batch_message, lease_scans, register_node, scan_message
from assay.deepscan.messages import (
    LARGEST_MESSAGE_BYTES,
    MAX_BATCH_SIZE,
    ClaimMessage,
    NodeMessage,
    ReleaseMessage,
    ScanBatch,
)
from assay.model.deep_scan import DeepTool
from assay.model.errors import NotFound
from assay.store.operations.audit import record_audit
from assay.store.scans.deep_scans import count_by_tool, list_pending, release_lease
from assay.store.scans.scan_nodes import list_nodes, remove_node
from assay.web.http.access import ADMIN
from assay.web.http.context import Assay, CalledBy
from assay.web.http.errors import problems, response_spec
from assay.web.scans.json import (
    NodesView,
    PendingView,
    RegisteredView,
    ReleasedView,
    present_node,
)

COUNTED = 10_000
# Options of the routes that accept a message from a node.
NODE_MESSAGE: dict[str, Any] = {
    "status_code": HTTP_200_OK,
    "responses": problems(400, 401, 403, 413, 415, 503),
    "request_max_body_size": LARGEST_MESSAGE_BYTES,
}


@get("/pending-sast-scans", summary="List pending deep scans", responses=problems(400, 401, 403, 503))
async def pending_sast_scans(
    assay: Assay,
    tool: Annotated[DeepTool | None, QueryParameter(description="Only scans of this tool.")] = None,
    limit: Annotated[int, QueryParameter(ge=1, le=MAX_BATCH_SIZE, description="Scans per page.")] = 50,
) -> PendingView:
    """List deep scans that wait for a node, oldest first. This does not claim them; see `claim-sast-scan`."""
    async with assay.store.snapshot() as db:
        scans, waiting = await list_pending(db, tool, limit), await count_by_tool(db, COUNTED)
    return PendingView(
        scans=[scan_message(scan) for scan in scans], waiting={each.value: waiting[each] for each in waiting}
    )


@post("/claim-sast-scan", summary="Claim deep scans", **NODE_MESSAGE)
async def claim_sast_scan(assay: Assay, data: JSONBody[ClaimMessage]) -> ScanBatch:
    """Claim scans of one tool under a lease, which each heartbeat of the node extends."""
    seconds = assay.settings.deep_scan_lease_seconds
    async with assay.store.begin() as db:
        claimed = await lease_scans(
            db, data.node_id, data.tool, at_most=data.limit, now=assay.clock.now(), lease_seconds=seconds
        )
    return batch_message(data.node_id, data.tool, claimed)


@post("/release-sast-scan", summary="Release claimed deep scans", **NODE_MESSAGE)
async def release_sast_scan(assay: Assay, data: JSONBody[ReleaseMessage]) -> ReleasedView:
    """Return scans that were not started. They are available immediately and do not count as attempts."""
    async with assay.store.begin() as db:
        return ReleasedView(released=await release_lease(db, data.node_id, data.lease))


@post("/scan-nodes", summary="Register a scan node", **NODE_MESSAGE)
async def register_scan_node(assay: Assay, data: JSONBody[NodeMessage]) -> RegisteredView:
    """Register a node or send its heartbeat. A node that is silent for the length of a lease loses its scans."""
    seconds = assay.settings.deep_scan_lease_seconds
    async with assay.store.begin() as db:
        extended = await register_node(db, data, now=assay.clock.now(), lease_seconds=seconds)
    return RegisteredView(lease_seconds=seconds, scans_kept=extended, tools=list(assay.settings.deep_scan_tools))


@get("/scan-nodes", summary="List scan nodes", responses=problems(400, 401, 403, 503))
async def list_scan_nodes(assay: Assay) -> NodesView:
    """List registered scan nodes, most recently seen first."""
    async with assay.store.snapshot() as db:
        nodes = await list_nodes(db)
    now, lease = assay.clock.now(), timedelta(seconds=assay.settings.deep_scan_lease_seconds)
    return NodesView(nodes=[present_node(node, is_alive=node.is_alive(now, lease)) for node in nodes])


@delete(
    "/scan-nodes/{node_id:str}",
    summary="Deregister a scan node",
    status_code=HTTP_200_OK,
    responses=problems(400, 401, 403, 404, 503),
)
async def forget_scan_node(assay: Assay, caller: CalledBy, node_id: FromPath[UUID]) -> NodesView:
    """Remove a node. Scans that it still holds become available when their leases expire."""
    async with assay.store.begin() as db:
        if not await remove_node(db, node_id):
            raise NotFound(f"There is no scan node {node_id}.", code="node_not_found")
        await record_audit(db, caller.name, "scan_node_forgotten", str(node_id))
    return NodesView(nodes=[])


@get(
    "/contents/{digest:str}",
    summary="Download content by digest",
    responses={
        200: response_spec(bytes, "The manifest on one line, followed by all files.", "application/octet-stream")
    }
    | dict(problems(400, 401, 403, 404, 503)),
    media_type="application/octet-stream",
)
async def content_of(assay: Assay, digest: FromPath[str]) -> Response[bytes]:
    """Return all files with this content digest as one object.

    The SHA-256 of its first line, the manifest, is the digest; the manifest lists every file with its hash.
    """
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
