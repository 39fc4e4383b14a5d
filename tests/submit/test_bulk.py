"""Bulk admission: one function, counts that add up, one announcement."""

import asyncio

import pytest
from sqlalchemy import text

from assay.model.errors import Invalid
from assay.model.submission import State
from assay.store.database.database import Database
from assay.store.repositories.repositories import find_or_add_repositories
from assay.submit.admission import Admission, Admitted, SubmissionRequest
from assay.submit.bulk import admit_batch
from tests.support.processes import check_invariants
from tests.support.registry import Registry
from tests.support.skills import a_skill
from tests.support.submissions import a_request
from tests.support.web.statements import statements


async def rows(store: Database, table: str) -> int:
    """Return the number of rows of a table."""
    async with store.begin() as db:
        return (await db.execute(text(f"SELECT count(*) FROM {table}"))).scalar_one()


async def test_bulk_admission_uses_a_constant_number_of_statements(registry: Registry) -> None:
    """G20: jobs are inserted by the hundred."""
    store = registry.app.store
    with statements(store) as one:
        async with store.begin() as db:
            await admit_batch(db, [a_request("only")])
    with statements(store) as many:
        async with store.begin() as db:
            await admit_batch(db, [a_request(f"skill-{number}", f"acme/repo-{number % 50}") for number in range(1000)])
    jobs_of_one, jobs_of_many = (sum("INTO pgqueuer" in each for each in seen) for seen in (one, many))
    assert (jobs_of_one, jobs_of_many) == (1, 10)
    assert len(many) - jobs_of_many <= len(one) - jobs_of_one
    assert await rows(store, "submission") == await rows(store, "pgqueuer") == 1001
    await check_invariants(store)


async def test_duplicates_within_a_batch_are_one_submission(registry: Registry) -> None:
    """G15, G16: also in other spellings of the repository."""
    items = [a_request("pdf"), a_request("pdf", "Acme/TOOLS"), a_request("csv"), a_request("pdf")]
    async with registry.app.store.begin() as db:
        batch = await admit_batch(db, items)
    admissions = [each.admission for each in batch.results if isinstance(each, Admitted)]
    assert admissions == [Admission.CREATED, Admission.DUPLICATE, Admission.CREATED, Admission.DUPLICATE]
    first, second, _, fourth = (each.submission.id for each in batch.results if isinstance(each, Admitted))
    assert first == second == fourth
    assert await rows(registry.app.store, "submission") == 2


async def test_invalid_item_does_not_stop_the_others(registry: Registry) -> None:
    """G19: its error keeps its place in the results."""
    async with registry.app.store.begin() as db:
        batch = await admit_batch(db, [a_request("pdf"), Invalid("no such URL"), a_request("csv")])
    assert [index for index, _ in batch.errors] == [1]
    assert batch.count(Admission.CREATED) == 2


async def test_batch_is_announced_once(registry: Registry) -> None:
    """G20: each submission names its batch."""
    async with registry.app.store.begin() as db:
        batch = await admit_batch(db, [a_request(f"skill-{number}") for number in range(5)])
    async with registry.app.store.begin() as db:
        found = (await db.execute(text("SELECT kind, data->>'batch', data->>'count' FROM change ORDER BY id"))).all()
    assert found == [*[("submission", str(batch.id), None)] * 5, ("bulk", str(batch.id), "5")]


async def test_batch_of_duplicates_is_not_announced(registry: Registry) -> None:
    """G20."""
    for _ in range(2):
        async with registry.app.store.begin() as db:
            await admit_batch(db, [a_request("pdf")])
    assert await rows(registry.app.store, "change") == 2


@pytest.mark.process
async def test_batch_reopens_decided_submissions_unless_told_otherwise(registry: Registry) -> None:
    """G21."""
    registry.github.add_repository("acme/tools", files={"skills/pdf/SKILL.md": a_skill("pdf")})
    store = registry.app.store
    async with store.begin() as db:
        await admit_batch(db, [a_request("pdf"), a_request("missing")])
    await registry.work()
    for may_reopen, wanted in ((False, Admission.DUPLICATE), (True, Admission.REOPENED)):
        async with store.begin() as db:
            batch = await admit_batch(db, [a_request("pdf"), a_request("missing")], may_reopen=may_reopen)
        assert [each.admission for each in batch.results if isinstance(each, Admitted)] == [wanted, wanted]
    assert [each.submission.state for each in batch.results if isinstance(each, Admitted)] == [State.RECEIVED] * 2
    await registry.work()
    await check_invariants(store)
    assert await rows(store, "submission") == 2


@pytest.mark.parametrize("is_known", [False, True], ids=["new repositories", "known repositories"])
async def test_concurrent_batches_of_the_same_skills(registry: Registry, is_known: bool) -> None:
    """G15: in every order, each skill gets one submission, and the counts add up."""
    clients = 20
    items = [a_request(f"skill-{number}", f"acme/repo-{number % 100}") for number in range(1000)]
    if is_known:
        async with registry.app.store.begin() as db:
            await find_or_add_repositories(db, [item.repository for item in items])

    async def send(client: int) -> dict[Admission, int]:
        # From both ends: inserting in the given order would deadlock.
        mine = items if client % 2 else items[::-1]
        async with registry.app.store.begin() as db:
            batch = await admit_batch(db, mine)
        return {admission: batch.count(admission) for admission in Admission}

    answers = await asyncio.gather(*(send(client) for client in range(clients)))
    assert all(sum(answer.values()) == 1000 for answer in answers)
    assert sum(answer[Admission.CREATED] for answer in answers) == 1000
    assert await rows(registry.app.store, "submission") == await rows(registry.app.store, "pgqueuer") == 1000
    assert await rows(registry.app.store, "repository") == 100
    await check_invariants(registry.app.store)


async def test_batches_in_opposite_order_do_not_deadlock(registry: Registry) -> None:
    """G15: rows are inserted in one order."""
    items = [a_request(f"skill-{number}") for number in range(5000)]
    async with registry.app.store.begin() as db:
        await find_or_add_repositories(db, [items[0].repository])

    async def send(mine: list[SubmissionRequest]) -> int:
        async with registry.app.store.begin() as db:
            return (await admit_batch(db, mine)).count(Admission.CREATED)

    assert sum(await asyncio.gather(send(items), send(items[::-1]), send(items), send(items[::-1]))) == 5000
