"""The change feed in pages, live events as streams, and the public keys of this registry."""

from typing import Annotated
from uuid import UUID

from litestar import get
from litestar.openapi.datastructures import ResponseSpec
from litestar.params import FromPath, HeaderParameter, QueryParameter

from assay.model.errors import Invalid, Unauthenticated
from assay.serve.feed.changes import follow_changes
from assay.serve.feed.hub import Hub
from assay.serve.feed.live_events import ALL_SUBMISSIONS, CATALOGUE, topic_of_account, topic_of_submission
from assay.store.submissions.submissions import get_submission
from assay.store.versions.keys import list_keys
from assay.web.feed.json import (
    ChangeEventView,
    ChangesView,
    GoneView,
    KeysView,
    KeyView,
    QueueEventView,
    encode_gone,
    encode_opening,
)
from assay.web.http.access import PUBLIC
from assay.web.http.context import Assay, CalledBy, Live
from assay.web.http.errors import problems
from assay.web.http.signing import SIGNED
from assay.web.http.sse import EVENT_STREAM, EventStream

LARGEST_SERIAL = 2**63 - 1
CATALOGUE_EVENTS = {
    200: ResponseSpec(
        ChangeEventView | GoneView,  # type: ignore[arg-type] # Litestar takes a union, too
        generate_examples=False,
        description="An endless stream of server-sent events: `catalogue_changed` and `gone`. The schema is that of "
        "their `data`; the `id` is the serial of the change.",
        media_type=EVENT_STREAM,
    )
}
QUEUE_EVENTS = {
    200: ResponseSpec(
        QueueEventView,  # type: ignore[arg-type] # Litestar takes a union, too
        generate_examples=False,
        description="An endless stream of server-sent events: `submission_created`, `state_changed`, `scan_complete`, "
        "`submissions_created` and `gone`. The schema is that of their `data`; the `id` is the serial of the change.",
        media_type=EVENT_STREAM,
    )
}
LastEventId = Annotated[
    str | None,
    HeaderParameter(
        name="Last-Event-ID",
        max_length=20,
        description="The `id` of the last event received. The stream continues after it.",
    ),
]


@get(
    "/api/v1/changes",
    summary="Follow the change feed",
    tags=["changes"],
    opt=PUBLIC | SIGNED,
    responses=problems(400, 503),
)
async def changes(
    assay: Assay,
    since: Annotated[int, QueryParameter(ge=0, le=2**62, description="The last serial that you have processed.")] = 0,
    limit: Annotated[int, QueryParameter(ge=1, le=1000, description="Changes per page.")] = 100,
) -> ChangesView:
    """Return the changes after a serial. Serials only grow, and a change that commits late is never skipped.

    The page is signed in `Assay-Signature`.
    """
    page = await follow_changes(assay.store, since=since, limit=limit)
    return ChangesView.of(page, registry=assay.settings.base_url, since=since)


@get(
    "/api/v1/changes/stream",
    summary="Stream changes of the catalogue",
    tags=["changes"],
    opt=PUBLIC,
    responses={**CATALOGUE_EVENTS, **problems(400, 503)},
)
async def watch_catalogue(live: Live, last_event_id: LastEventId = None) -> EventStream:
    """Stream every change of the catalogue once, in the order of the feed.

    A client that missed too many changes gets `gone` and should read the change feed.
    """
    return await _open_stream(live, CATALOGUE, last_event_id)


@get("/api/v1/skills/stream", opt=PUBLIC, include_in_schema=False)
async def watch_skills(live: Live, last_event_id: LastEventId = None) -> EventStream:
    """Stream changes of the catalogue at the address that clients of the former platform use."""
    return await _open_stream(live, CATALOGUE, last_event_id)


@get("/stream", summary="Stream events of all submissions", responses={**QUEUE_EVENTS, **problems(400, 401, 503)})
async def watch_submissions(
    live: Live,
    caller: CalledBy,
    mine: Annotated[bool, QueryParameter(description="Only my own submissions; requires an account.")] = False,
    last_event_id: LastEventId = None,
) -> EventStream:
    """Stream every change of state once, in one order for all processes. A batch of new submissions is one event."""
    if not mine:
        return await _open_stream(live, ALL_SUBMISSIONS, last_event_id)
    if caller.account_id is None:
        raise Unauthenticated("mine: sign in to watch your own submissions.")
    return await _open_stream(live, topic_of_account(caller.account_id), last_event_id)


@get(
    "/stream/{submission_id:str}",
    summary="Stream events of one submission",
    responses={**QUEUE_EVENTS, **problems(400, 404, 503)},
)
async def watch_submission(
    assay: Assay, live: Live, submission_id: FromPath[UUID], last_event_id: LastEventId = None
) -> EventStream:
    """Stream every change of state of a submission, from now on or after `Last-Event-ID`."""
    async with assay.store.begin() as db:
        await get_submission(db, submission_id)
    return await _open_stream(live, topic_of_submission(submission_id), last_event_id)


@get(
    "/.well-known/assay/keys.json",
    summary="List public keys",
    tags=["changes"],
    opt=PUBLIC,
    responses=problems(400, 503),
)
async def keys(assay: Assay) -> KeysView:
    """List the public keys with which hallmarks and signed responses can be verified offline."""
    async with assay.store.begin() as db:
        return KeysView(keys=[KeyView.of(key) for key in await list_keys(db)])


async def _open_stream(live: Hub, topic: str, last_event_id: str | None) -> EventStream:
    after = _parse_serial(last_event_id)
    subscriber = await live.subscribe(topic, after)
    opening = encode_opening(subscriber.start)
    if after is not None and subscriber.has_gap:
        opening += encode_gone(after, subscriber.start)
    return EventStream(live, subscriber, opening)


def _parse_serial(last_event_id: str | None) -> int | None:
    if last_event_id is None:
        return None
    if not (last_event_id.isascii() and last_event_id.isdigit() and int(last_event_id) <= LARGEST_SERIAL):
        raise Invalid("Last-Event-ID: must be the id of an event of this stream.", code="bad_last_event_id")
    return int(last_event_id)
