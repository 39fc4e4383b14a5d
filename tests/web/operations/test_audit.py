"""The audit trail: everything once, newest first, for admins only."""

from assay.store.operations.audit import record_audit
from tests.support.registry import SECRET, Registry

KEY = {"X-Internal-Key": SECRET}


async def test_pages_have_every_entry_once(registry: Registry) -> None:
    """Entries that come meanwhile do not move those that were seen."""
    async with registry.app.store.begin() as db:
        for number in range(5):
            await record_audit(db, "root", "queue_paused", f"queue {number}", {"number": number})
    first = (await registry.client.get("/api/v1/admin/audit?limit=2", headers=KEY)).json()
    assert [each["subject"] for each in first["events"]] == ["queue 4", "queue 3"]
    assert set(first["events"][0]) == {"id", "actor", "action", "subject", "detail", "createdAt"}
    assert first["events"][0]["detail"] == {"number": 4}
    async with registry.app.store.begin() as db:
        await record_audit(db, "root", "queue_resumed", "queue")
    seen, cursor = [], first["nextCursor"]
    while cursor is not None:
        page = (
            await registry.client.get("/api/v1/admin/audit", params={"limit": 2, "cursor": cursor}, headers=KEY)
        ).json()
        seen += [each["subject"] for each in page["events"]]
        cursor = page["nextCursor"]
    assert seen == ["queue 2", "queue 1", "queue 0"]


async def test_a_page_that_ends_exactly_has_no_next(registry: Registry) -> None:
    """Also without any entry."""
    empty = (await registry.client.get("/api/v1/admin/audit", headers=KEY)).json()
    assert empty == {"events": [], "nextCursor": None}
    async with registry.app.store.begin() as db:
        await record_audit(db, "root", "queue_paused", "queue")
    page = (await registry.client.get("/api/v1/admin/audit?limit=1", headers=KEY)).json()
    assert (len(page["events"]), page["nextCursor"]) == (1, None)


async def test_a_made_up_cursor_is_refused(registry: Registry) -> None:
    """By its name, and never with a failure of the database."""
    for cursor in ("x", "-1", "1.5", "٣", "9" * 30, ""):
        answer = await registry.client.get("/api/v1/admin/audit", params={"cursor": cursor}, headers=KEY)
        assert (cursor, answer.status_code) == (cursor, 400)


async def test_an_entry_lives_and_dies_with_what_it_tells_of(registry: Registry) -> None:
    """What was rolled back was not done, and nobody is said to have done it."""
    try:
        async with registry.app.store.begin() as db:
            await record_audit(db, "root", "queue_paused", "queue")
            raise LookupError
    except LookupError:
        pass
    assert (await registry.client.get("/api/v1/admin/audit", headers=KEY)).json()["events"] == []
