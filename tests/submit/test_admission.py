"""Admission: idempotent, atomic, and the same for every way in."""

import asyncio
from uuid import uuid4

import pytest
from sqlalchemy import text

from assay.model.job import Job
from assay.model.repository import Host, RepositoryName
from assay.model.submission import Origin
from assay.store.database.database import Database
from assay.store.queue.jobs import enqueue
from assay.submit.admission import Admission, SubmissionRequest, admit_submission
from tests.support.registry import Registry
from tests.support.skills import a_bad_skill, a_skill

REQUEST = SubmissionRequest(RepositoryName(Host.GITHUB, "acme", "tools"), "greet", "SKILL.md", Origin.API)


async def count(store: Database, table: str) -> int:
    """Return the number of rows of a table."""
    async with store.begin() as db:
        return (await db.execute(text(f"SELECT count(*) FROM {table}"))).scalar_one()


async def test_row_job_event_and_change_record_commit_together(registry: Registry) -> None:
    """G1."""
    store = registry.app.store
    async with store.begin() as db:
        await admit_submission(db, REQUEST)
    tables = ("submission", "pgqueuer", "submission_event", "change")
    assert [await count(store, table) for table in tables] == [1, 1, 1, 1]


async def test_row_job_event_and_change_record_roll_back_together(registry: Registry) -> None:
    """G1."""
    store = registry.app.store
    with pytest.raises(RuntimeError):
        async with store.begin() as db:
            await admit_submission(db, REQUEST)
            raise RuntimeError("the request dies here")
    tables = ("submission", "pgqueuer", "submission_event", "change", "submission_count_delta")
    assert [await count(store, table) for table in tables] == [0, 0, 0, 0, 0]


async def test_job_cannot_be_enqueued_outside_a_transaction(registry: Registry) -> None:
    store = registry.app.store
    async with store.engine.connect() as db:
        with pytest.raises(AssertionError, match="in the transaction"):
            await enqueue(db, [Job(uuid4(), 1)], [0])


async def test_concurrent_submissions_create_one_row(registry: Registry) -> None:
    """G15: the unique key decides: one row, one job, one `created`."""

    async def submit(spelling: str) -> Admission:
        name = RepositoryName(Host.GITHUB, *spelling.split("/"))
        async with registry.app.store.begin() as db:
            request = SubmissionRequest(name, "greet", "SKILL.md", Origin.API)
            return (await admit_submission(db, request)).admission

    spellings = ["acme/tools", "Acme/Tools", "ACME/TOOLS", "acme/Tools"] * 5
    admissions = await asyncio.gather(*map(submit, spellings))
    assert sorted(admissions) == [Admission.CREATED] + [Admission.DUPLICATE] * 19
    store = registry.app.store
    assert [await count(store, table) for table in ("repository", "submission", "pgqueuer")] == [1, 1, 1]


@pytest.mark.process
async def test_refused_skill_can_be_resubmitted(registry: Registry) -> None:
    """G21: the same submission returns to the queue with fresh attempts and without the old reason."""
    repository = registry.github.add_repository("acme/tools", files=a_bad_skill("greet"))
    first = await registry.submit("acme/tools", "greet")
    await registry.work()
    assert (await registry.read(first["id"]))["state"] == "TIER1_FAILED"
    repository.push({"SKILL.md": a_skill("greet"), "scripts/setup.sh": None})
    again = await registry.submit("acme/tools", "greet")
    assert (again["id"], again["state"], again["duplicate"]) == (first["id"], "RECEIVED", False)
    await registry.work()
    detail = await registry.read(first["id"])
    assert (detail["state"], detail["reason"]) == ("PUBLISHED", None)


async def test_blocked_skill_stays_blocked(registry: Registry) -> None:
    """G15: resubmitting returns `blocked` and creates neither row nor job."""
    first = await registry.submit("acme/tools", "greet")
    store = registry.app.store
    async with store.begin() as db:
        change = "state = 'BLOCKED', reason_code = 'blocklisted', reason_message = 'Malware.'"
        await db.execute(text(f"UPDATE submission SET {change}"))
    again = await registry.submit("acme/tools", "greet")
    assert (again["id"], again["blocked"]) == (first["id"], True)
    assert [await count(store, table) for table in ("submission", "pgqueuer")] == [1, 1]


@pytest.mark.process
async def test_renamed_repository_is_one_repository(registry: Registry) -> None:
    """G54: by its numeric id; submissions under both names are listed once."""
    repository = registry.github.add_repository("acme/old", files={"SKILL.md": a_skill("greet")})
    await registry.submit("acme/old", "greet")
    await registry.work()
    repository.rename("acme/new")
    second = await registry.submit("acme/new", "greet")
    await registry.work()
    detail = await registry.read(second["id"])
    assert (detail["state"], detail["reason"]["code"]) == ("REJECTED", "repository_renamed")
    third = await registry.submit("acme/new", "greet")
    assert third["id"] != second["id"], "from now on the new name leads to the first submission"
    assert third["alreadyVerified"]
    repository.push({"SKILL.md": a_skill("greet", description="Says hello better.")})
    await registry.submit("acme/OLD", "greet")
    await registry.work()
    page = (await registry.client.get("/api/v1/skills")).json()
    assert [(skill["name"], skill["currentVersion"]) for skill in page["skills"]] == [("acme/new/greet", "1.0.1")]
    assert page["skills"][0]["repoUrl"].endswith("/acme/new")
    by_old_name = (await registry.client.get("/api/v1/skills/acme/old/greet")).json()
    assert by_old_name["skill"]["name"] == "acme/new/greet"
