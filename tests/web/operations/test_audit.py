"""The audit trail: every event once, newest first, administrators only."""

from assay.store.operations.audit import record_audit
from tests.support.registry import SECRET, Registry

KEY = {"X-Internal-Key": SECRET}


async def test_paging_shows_every_audit_event_once(registry: Registry) -> None:
    """New events do not shift the pages."""
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


async def test_last_full_page_has_no_cursor(registry: Registry) -> None:
    """Nor has an empty list."""
    empty = (await registry.client.get("/api/v1/admin/audit", headers=KEY)).json()
    assert empty == {"events": [], "nextCursor": None}
    async with registry.app.store.begin() as db:
        await record_audit(db, "root", "queue_paused", "queue")
    page = (await registry.client.get("/api/v1/admin/audit?limit=1", headers=KEY)).json()
    assert (len(page["events"]), page["nextCursor"]) == (1, None)


async def test_forged_cursor_is_rejected(registry: Registry) -> None:
    for cursor in ("x", "-1", "1.5", "٣", "9" * 30, ""):
        answer = await registry.client.get("/api/v1/admin/audit", params={"cursor": cursor}, headers=KEY)
        assert (cursor, answer.status_code) == (cursor, 400)


async def test_audit_event_is_rolled_back_with_its_action(registry: Registry) -> None:
    try:
        async with registry.app.store.begin() as db:
            await record_audit(db, "root", "queue_paused", "queue")
            raise LookupError
    except LookupError:
        pass
    assert (await registry.client.get("/api/v1/admin/audit", headers=KEY)).json()["events"] == []
