"""What the registry knows of its own running: pauses, chores, processes, alarms, audit, answers given before."""

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    DateTime,
    Float,
    ForeignKey,
    Identity,
    Index,
    Integer,
    SmallInteger,
    Table,
    Text,
    Uuid,
    text,
)
from sqlalchemy.dialects.postgresql import JSON, JSONB

from assay.store.tables.base import is_digest, metadata, moment, now, run_after

queue_pause = Table(
    "queue_pause",
    metadata,
    Column("id", BigInteger, Identity(always=True), primary_key=True),
    Column("reason", Text, nullable=False),
    Column("paused_by", Text, nullable=False),
    now("paused_at"),
    Column("expires_at", DateTime(timezone=True), nullable=False),
    moment("resumed_at"),
    Column("resumed_by", Text),
    CheckConstraint("reason <> '' AND paused_by <> ''", name="said"),
    CheckConstraint("(resumed_at IS NULL) = (resumed_by IS NULL)", name="resumed"),
    # At most one pause is open.
    Index("queue_pause_open_key", text("(true)"), unique=True, postgresql_where=text("resumed_at IS NULL")),
)

chore = Table(
    "chore",
    metadata,
    Column("name", Text, primary_key=True),
    Column("every_seconds", Float, nullable=False),
    Column("budget_seconds", Float, nullable=False),
    now("known_since"),
    moment("started_at"),
    moment("succeeded_at"),
    Column("duration_ms", Float),
    Column("amount", BigInteger),
    moment("failed_at"),
    Column("error", Text),
    Column("failures", Integer, nullable=False, server_default="0"),
    # Where a chore that works through a long list, some of it at a time, goes on.
    Column("position", Text),
)

process = Table(
    "process",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("host", Text, nullable=False),
    Column("pid", Integer, nullable=False),
    Column("version", Text, nullable=False),
    Column("in_flight", Integer, nullable=False, server_default="0"),
    now("started_at"),
    now("seen_at"),
    # The version of the rules that it works by, if it does.
    Column("ruleset", Text),
)

# A row exists while the alarm is raised: its code is its key, so one condition is one alarm.
alarm = Table(
    "alarm",
    metadata,
    Column("code", Text, primary_key=True),
    Column("message", Text, nullable=False),
    now("raised_at"),
)

# How often listed skills were searched for by the registry itself; the one row is there from the beginning.
search_probe = Table(
    "search_probe",
    metadata,
    Column("id", SmallInteger, primary_key=True, server_default="1"),
    Column("probed", BigInteger, nullable=False, server_default="0"),
    Column("missed", BigInteger, nullable=False, server_default="0"),
    moment("probed_at"),
    CheckConstraint("id = 1", name="only"),
)

# Live listings that were not found, until they are.
search_miss = Table(
    "search_miss",
    metadata,
    Column("skill_id", Uuid, ForeignKey("skill.id", ondelete="CASCADE"), primary_key=True),
    Column("query", Text, nullable=False),
    now("missed_at"),
)

audit_event = Table(
    "audit_event",
    metadata,
    Column("id", BigInteger, Identity(always=True), primary_key=True),
    Column("actor", Text, nullable=False),
    Column("action", Text, nullable=False),
    Column("subject", Text, nullable=False),
    Column("detail", JSONB, nullable=False, server_default=text("'{}'::jsonb")),
    now("created_at"),
)

given_answer = Table(
    "given_answer",
    metadata,
    Column("scope", Text, primary_key=True),
    Column("key", Text, primary_key=True),
    Column("request_digest", Text, nullable=False),
    Column("status", SmallInteger),
    # JSON and not JSONB: the answer is given again as it was, key by key.
    Column("body", JSON),
    now("created_at"),
    is_digest("request_digest"),
)
Index("given_answer_created_at_idx", given_answer.c.created_at)

# The queue's own table: jobs that it holds are few, and must be found among millions that wait.
run_after("CREATE INDEX pgqueuer_held_idx ON pgqueuer (dedupe_key) WHERE status = 'failed'")
