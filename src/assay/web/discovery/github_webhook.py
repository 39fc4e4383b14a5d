"""`POST /api/v1/webhooks/github`: signed notifications from GitHub that a repository has changed."""

import hashlib
from typing import Annotated, Any

import msgspec
from litestar import MediaType, Request, post
from litestar.params import HeaderParameter
from litestar.status_codes import HTTP_200_OK

from assay.app.app import App
from assay.certify.hmac_signature import has_hmac_signature
from assay.discover.github_webhook import handle_message
from assay.model.errors import Forbidden, Invalid, Unauthenticated, Unavailable
from assay.settings import variable_name
from assay.store.submissions.idempotency import claim_key, store_response
from assay.web.discovery.json import HookView
from assay.web.http.access import WEBHOOK
from assay.web.http.context import Assay
from assay.web.http.errors import problems

SCOPE = "github-webhook"
LARGEST_MESSAGE_BYTES = 5 * 1024 * 1024

Event = Annotated[str, HeaderParameter(name="X-GitHub-Event", max_length=100, description="The name of the event.")]
Delivery = Annotated[
    str, HeaderParameter(name="X-GitHub-Delivery", max_length=100, description="The unique id of the delivery.")
]
Signature = Annotated[
    str | None,
    HeaderParameter(
        name="X-Hub-Signature-256", max_length=100, description="The HMAC-SHA256 of the raw body, as `sha256=…`."
    ),
]


@post(
    "/api/v1/webhooks/github",
    summary="Receive a GitHub webhook",
    tags=["webhooks"],
    opt=WEBHOOK,
    status_code=HTTP_200_OK,
    request_max_body_size=LARGEST_MESSAGE_BYTES,
    responses=problems(400, 401, 403, 413, 503),
    media_type=MediaType.JSON,
)
async def github_hook(
    assay: Assay, request: Request[Any, Any, Any], event: Event, delivery: Delivery, signature: Signature = None
) -> HookView:
    """Requeue the submissions of a repository that has changed.

    The signature is verified before the body is parsed. A repeated delivery has no effect.
    """
    body = await request.body()
    _check_signature(assay, body, signature)
    if not delivery.isprintable() or not delivery:
        raise Invalid("X-GitHub-Delivery: only printable characters are allowed.", code="bad_delivery")
    digest = f"sha256:{hashlib.sha256(body).hexdigest()}"
    async with assay.store.begin() as db:
        if await claim_key(db, SCOPE, delivery, digest) is not None:
            return HookView(ok=True, event=event, duplicate=True)
        web_url, now = assay.settings.github_web_url, assay.clock.now()
        requeued = await handle_message(db, event, body, web_url=web_url, now=now)
        view = HookView(ok=True, event=event, requeued=requeued)
        await store_response(db, SCOPE, delivery, HTTP_200_OK, msgspec.to_builtins(view))
    return view


def _check_signature(assay: App, body: bytes, signature: str | None) -> None:
    secret = assay.settings.github_webhook_secret
    if secret is None:
        missing = variable_name("github_webhook_secret")
        raise Unavailable(f"{missing} is not set, so GitHub webhooks cannot be verified.", code="secret_missing")
    if signature is None:
        raise Unauthenticated("X-Hub-Signature-256: the signature is missing.", code="not_signed")
    if not has_hmac_signature(secret.get_secret_value(), body, signature):
        raise Forbidden("X-Hub-Signature-256: the signature does not match the body.", code="bad_signature")
