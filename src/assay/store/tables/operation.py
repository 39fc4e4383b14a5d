"""Pauses, periodic jobs, processes, alarms, search probes, audit events and idempotency keys."""

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
    # The position at which a periodic job that processes a long list in parts continues.
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
    # The ruleset version that the process uses, if any.
    Column("ruleset", Text),
)

# A row exists while the alarm is raised; the code is the key, so a condition has one alarm.
alarm = Table(
    "alarm",
    metadata,
    Column("code", Text, primary_key=True),
    Column("message", Text, nullable=False),
    now("raised_at"),
)

# Totals of search probes; the migration inserts the only row.
search_probe = Table(
    "search_probe",
    metadata,
    Column("id", SmallInteger, primary_key=True, server_default="1"),
    Column("probed", BigInteger, nullable=False, server_default="0"),
    Column("missed", BigInteger, nullable=False, server_default="0"),
    moment("probed_at"),
    CheckConstraint("id = 1", name="only"),
)

# Live listings that the last probe did not find.
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
    # JSON rather than JSONB, to repeat the response with its keys in the original order.
    Column("body", JSON),
    now("created_at"),
    is_digest("request_digest"),
)
Index("given_answer_created_at_idx", given_answer.c.created_at)

# On PgQueuer's table: held jobs are few and must be found among millions of queued ones.
run_after("CREATE INDEX pgqueuer_held_idx ON pgqueuer (dedupe_key) WHERE status = 'failed'")

# For fair queueing: the first turn after those that a caller has taken, and the virtual time when it last took some.
# The key is a digest.
queue_share = Table(
    "queue_share",
    metadata,
    Column("key", Text, primary_key=True),
    Column("turn", BigInteger, nullable=False),
    Column("virtual_time", BigInteger, nullable=False),
    now("updated_at"),
    is_digest("key"),
)
Index("queue_share_turn_idx", queue_share.c.turn)
Index("queue_share_virtual_time_idx", queue_share.c.virtual_time)
Index("queue_share_updated_at_idx", queue_share.c.updated_at)
