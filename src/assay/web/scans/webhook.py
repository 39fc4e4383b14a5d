"""`POST /api/v1/webhooks/scan-results`: signed results from scan nodes."""

from typing import Any

from litestar import Request, post
from litestar.handlers import BaseRouteHandler
from litestar.params import JSONBody
from litestar.status_codes import HTTP_200_OK

from assay.app.app import App
from assay.deepscan.messages import LARGEST_RESULT_BYTES, ScanResult
from assay.deepscan.results import accept_result
from assay.deepscan.signature import SIGNATURE_HEADER, TIMESTAMP_HEADER, verify
from assay.model.deep_scan import DeepStatus
from assay.model.errors import AssayError, Conflict, Unauthenticated, Unavailable
from assay.store.scans.deliveries import record_refusal
from assay.web.http.access import WEBHOOK
from assay.web.http.context import Assay, Connection, registry_of
from assay.web.http.errors import problems
from assay.web.http.json import View
from assay.web.http.limits import LimitClass, spend_on


class TakenView(View, frozen=True):
    """The status of the scan after the delivery, whether it already had a result, and the listings withdrawn."""

    ok: bool
    status: DeepStatus
    already_known: bool
    withdrawn: list[str]


async def check_signature(connection: Connection, _handler: BaseRouteHandler) -> None:
    """Verify the signature before the body is parsed, so that unsigned requests learn nothing about errors in it."""
    assert isinstance(connection, Request)
    assay, body = registry_of(connection), await connection.body()
    headers = connection.headers
    try:
        verify(secret_of(assay), body, headers.get(TIMESTAMP_HEADER), headers.get(SIGNATURE_HEADER), assay.clock.now())
    except Unauthenticated as error:
        await spend_on(connection, LimitClass.WRITES, 1)
        await _record_refusal(assay, connection, "unknown", error)
        raise


@post(
    "/api/v1/webhooks/scan-results",
    summary="Deliver deep scan results",
    tags=["scan nodes"],
    opt=WEBHOOK,
    guards=[check_signature],
    status_code=HTTP_200_OK,
    responses=problems(400, 401, 409, 413, 415, 503),
    request_max_body_size=LARGEST_RESULT_BYTES,
)
async def take_scan_results(assay: Assay, request: Request[Any, Any, Any], data: JSONBody[ScanResult]) -> TakenView:
    """Store the result of a deep scan. A scan that already has a result keeps it, so deliveries can be repeated.

    Sign the request with `X-Webhook-Signature: sha256=…`, the HMAC-SHA256 over `X-Webhook-Timestamp`, a dot and the raw
    body. The timestamp, in seconds, may differ from the server's clock by five minutes.
    """
    try:
        async with assay.store.begin() as db:
            result = await accept_result(db, data, assay.clock.now())
    except Conflict as error:
        await _record_refusal(assay, request, str(data.scan_id), error)
        raise
    return TakenView(ok=True, status=result.status, already_known=result.was_known, withdrawn=list(result.withdrawn))


def secret_of(assay: App) -> str:
    """Return the signing secret; Unavailable if it is not set."""
    if assay.settings.webhook_secret is None:
        raise Unavailable("ASSAY_WEBHOOK_SECRET is not set, so deep scan results are refused.", code="secret_missing")
    return assay.settings.webhook_secret.get_secret_value()


async def _record_refusal(assay: App, request: Request[Any, Any, Any], subject: str, error: AssayError) -> None:
    async with assay.store.begin() as db:
        sender = request.client.host if request.client else "unknown"
        await record_refusal(db, f"webhook from {sender}", subject, error.code, error.message)
