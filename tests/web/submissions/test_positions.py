"""One submission: position, estimate and next step in every state."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import pytest

from assay.model.submission import State
from assay.operations.park import park
from assay.store.queue.pauses import start_pause
from tests.support.registry import Registry
from tests.support.skills import a_bad_skill, a_repository
from tests.support.web.people import cookies_of, signed_in
from tests.support.web.statements import statements

LIST = "/api/v1/submissions"


async def wait(registry: Registry, *names: str) -> list[str]:
    """Create waiting submissions."""
    return [(await registry.submit("acme/tools", name, f"skills/{name}/SKILL.md"))["id"] for name in names]


async def places(registry: Registry, *ids: str) -> dict[str, Any]:
    """Return their positions from the API."""
    answer = await registry.client.get(f"{LIST}/positions", params={"ids": ",".join(ids)})
    assert answer.status_code == 200, answer.text
    body: dict[str, Any] = answer.json()
    return body


async def decide(database_url: str, number: int, *, minutes_ago: int = 10) -> None:
    """Record decisions in the past."""
    db = await asyncpg.connect(database_url)
    minute = datetime.now(UTC) - timedelta(minutes=minutes_ago)
    await db.execute(
        "INSERT INTO submission_arrival VALUES (date_trunc('minute', $1::timestamptz), 'REJECTED', $2)", minute, number
    )
    await db.close()


@pytest.mark.process
async def test_positions_of_waiting_submissions(registry: Registry) -> None:
    """G29: consistent in list, detail and positions; others are left out."""
    registry.github.add_repository("acme/done", files=a_repository("pdf"))
    done = (await registry.submit("acme/done", "pdf", "skills/pdf/SKILL.md"))["id"]
    await registry.work()
    ids = await wait(registry, "one", "two", "three")
    found = await places(registry, *reversed(ids), done, str(uuid4()), ids[0])
    assert {key: value["position"] for key, value in found["positions"].items()} == dict(
        zip(ids, (1, 2, 3), strict=True)
    )
    assert all(value["positionIsExact"] for value in found["positions"].values())
    assert found["waiting"] == 3
    assert (await registry.client.get(LIST)).json()["queuePositions"] == {
        each: number for number, each in enumerate(ids, 1)
    }
    for number, each in enumerate(ids, 1):
        detail = await registry.read(each)
        assert (detail["position"], detail["positionIsExact"], detail["waitingUntil"]) == (number, True, None)
    detail = await registry.read(done)
    assert [detail[name] for name in ("position", "positionIsExact", "etaSeconds", "waitingUntil")] == [None] * 4


async def test_estimate_is_position_divided_by_drain_rate(registry: Registry, database_url: str) -> None:
    """G8, G29: unknown without decisions and during a pause, never zero."""
    ids = await wait(registry, "one", "two")
    assert [each["etaSeconds"] for each in (await places(registry, *ids))["positions"].values()] == [None, None]
    await decide(database_url, 360)
    found = (await places(registry, *ids))["positions"]
    assert [found[each]["etaSeconds"] for each in ids] == [10, 20]
    assert (await registry.read(ids[1]))["etaSeconds"] == 20
    async with registry.app.store.begin() as db:
        await start_pause(db, reason="A test.", by="root", seconds=60)
    found = (await places(registry, *ids))["positions"]
    assert [found[each]["etaSeconds"] for each in ids] == [None, None]
    assert [found[each]["position"] for each in ids] == [1, 2]
    assert (await registry.read(ids[1]))["etaSeconds"] is None


async def test_delayed_job_reports_its_due_time(registry: Registry, database_url: str) -> None:
    """It ranks behind due jobs."""
    ids = await wait(registry, "one", "two")
    await decide(database_url, 3600)
    db = await asyncpg.connect(database_url)
    due_at = datetime.now(UTC) + timedelta(hours=1)
    await db.execute("UPDATE pgqueuer SET execute_after = $1 WHERE dedupe_key = $2", due_at, f"{ids[0]}:1")
    await db.close()
    found = (await places(registry, *ids))["positions"]
    assert [found[each]["position"] for each in ids] == [2, 1]
    assert found[ids[0]]["etaSeconds"] > 3500
    detail = await registry.read(ids[0])
    assert datetime.fromisoformat(detail["waitingUntil"]) == due_at
    assert "automatically" in detail["nextStep"]
    assert "number 2" in detail["nextStep"]


BAD_IDS = [
    ("", "bad_ids"),
    ("nonsense", "bad_ids"),
    (f"{UUID(int=1)},", "bad_ids"),
    (",".join(str(UUID(int=number)) for number in range(101)), "too_many_ids"),
]


async def test_invalid_ids_are_rejected(registry: Registry) -> None:
    """1 to 100 ids."""
    for ids, code in BAD_IDS:
        answer = await registry.client.get(f"{LIST}/positions", params={"ids": ids})
        assert (answer.status_code, answer.json()["code"]) == (400, code)
        assert "ids" in answer.json()["detail"]
    missing = await registry.client.get(f"{LIST}/positions")
    assert missing.status_code == 400
    assert "ids" in missing.json()["detail"]


async def test_hundred_positions_cost_as_much_as_two(registry: Registry) -> None:
    """G99."""
    ids = await wait(registry, *(f"skill-{number}" for number in range(100)))
    costs = []
    for some in (ids[:2], ids):
        with statements(registry.app.store) as made:
            found = await places(registry, *some)
        assert len(found["positions"]) == len(some)
        costs.append(len(made))
    assert costs[0] == costs[1] <= 8


async def test_every_state_has_a_next_step(registry: Registry, database_url: str) -> None:
    """G13: refusals use the remedy of their reason."""
    [number] = await wait(registry, "pdf")
    db = await asyncpg.connect(database_url)
    said = {}
    for state in State:
        reason = (
            ("low_score", "Scored 3.", "Fix line 7.") if state not in ("RECEIVED", "PUBLISHED") else (None, None, None)
        )
        if state is State.PUBLISHED:
            continue
        await db.execute(
            "UPDATE submission SET state = $1, reason_code = $3, reason_message = $4, next_step = $5 WHERE id = $2",
            state.value, UUID(number), *reason,
        )  # fmt: skip
        said[state] = (await registry.read(number))["nextStep"]
        await db.execute("UPDATE submission SET next_step = NULL WHERE id = $1", UUID(number))
        assert (await registry.read(number))["nextStep"], state
    await db.close()
    assert said[State.RECEIVED] == "No action needed: it is number 1 in the queue."
    assert all("Fix line 7." in said[state] for state in (State.TIER1_FAILED, State.REJECTED, State.NEEDS_REVIEW))
    assert all("Fix line 7." in said[state] for state in (State.FAILED, State.BLOCKED, State.DEQUEUED, State.ON_HOLD))
    assert "being examined" in said[State.TIER1_SCANNING] == said[State.TIER2_SCANNING]


@pytest.mark.process
async def test_next_step_along_a_journey(registry: Registry) -> None:
    """G13: published says where, refused what to change, parked why and by whom."""
    registry.github.add_repository("acme/tools", files=a_repository("pdf"))
    registry.github.add_repository("mallory/kit", files=a_bad_skill())
    [listed] = await wait(registry, "pdf")
    bad = (await registry.submit("mallory/kit", "steal"))["id"]
    await registry.work()
    assert "acme/tools/pdf" in (await registry.read(listed))["nextStep"]
    refused = await registry.read(bad)
    assert refused["nextStep"] == refused["reason"]["nextStep"]
    [held, taken] = await wait(registry, "one", "two")
    async with registry.app.store.begin() as db:
        await park(db, [UUID(held)], State.ON_HOLD, reason="We look into it.", by="root")
        await park(db, [UUID(taken)], State.DEQUEUED, reason="Spam.", by="root")
    for each, words in ((held, ("on hold", "root", "We look into it")), (taken, ("removed", "root", "Spam"))):
        sentence = (await registry.read(each))["nextStep"]
        assert all(word in sentence for word in words), sentence


async def test_ownership_is_shown_to_the_owner_only(registry: Registry, database_url: str) -> None:
    """`mine` is true only for the submitting account."""
    [number] = await wait(registry, "pdf")
    alice, bob = await signed_in(registry.app, "alice"), await signed_in(registry.app, "bob")
    db = await asyncpg.connect(database_url)
    await db.execute("UPDATE submission SET submitter = $1", str(alice.account.id))
    await db.close()
    seen = {}
    for name, cookies in (("alice", cookies_of(alice)), ("bob", cookies_of(bob)), ("nobody", {})):
        headers = {"cookie": "; ".join(f"{key}={value}" for key, value in cookies.items())}
        seen[name] = (await registry.client.get(f"{LIST}/{number}", headers=headers)).json()["mine"]
    assert seen == {"alice": True, "bob": False, "nobody": False}
