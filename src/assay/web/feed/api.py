"""The change feed, as pages and as it happens, and the keys that prove what was said."""

from typing import Annotated

from litestar import get
from litestar.openapi.datastructures import ResponseSpec
from litestar.params import QueryParameter

from assay.serve.feed.changes import follow_changes
from assay.serve.feed.live_events import CATALOGUE
from assay.store.versions.keys import list_keys
from assay.web.feed.events_json import ChangeEventView, GoneView
from assay.web.feed.stream import LastEventId, open_stream
from assay.web.http.access import PUBLIC
from assay.web.http.dependencies import Assay, Live
from assay.web.http.json import ChangesView, ChangeView, KeysView, KeyView
from assay.web.http.problems import problems
from assay.web.http.signing import SIGNED
from assay.web.http.sse import EVENT_STREAM, EventStream

EVENTS = {
    200: ResponseSpec(
        ChangeEventView | GoneView,  # type: ignore[arg-type] # Litestar takes a union, too
        generate_examples=False,
        description="Server-Sent Events without an end: `catalogue_changed` and `gone`. The `id` is the serial.",
        media_type=EVENT_STREAM,
    )
}


@get(
    "/api/v1/changes",
    summary="Follow every change",
    tags=["changes"],
    opt=PUBLIC | SIGNED,
    responses=problems(400, 503),
)
async def changes(
    assay: Assay,
    since: Annotated[int, QueryParameter(ge=0, le=2**62, description="The last serial you have.")] = 0,
    limit: Annotated[int, QueryParameter(ge=1, le=1000)] = 100,
) -> ChangesView:
    """Serials only grow, and a change that commits late is never skipped. `Assay-Signature` proves the page."""
    page = await follow_changes(assay.store, since=since, limit=limit)
    return ChangesView(
        registry=assay.settings.base_url,
        since=since,
        changes=[
            ChangeView(
                serial=each.serial,
                kind=each.kind,
                skill_id=each.skill_id,
                data=dict(each.data),
                created_at=each.created_at,
            )
            for each in page.changes
        ],
        next_since=page.next_since,
        has_more=page.has_more,
    )


@get(
    "/api/v1/changes/stream",
    summary="Watch the catalogue as it changes",
    tags=["changes"],
    opt=PUBLIC,
    responses={**EVENTS, **problems(400, 503)},
)
async def watch_catalogue(live: Live, last_event_id: LastEventId = None) -> EventStream:
    """Every change of the catalogue once, in the order of the feed; who missed too much gets `gone` and reads pages."""
    return await open_stream(live, CATALOGUE, last_event_id)


@get("/api/v1/skills/stream", opt=PUBLIC, include_in_schema=False)
async def watch_skills(live: Live, last_event_id: LastEventId = None) -> EventStream:
    """The same, where clients of the old platform look for it."""
    return await open_stream(live, CATALOGUE, last_event_id)


@get(
    "/.well-known/assay/keys.json",
    summary="Public keys of hallmarks and of signed answers",
    tags=["changes"],
    opt=PUBLIC,
    responses=problems(400, 503),
)
async def keys(assay: Assay) -> KeysView:
    """Whoever has these can check any hallmark and any signed answer offline."""
    async with assay.store.begin() as db:
        known = await list_keys(db)
    return KeysView(
        keys=[
            KeyView(
                id=key.id,
                public_key=key.public_key,
                algorithm=key.algorithm,
                created_at=key.created_at,
                retired_at=key.retired_at,
            )
            for key in known
        ]
    )
