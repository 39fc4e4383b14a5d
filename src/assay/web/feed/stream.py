"""The queue as it happens: one stream of everything, or of one's own submissions, and one of each submission."""

from typing import Annotated
from uuid import UUID

from litestar import get
from litestar.openapi.datastructures import ResponseSpec
from litestar.params import FromPath, HeaderParameter, QueryParameter

from assay.model.errors import Invalid, Unauthenticated
from assay.serve.feed.hub import Hub
from assay.serve.feed.live_events import EVERYBODY, topic_of_account, topic_of_submission
from assay.store.submissions.submissions import get_submission
from assay.web.feed.events_json import EventView, encode_gone, encode_opening
from assay.web.http.dependencies import Assay, CalledBy, Live
from assay.web.http.problems import problems
from assay.web.http.sse import EVENT_STREAM, EventStream

LARGEST_SERIAL = 2**63 - 1
EVENTS = {
    200: ResponseSpec(
        EventView,  # type: ignore[arg-type] # Litestar takes a union, too
        generate_examples=False,
        description="Server-Sent Events without an end: `submission_created`, `state_changed`, `scan_complete`, "
        "`submissions_created`, `gone`. The schema is that of their `data`; the `id` is the serial of the change.",
        media_type=EVENT_STREAM,
    )
}
LastEventId = Annotated[
    str | None,
    HeaderParameter(
        name="Last-Event-ID", max_length=20, description="The last `id` that was received: the stream goes on after it."
    ),
]


@get("/stream", summary="Watch all submissions as they happen", responses={**EVENTS, **problems(400, 401, 503)})
async def watch_submissions(
    live: Live,
    caller: CalledBy,
    mine: Annotated[bool, QueryParameter(description="Only what I have submitted; needs an account.")] = False,
    last_event_id: LastEventId = None,
) -> EventStream:
    """Every change of state once, in one order, whichever process made it; many created at once are one event."""
    if not mine:
        return await open_stream(live, EVERYBODY, last_event_id)
    if caller.account_id is None:
        raise Unauthenticated("mine: sign in to watch your own submissions.")
    return await open_stream(live, topic_of_account(caller.account_id), last_event_id)


@get(
    "/stream/{submission_id:str}",
    summary="Watch one submission as it happens",
    responses={**EVENTS, **problems(400, 404, 503)},
)
async def watch_submission(
    assay: Assay, live: Live, submission_id: FromPath[UUID], last_event_id: LastEventId = None
) -> EventStream:
    """Every change of its state, from now on or after the `Last-Event-ID`."""
    async with assay.store.begin() as db:
        await get_submission(db, submission_id)
    return await open_stream(live, topic_of_submission(submission_id), last_event_id)


async def open_stream(live: Hub, topic: str, last_event_id: str | None) -> EventStream:
    """A stream of one topic, from now on or after an event that was received before."""
    after = _serial(last_event_id)
    listener = await live.listen(topic, after)
    opening = encode_opening(listener.start)
    if after is not None and listener.lost_track:
        opening += encode_gone(after, listener.start)
    return EventStream(live, listener, opening)


def _serial(last_event_id: str | None) -> int | None:
    if last_event_id is None:
        return None
    if not (last_event_id.isascii() and last_event_id.isdigit() and int(last_event_id) <= LARGEST_SERIAL):
        raise Invalid("Last-Event-ID: it must be the id of an event of this stream.", code="bad_last_event_id")
    return int(last_event_id)
