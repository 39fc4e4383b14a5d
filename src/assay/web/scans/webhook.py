"""`POST /api/v1/webhooks/scan-results`: what scan nodes found, signed."""

from typing import Any

from litestar import Request, post
from litestar.handlers import BaseRouteHandler
from litestar.params import JSONBody
from litestar.status_codes import HTTP_200_OK

from assay.app.app import App
from assay.deepscan.messages import LARGEST_RESULT_BYTES, ScanResult
from assay.deepscan.results import take_result
from assay.deepscan.signature import SIGNATURE_HEADER, TIMESTAMP_HEADER, verify
from assay.model.deep_scan import DeepStatus
from assay.model.errors import AssayError, Conflict, Unauthenticated, Unavailable
from assay.store.scans.deliveries import note_refusal
from assay.web.http.access import PUBLIC
from assay.web.http.caller import Connection, registry_of
from assay.web.http.dependencies import Assay
from assay.web.http.json import View
from assay.web.http.problems import problems


class TakenView(View, frozen=True):
    """What became of a result: where the scan stands, whether it had one before, and which listings changed."""

    ok: bool
    status: DeepStatus
    already_known: bool
    withdrawn: list[str]


async def check_signature(connection: Connection, _handler: BaseRouteHandler) -> None:
    """Before the body is read as anything: who cannot sign learns nothing of what is wrong with it."""
    assert isinstance(connection, Request)
    assay, body = registry_of(connection), await connection.body()
    headers = connection.headers
    try:
        verify(secret_of(assay), body, headers.get(TIMESTAMP_HEADER), headers.get(SIGNATURE_HEADER), assay.clock.now())
    except Unauthenticated as problem:
        await _note(assay, connection, "unknown", problem)
        raise


@post(
    "/api/v1/webhooks/scan-results",
    summary="Deliver what a scan found",
    tags=["scan nodes"],
    opt=PUBLIC,
    guards=[check_signature],
    status_code=HTTP_200_OK,
    responses=problems(400, 401, 409, 413, 415, 503),
    request_max_body_size=LARGEST_RESULT_BYTES,
)
async def take_scan_results(assay: Assay, request: Request[Any, Any, Any], data: JSONBody[ScanResult]) -> TakenView:
    """`X-Webhook-Signature: sha256=…` is the HMAC-SHA256 over `X-Webhook-Timestamp`, a dot and the raw body.

    The timestamp (seconds) may be five minutes off. A delivery is taken once; a scan that has its result keeps it.
    """
    try:
        async with assay.store.begin() as db:
            taken = await take_result(db, data, assay.clock.now())
    except Conflict as problem:
        await _note(assay, request, str(data.scan_id), problem)
        raise
    return TakenView(ok=True, status=taken.status, already_known=taken.was_known, withdrawn=list(taken.withdrawn))


def secret_of(assay: App) -> str:
    """What results are signed with. Without it nothing is taken."""
    if assay.settings.webhook_secret is None:
        raise Unavailable("ASSAY_WEBHOOK_SECRET is not set, so no results are taken.", code="secret_missing")
    return assay.settings.webhook_secret.get_secret_value()


async def _note(assay: App, request: Request[Any, Any, Any], subject: str, problem: AssayError) -> None:
    async with assay.store.begin() as db:
        sender = request.client.host if request.client else "unknown"
        await note_refusal(db, f"webhook from {sender}", subject, problem.code, problem.message)
