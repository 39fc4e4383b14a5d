"""Live events over HTTP: payloads, rejected requests, and resources a stream must not hold."""

import json
import re
from collections.abc import AsyncIterator
from typing import Any
from uuid import uuid4

import httpx
import pytest

from assay.model.submission import State
from assay.serve.feed.hub import Hub
from assay.serve.feed.subscribers import SubscriberOptions
from assay.store.database.database import PoolOptions
from assay.store.submissions.transitions import Step
from assay.web.feed.json import encode_live_events
from assay.web.openapi import render_openapi
from tests.support.processes import until
from tests.support.registry import Registry
from tests.support.streams import (
    STREAM,
    a_batch,
    a_submission,
    changes_of_the_queue,
    go_around,
    reading,
    serving,
    step_on,
)
from tests.support.web.metrics import series
from tests.support.web.openapi import check
from tests.support.web.people import cookies_of, signed_in

NOBODY = "00000000-0000-0000-0000-000000000000"


REASON = {"reason_code": "critical", "reason_message": "It steals.", "next_step": None}


SCANNING = Step(State.TIER1_SCANNING, "fetched", {"commit": "c" * 40})


@pytest.fixture
async def url(registry: Registry) -> AsyncIterator[str]:
    """Serve the registry on a real port."""
    async with serving(registry.app) as address:
        yield address


async def metrics(url: str) -> str:
    """Return the Prometheus metrics."""
    async with httpx.AsyncClient(base_url=url) as client:
        return (await client.get("/metrics")).text


async def open_streams(url: str) -> float:
    """Return the number of open streams."""
    return series(await metrics(url), "assay_listeners")[""]


async def test_stream_sends_all_events_of_a_submission(registry: Registry, url: str) -> None:
    """Names, order and data match the OpenAPI document."""
    store = registry.app.store
    async with reading(url) as stream:
        assert stream.response.headers["content-type"] == "text/event-stream"
        assert stream.response.headers["cache-control"] == "no-store"
        assert stream.response.headers["x-accel-buffering"] == "no"
        assert (stream.parser.retry, stream.last_id) == (2000, "0")
        waiting = await a_submission(store)
        scanned = await step_on(store, waiting, SCANNING)
        refused = Step(State.TIER1_FAILED, "judged", {"score": 12, "reason": "critical"})
        await step_on(store, scanned, refused, score=12, **REASON)
        await a_batch(store, "one", "two")
        created, fetched, complete, failed, batch = events = await stream.take(5)
    assert [event.name for event in events] == [
        "submission_created",
        "state_changed",
        "scan_complete",
        "state_changed",
        "submissions_created",
    ]
    assert [event.id for event in events] == ["1", "2", "2", "3", "6"], "an id only when all of its serial was told"
    about = {"submissionId": str(waiting.id), "skillName": "pdf", "repository": "acme/tools"}
    nothing = {"score": None, "reason": None, "said": None}
    assert without_time(created) == {**about, "from": None, "state": "RECEIVED", "trigger": "submitted", **nothing}
    arrow = {"from": "RECEIVED", "state": "TIER1_SCANNING", "trigger": "fetched"}
    assert without_time(fetched) == {**about, **arrow, **nothing}
    assert without_time(complete) == {**about, "tier": 1, "score": 12}
    arrow = {"from": "TIER1_SCANNING", "state": "TIER1_FAILED", "trigger": "judged"}
    assert without_time(failed) == {**about, **arrow, "score": 12, "reason": "critical", "said": None}
    assert (batch.data["count"], batch.data["source"]) == (2, "bulk")
    described = ("SubmissionEventView", "SubmissionEventView", "ScanCompleteView", "SubmissionEventView")
    for event, view in zip(events, (*described, "SubmissionsCreatedView"), strict=True):
        check(event.data, {"$ref": f"#/components/schemas/{view}"}, event.name)


def without_time(event: Any) -> dict[str, Any]:
    """Return the data without its timestamp, which is checked."""
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", event.data["at"])
    return {key: value for key, value in event.data.items() if key != "at"}


def test_streams_are_described_in_openapi() -> None:
    """G63."""
    document = json.loads(render_openapi())
    for path in (STREAM, f"{STREAM}/{{submission_id}}"):
        operation = document["paths"][path]["get"]
        [(kind, answer)] = operation["responses"]["200"]["content"].items()
        assert kind == "text/event-stream"
        views = {each["$ref"].rpartition("/")[2] for each in answer["schema"]["oneOf"]}
        assert views == {"SubmissionEventView", "ScanCompleteView", "SubmissionsCreatedView", "GoneView"}
        assert "Last-Event-ID" in {each["name"] for each in operation["parameters"]}


@pytest.mark.parametrize("seen", [0, 1, 2, 3, 5])
async def test_reconnecting_client_receives_exactly_the_missed_events(registry: Registry, url: str, seen: int) -> None:
    """G74: the connection may end after any event; the stream resumes after the last id."""
    store = registry.app.store
    before = await step_on(store, await a_submission(store), SCANNING)
    before = await step_on(store, before, Step(State.RECEIVED, "lease lost"))
    before = await go_around(store, before)
    async with reading(url, after=0) as stream:
        await stream.until(seen) if seen else None
        last = stream.last_id
    assert last == str(seen)
    await step_on(store, before, SCANNING)
    async with reading(url, after=last) as stream:
        assert stream.last_id == last, "losing the connection again before anything happens must not skip anything"
        events = await stream.until(6)
    assert [int(event.id) for event in events] == await changes_of_the_queue(store, seen)


async def test_events_of_one_change_are_replayed_together(registry: Registry, url: str) -> None:
    """G74: a client disconnected between two events of one change receives both again."""
    store = registry.app.store
    scanned = await step_on(store, await a_submission(store), SCANNING)
    refused = Step(State.TIER1_FAILED, "judged", {"score": 12, "reason": "critical"})
    await step_on(store, scanned, refused, score=12, **REASON)
    async with reading(url, after=2) as stream:
        complete = await stream.next()
        assert (complete.name, stream.last_id) == ("scan_complete", "2")
    async with reading(url, after=2) as stream:
        assert [event.name for event in await stream.take(2)] == ["scan_complete", "state_changed"]
        assert stream.last_id == "3"


async def test_client_can_resume_before_its_first_event(registry: Registry, url: str) -> None:
    """G74."""
    store = registry.app.store
    before = await a_submission(store)
    async with reading(url) as stream:
        last = stream.last_id
    assert last == "1"
    await go_around(store, before)
    async with reading(url, after=last) as stream:
        assert [event.id for event in await stream.take(2)] == ["2", "3"]


async def test_unavailable_event_id_requires_a_reload(registry: Registry) -> None:
    """G74: an id that is too old, or from another registry, returns the client to the list."""
    store = registry.app.store
    live = Hub(store, registry.app.database_url, encode_live_events, SubscriberOptions(replay_size=3))
    before = await go_around(store, await go_around(store, await a_submission(store)))
    async with serving(registry.app, live) as url:
        for after, reason in ((1, "too_old"), (77, "unknown"), (2**63 - 1, "unknown")):
            async with reading(url, after=after) as stream:
                gone = await stream.next()
                assert (gone.name, gone.id, gone.data) == ("gone", "5", {"reason": reason, "newest": 5})
                check(gone.data, {"$ref": "#/components/schemas/GoneView"}, "gone")
                before = await go_around(store, before)
                assert [event.id for event in await stream.take(2)] == ["6", "7"]
            await undo(registry, 5)
            live.subscribers.replay_buffer.reset(5)


async def undo(registry: Registry, serial: int) -> None:
    """Delete the changes after a serial and reset the sequence."""
    async with registry.app.store.begin() as db:
        await db.exec_driver_sql(f"DELETE FROM change WHERE serial > {serial}")


BAD_IDS = ("", "abc", "-1", "1.5", "1 2", "1e3", "٣", "9223372036854775808", "1" * 21, "0x10")


async def test_malformed_event_id_is_rejected(registry: Registry, url: str) -> None:
    """G59."""
    async with httpx.AsyncClient(base_url=url) as client:
        for bad in BAD_IDS:
            answer = await client.get(STREAM, headers=[(b"last-event-id", bad.encode())])
            assert (answer.status_code, answer.headers["content-type"]) == (400, "application/problem+json"), bad
            assert "Last-Event-ID" in answer.json()["detail"] or "last_event_id" in answer.json()["detail"]
        for query in ("mine=maybe", "mine=", "since=1", "mine=1&mine=1"):
            assert (await client.get(f"{STREAM}?{query}")).status_code == 400, query


async def test_stream_of_one_submission(registry: Registry, url: str) -> None:
    """Only its own events; an unknown id is 404, a malformed one 400."""
    store = registry.app.store
    mine, other = await a_submission(store, "mine"), await a_submission(store, "other")
    async with reading(url, f"{STREAM}/{mine.id}") as stream:
        await go_around(store, other)
        await go_around(store, mine)
        events = await stream.take(2)
        assert [event.data["skillName"] for event in events] == ["mine", "mine"]
    async with reading(url, f"{STREAM}/{mine.id}", after=0) as stream:
        assert [event.data["skillName"] for event in await stream.take(3)] == ["mine"] * 3
    async with httpx.AsyncClient(base_url=url) as client:
        missing = await client.get(f"{STREAM}/{NOBODY}")
        assert (missing.status_code, missing.json()["code"]) == (404, "submission_not_found")
        assert (await client.get(f"{STREAM}/pdf")).status_code == 400
    await until_nobody_listens(url)


async def test_stream_of_own_submissions_requires_a_session(registry: Registry, url: str) -> None:
    """G76, G77: with the cookie that a browser sends; 401 without or with a broken one."""
    store, granted = registry.app.store, await signed_in(registry.app)
    account = str(granted.account.id)
    async with httpx.AsyncClient(base_url=url) as client:
        for cookies in ({}, {"assay_session": "nonsense"}):
            refused = await client.get(f"{STREAM}?mine=1", headers={"cookie": cookie_header(cookies)})
            assert (refused.status_code, refused.headers["content-type"]) == (401, "application/problem+json")
    async with reading(url, f"{STREAM}?mine=1", cookies=cookies_of(granted)) as stream:
        await a_submission(store, "theirs", str(uuid4()))
        await a_submission(store, "ours", account)
        await a_batch(store, "one", "two", submitter=account)
        first, second = await stream.take(2)
        assert (first.name, first.data["skillName"]) == ("submission_created", "ours")
        assert (second.name, second.data["count"]) == ("submissions_created", 2)


def cookie_header(cookies: dict[str, str]) -> str:
    """Return the Cookie header of a request."""
    return "; ".join(f"{name}={value}" for name, value in cookies.items())


async def until_nobody_listens(url: str) -> None:
    """Wait until the server has closed every stream."""

    async def nobody() -> bool:
        return await open_streams(url) == 0

    await until(nobody)


async def test_streams_have_their_own_metrics(registry: Registry, url: str) -> None:
    """Open, dropped and sent are counted apart from request durations."""
    store = registry.app.store
    async with reading(url) as first, reading(url):
        await a_submission(store)
        await first.next()
        text = await metrics(url)
        assert series(text, "assay_listeners") == {"": 2}
        assert series(text, "assay_listeners_dropped_total") == {"": 0}
        labels = f'method="GET",route="{STREAM}"'
        assert series(text, "assay_http_requests_total")[f'{labels},status="200"'] == 2
        assert series(text, "assay_http_request_seconds_count")[labels] == 2, "counted when it begins"

    await until_nobody_listens(url)
    text = await metrics(url)
    assert series(text, "assay_http_requests_total")[f'{labels},status="200"'] == 2
    assert series(text, "assay_http_request_seconds_count")[labels] == 2
    assert 1 <= series(text, "assay_events_sent_total")[""] <= 2


async def test_head_of_a_stream_returns_at_once(registry: Registry, url: str) -> None:
    async with httpx.AsyncClient(base_url=url, timeout=30) as client:
        answer = await client.head(STREAM)
        assert (answer.status_code, answer.headers["content-type"], answer.content) == (200, "text/event-stream", b"")
        # Without a server as well.
        answer = await registry.client.head(STREAM)
        assert (answer.status_code, answer.content) == (200, b"")
    await until_nobody_listens(url)


async def test_streams_hold_no_database_connection(registry: Registry, url: str) -> None:
    """More streams than pool connections, and other requests still work."""
    before = await a_submission(registry.app.store)
    number = PoolOptions().size + 2
    streams = [reading(url, path) for path in (STREAM, f"{STREAM}/{before.id}") for _ in range(number)]
    opened = [await stream.__aenter__() for stream in streams]
    async with httpx.AsyncClient(base_url=url, timeout=30) as client:
        assert (await client.get("/api/v1/submissions")).json()["total"] == 1
    assert registry.app.store.engine.pool.checkedout() <= 1, "the hub reads now and then, streams never"  # type: ignore[attr-defined]
    await go_around(registry.app.store, before)
    for stream in opened:
        assert [event.id for event in await stream.take(2)] == ["2", "3"]
    for stream in streams:
        await stream.__aexit__(None, None, None)


async def test_too_many_streams_are_rejected(registry: Registry) -> None:
    """G75: 503 with Retry-After until another stream ends."""
    live = Hub(registry.app.store, registry.app.database_url, encode_live_events, SubscriberOptions(max_subscribers=1))
    async with serving(registry.app, live) as url, httpx.AsyncClient(base_url=url) as client:
        async with reading(url):
            refused = await client.get(STREAM)
            assert (refused.status_code, refused.json()["code"]) == (503, "too_many_listeners")
            assert int(refused.headers["retry-after"]) >= 1
        await until_nobody_listens(url)
        async with reading(url):
            pass


async def test_idle_subscriber_that_disconnects_is_removed(registry: Registry, url: str) -> None:
    async with reading(url), reading(url):
        assert await open_streams(url) == 2
    await until_nobody_listens(url)
