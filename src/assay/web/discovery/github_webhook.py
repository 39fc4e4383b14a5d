"""`POST /api/v1/webhooks/github`: GitHub says that a repository has changed, and signs what it says."""

import hashlib
import hmac
from typing import Annotated, Any

import msgspec
from litestar import MediaType, Request, post
from litestar.params import HeaderParameter
from litestar.status_codes import HTTP_200_OK

from assay.app.app import App
from assay.discover.hook import take_message
from assay.model.errors import Forbidden, Invalid, Unauthenticated, Unavailable
from assay.settings import variable
from assay.store.submissions.idempotency import claim_key, keep_answer
from assay.web.discovery.json import HookView
from assay.web.http.access import PUBLIC
from assay.web.http.dependencies import Assay
from assay.web.http.problems import problems

SCOPE = "github-webhook"
LARGEST_MESSAGE_BYTES = 5 * 1024 * 1024
PREFIX = "sha256="

Said = Annotated[str, HeaderParameter(name="X-GitHub-Event", max_length=100, description="What happened.")]
Delivery = Annotated[str, HeaderParameter(name="X-GitHub-Delivery", max_length=100, description="Its number.")]
Signature = Annotated[
    str | None, HeaderParameter(name="X-Hub-Signature-256", max_length=100, description="Over the body as sent.")
]


@post(
    "/api/v1/webhooks/github",
    summary="Take a message of GitHub",
    tags=["webhooks"],
    opt=PUBLIC,
    status_code=HTTP_200_OK,
    request_max_body_size=LARGEST_MESSAGE_BYTES,
    responses=problems(400, 401, 403, 413, 503),
    media_type=MediaType.JSON,
)
async def github_hook(
    assay: Assay, request: Request[Any, Any, Any], event: Said, delivery: Delivery, signature: Signature = None
) -> HookView:
    """Nothing of a message is read before its signature is right; the same message is taken once."""
    body = await request.body()
    _check_signature(assay, body, signature)
    if not delivery.isprintable() or not delivery:
        raise Invalid("X-GitHub-Delivery: use visible characters.", code="bad_delivery")
    digest = f"sha256:{hashlib.sha256(body).hexdigest()}"
    async with assay.store.begin() as db:
        if await claim_key(db, SCOPE, delivery, digest) is not None:
            return HookView(ok=True, event=event, duplicate=True)
        web_url, now = assay.settings.github_web_url, assay.clock.now()
        requeued = await take_message(db, event, body, web_url=web_url, now=now)
        taken = HookView(ok=True, event=event, requeued=requeued)
        await keep_answer(db, SCOPE, delivery, HTTP_200_OK, msgspec.to_builtins(taken))
    return taken


def _check_signature(assay: App, body: bytes, given: str | None) -> None:
    secret = assay.settings.github_webhook_secret
    if secret is None:
        missing = variable("github_webhook_secret")
        raise Unavailable(f"{missing} is not set, so messages of GitHub cannot be checked.", code="secret_missing")
    if given is None:
        raise Unauthenticated("X-Hub-Signature-256: the message is not signed.", code="not_signed")
    right = PREFIX + hmac.new(secret.get_secret_value().encode(), body, hashlib.sha256).hexdigest()
    if not hmac.compare_digest(right.encode(), given.encode("utf-8", "replace")):
        raise Forbidden("X-Hub-Signature-256: it is not the signature of this message.", code="bad_signature")
