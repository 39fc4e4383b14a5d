"""A few hundred submissions in every condition, and a Python model of any list of them."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any
from uuid import UUID

import asyncpg

from assay.model.job import Job
from assay.model.submission import ACTIVE, REFUSED, Origin, State

REPOSITORIES = ("acme/tools", "Acme/under_score", "beta/underXscore", "beta/mail-100", "Gamma/über-kit")
NAMES = ("pdf", "PDF-merge", "50% off", "50x off", "a_b c", "aXb c", "email", "Übersicht", "zz top", "back\\slash")
REASONS = ("low_score", "source_not_found", "waiting")
ALICE, BOB = "0198c0de-0000-7000-8000-00000000000a", "0198c0de-0000-7000-8000-00000000000b"
DIGEST = f"sha256:{'a' * 64}"
# One listing for all published ones.
LISTING = (
    f"INSERT INTO content (digest, files, file_count, size_bytes) VALUES ('{DIGEST}', '[]', 1, 1)",
    "INSERT INTO scan (content_digest, tier, engine, ruleset, has_code, outcome, decision, score, duration_ms) "
    f"VALUES ('{DIGEST}', 1, 'test', '1', false, 'PASS', 'approve', 90, 1)",
    "WITH listed AS (INSERT INTO skill (id, name, repository_id, skill_path, display_name, description, author, tier, "
    "method, score, trust_score, trust_tier, current_version_id) SELECT gen_random_uuid(), 'acme/tools/pdf', min(id), "
    "'SKILL.md', 'pdf', 'A skill.', 'acme', 'SCANNED', 'static', 90, 50, 'T2', gen_random_uuid() FROM repository "
    "RETURNING id, current_version_id) "
    "INSERT INTO skill_version (id, skill_id, version, ordinal, content_digest, commit, scan_id, tier, score, hallmark) "
    f"SELECT current_version_id, listed.id, '1', 1, '{DIGEST}', '{'b' * 40}', scan.id, 'SCANNED', 90, '{{}}' "
    "FROM listed, scan",
)
INSERT = (
    "INSERT INTO submission (id, repository_id, skill_name, skill_path, state, origin, submitter, reason_code, "
    "reason_message, created_at, updated_at, cycle, skill_id) SELECT $1, repository.id, $3, $4, $5, $6, $7, $8, $8, "
    "$9, $10, $11, CASE WHEN $5 = 'PUBLISHED' THEN (SELECT id FROM skill LIMIT 1) END "
    "FROM repository WHERE owner || '/' || name = $2"
)
ENQUEUE = (
    "INSERT INTO pgqueuer (id, priority, status, entrypoint, dedupe_key, payload, execute_after) "
    "VALUES ($1, $2, $3::pgqueuer_status, 'submission', $4, $5, $6)"
)


@dataclass(frozen=True)
class Queued:
    """A job in the queue."""

    id: int
    key: str
    status: str
    priority: int
    due_at: datetime

    def turn(self, now: datetime) -> tuple[int, float, int]:
        """Return the claim order: running, due by priority and age, delayed by time, held."""
        if self.status != "queued":
            return {"picked": 0, "failed": 3}[self.status], 0, self.id
        return (1, -self.priority, self.id) if self.due_at < now else (2, self.due_at.timestamp(), self.id)


@dataclass(frozen=True)
class Member:
    """A submission."""

    id: UUID
    repository: str
    skill_name: str
    skill_path: str
    state: State
    origin: Origin
    submitter: str | None
    reason: str | None
    created_at: datetime
    updated_at: datetime
    cycle: int

    @property
    def key(self) -> str:
        """Return the key of its job."""
        return f"{self.id}:{self.cycle}"


@dataclass(frozen=True)
class Crowd:
    """All submissions and their jobs in claim order."""

    members: list[Member]
    jobs: list[Queued]
    now: datetime

    def positions(self) -> dict[str, int]:
        """Return positions by key."""
        waiting = sorted((job for job in self.jobs if job.status == "queued"), key=lambda job: job.turn(self.now))
        return {job.key: number for number, job in enumerate(waiting, 1)}

    def ordered(self, members: Iterable[Member], sort: str, descending: bool) -> list[Member]:
        """Return the members in list order."""
        turns = {job.key: job.turn(self.now) for job in self.jobs}
        states = list(State)
        keys: dict[str, Callable[[Member], Any]] = {
            "createdAt": lambda each: (each.created_at, each.id),
            "updatedAt": lambda each: (each.updated_at, each.id),
            "skillName": lambda each: (each.skill_name, each.id),
            "processingOrder": lambda each: turns[each.key],
        }
        if sort == "state":
            newest_first = sorted(members, key=keys["createdAt"], reverse=True)
            return sorted(newest_first, key=lambda each: states.index(each.state) * (-1 if descending else 1))
        return sorted(members, key=keys[sort], reverse=descending)


def a_crowd(number: int, seed: int = 1) -> Crowd:
    """Build a reproducible crowd; times have few distinct values, so that ties decide."""
    random, now = Random(seed), datetime.now(UTC).replace(microsecond=0)
    members, jobs = [], []
    for each in range(number):
        state = random.choice(list(State))
        reason = random.choice(REASONS) if state in REFUSED else random.choice((None, None, "waiting"))
        created_at = now - timedelta(hours=random.randrange(1, 40))
        member = Member(
            id=UUID(int=random.getrandbits(128)),
            repository=random.choice(REPOSITORIES),
            skill_name=random.choice(NAMES),
            skill_path=f"skills/{each}/SKILL.md",
            state=state,
            origin=random.choice(list(Origin)),
            submitter=random.choice((None, ALICE, BOB)),
            reason=None if state is State.PUBLISHED else reason,
            created_at=created_at,
            updated_at=created_at + timedelta(hours=random.randrange(3)),
            cycle=random.randrange(1, 4),
        )
        members.append(member)
        if state in ACTIVE:
            jobs.append(_job(random, member.key, now))
        elif random.random() < 0.1:
            # Just decided; the worker has not updated the queue yet.
            jobs.append(Queued(random.getrandbits(40), member.key, "picked", 0, now - timedelta(hours=1)))
        if state is State.RECEIVED and member.cycle > 1 and random.random() < 0.2:
            # A job of an earlier cycle, which finds nothing to do.
            jobs.append(Queued(random.getrandbits(40), f"{member.id}:1", "queued", 0, now - timedelta(hours=1)))
    return Crowd(members, jobs, now)


def _job(random: Random, key: str, now: datetime) -> Queued:
    status = random.choices(("queued", "picked", "failed"), (8, 1, 1))[0]
    due_at = now + timedelta(hours=random.choice((-2, -2, -2, -1, 1, 2)))
    return Queued(random.getrandbits(40), key, status, random.choice((0, 0, 0, 5, -5)), due_at)


async def settle(database_url: str, crowd: Crowd) -> None:
    """Write the crowd into an empty registry."""
    db = await asyncpg.connect(database_url)
    async with db.transaction():
        for name in REPOSITORIES:
            await db.execute("INSERT INTO repository (host, owner, name) VALUES ('github', $1, $2)", *name.split("/"))
        for statement in LISTING:
            await db.execute(statement)
        await db.executemany(INSERT, [tuple(each.__dict__.values()) for each in crowd.members])
        await db.executemany(ENQUEUE, [_row(job) for job in crowd.jobs])
    await db.close()


def _row(job: Queued) -> tuple[Any, ...]:
    subject, _, cycle = job.key.partition(":")
    payload = Job(UUID(subject), int(cycle)).encode()
    return job.id, job.priority, job.status, job.key, payload, job.due_at
