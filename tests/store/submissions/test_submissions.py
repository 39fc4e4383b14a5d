"""Transitions are guarded by state and version and recorded in the same statement."""

import asyncio
from uuid import UUID, uuid4

import pytest
from sqlalchemy import text
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.submission import TRANSITIONS, State, Submission
from assay.store.submissions.counts import correct_counts, count_all_rows, count_by_state, fold_counts
from assay.store.submissions.submissions import get_submission, list_events
from assay.store.submissions.transitions import LostLease, Move, Step, claim_submissions, move, move_all, renew
from tests.support.registry import Registry
from tests.support.web.statements import statements

REASON = {"reason_code": "test", "reason_message": "Because."}
HELD = {"reason_code": "held", "reason_message": "An admin looks into it."}


async def a_submission(registry: Registry, name: str = "greet") -> Submission:
    """Create a waiting submission."""
    accepted = await registry.submit("acme/tools", name)
    async with registry.app.store.begin() as db:
        return await get_submission(db, UUID(accepted["id"]))


async def claim(db: AsyncConnection, submission: Submission, worker: str = "one") -> Submission:
    """Take its lease."""
    wanted = [(submission.id, submission.cycle)]
    return (await claim_submissions(db, wanted, worker=worker, lease_seconds=60))[submission.id]


async def test_undefined_transition_is_rejected(registry: Registry) -> None:
    """G4."""
    submission = await a_submission(registry)
    for start in State:
        for end in set(State) - TRANSITIONS[start]:
            pretended = Submission(**{**_fields(submission), "state": start})
            async with registry.app.store.begin() as db:
                with pytest.raises(AssertionError, match="no transition"):
                    await move(db, pretended, Step(end, "test"), actor="test")


async def test_stale_version_cannot_write(registry: Registry) -> None:
    """G5: of two readers of a row, one writes."""
    submission = await a_submission(registry)
    async with registry.app.store.begin() as db:
        moved = await move(db, submission, Step(State.ON_HOLD, "held"), actor="admin", **HELD)
    async with registry.app.store.begin() as db:
        with pytest.raises(LostLease):
            await move(db, submission, Step(State.REJECTED, "late"), actor="worker", **REASON)
    async with registry.app.store.begin() as db:
        assert await get_submission(db, submission.id) == moved
        assert [event.to_state for event in await list_events(db, submission.id)] == [State.RECEIVED, State.ON_HOLD]


async def test_worker_that_lost_its_lease_cannot_write(registry: Registry) -> None:
    """G5: also its own earlier claim."""
    submission = await a_submission(registry)
    async with registry.app.store.begin() as db:
        slow = await claim(db, submission)
        slow = await move(db, slow, Step(State.TIER1_SCANNING, "fetched"), actor="worker")
    async with registry.app.store.begin() as db:
        quick = await claim(db, submission)
        assert quick.state is State.RECEIVED
    async with registry.app.store.begin() as db:
        with pytest.raises(LostLease):
            await move(db, slow, Step(State.TIER1_FAILED, "judged"), actor="worker", **REASON)
        with pytest.raises(LostLease):
            await renew(db, slow)
        assert (await renew(db, quick)).version == quick.version
    async with registry.app.store.begin() as db:
        arrows = [(event.from_state, event.to_state, event.trigger) for event in await list_events(db, submission.id)]
    assert arrows[-1] == (State.TIER1_SCANNING, State.RECEIVED, "lease lost")


async def test_one_of_many_concurrent_writers_wins(registry: Registry) -> None:
    """G5."""
    submission = await a_submission(registry)

    async def hold() -> bool:
        async with registry.app.store.begin() as db:
            try:
                await move(db, submission, Step(State.ON_HOLD, "held"), actor="admin", **HELD)
            except LostLease:
                return False
            return True

    assert sum(await asyncio.gather(*(hold() for _ in range(20)))) == 1


async def test_job_of_an_earlier_cycle_does_nothing(registry: Registry) -> None:
    submission = await a_submission(registry)
    async with registry.app.store.begin() as db:
        wanted = [(submission.id, 2), (uuid4(), 1)]
        assert await claim_submissions(db, wanted, worker="one", lease_seconds=60) == {}


async def test_counters_match_the_table_at_every_moment(registry: Registry) -> None:
    """G11."""
    waiting = [await a_submission(registry, f"skill-{number}") for number in range(30)]

    async def hold(submission: Submission) -> None:
        async with registry.app.store.begin() as db:
            await move(db, submission, Step(State.ON_HOLD, "held"), actor="admin", **HELD)
            await fold_counts(db)

    async def watch() -> None:
        for _ in range(20):
            async with registry.app.store.snapshot() as db:
                assert await count_by_state(db) == await count_all_rows(db)

    await asyncio.gather(watch(), *map(hold, waiting))
    async with registry.app.store.begin() as db:
        await fold_counts(db)
        assert (await count_by_state(db))[State.ON_HOLD] == 30
        assert (await db.execute(text("SELECT count(*) FROM submission_count_delta"))).scalar_one() == 0


@pytest.mark.parametrize(
    ("change", "constraint"),
    [
        ("state = 'REJECTED'", "refusal_has_reason"),
        ("state = 'PUBLISHED'", "published_is_listed"),
        ("state = 'LOST'", "submission_state_check"),
        ("lease_owner = 'x'", "submission_lease_check"),
        ("upload_digest = 'sha256:0'", "upload_digest"),
    ],
)
async def test_database_enforces_invariants(registry: Registry, change: str, constraint: str) -> None:
    """G4, G13: no refusal without a reason, no PUBLISHED without a listing."""
    submission = await a_submission(registry)
    with pytest.raises(IntegrityError, match=constraint):
        async with registry.app.store.begin() as db:
            await db.execute(text(f"UPDATE submission SET {change} WHERE id = :id"), {"id": submission.id})


async def test_event_requires_a_target_state(registry: Registry) -> None:
    """G4."""
    submission = await a_submission(registry)
    with pytest.raises(IntegrityError, match="to_state"):
        async with registry.app.store.begin() as db:
            statement = "INSERT INTO submission_event (submission_id, trigger, actor) VALUES (:id, 'x', 'y')"
            await db.execute(text(statement), {"id": submission.id})


def _fields(submission: Submission) -> dict[str, object]:
    return {name: getattr(submission, name) for name in Submission.__dataclass_fields__}


async def test_transition_is_one_statement(registry: Registry) -> None:
    """G4: for many submissions as well."""
    waiting = [await a_submission(registry, f"skill-{number}") for number in range(5)]
    moves = [Move(each, (Step(State.ON_HOLD, "held"),), "admin", HELD) for each in waiting]
    async with registry.app.store.begin() as db:
        with statements(registry.app.store) as seen:
            moved = await move_all(db, moves)
    assert (len(moved), len(seen)) == (5, 1)


async def test_derived_data_can_be_rebuilt(registry: Registry) -> None:
    """G6."""
    ids = [str((await a_submission(registry, f"skill-{number}")).id) for number in range(3)]
    before = [await registry.read(each) for each in ids]
    async with registry.app.store.begin() as db:
        for table in ("submission_count", "submission_count_delta", "submission_arrival", "alarm", "chore", "process"):
            await db.execute(text(f"DELETE FROM {table}"))
    listed = (await registry.client.get("/api/v1/submissions")).json()
    assert [each["id"] for each in listed["submissions"]] == ids[::-1]
    assert [(await registry.read(each))["stateHistory"] for each in ids] == [each["stateHistory"] for each in before]
    async with registry.app.store.begin() as db:
        await correct_counts(db)
    assert (await registry.client.get("/api/v1/submissions")).json()["total"] == 3
