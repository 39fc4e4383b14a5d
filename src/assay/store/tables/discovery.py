"""Discovery: the sources and where each stands, their runs, what they found, and the known answers they must find."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    DateTime,
    Float,
    Index,
    Integer,
    PrimaryKeyConstraint,
    Table,
    Text,
    Uuid,
    func,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB

from assay.model.discovery import RecordState, RunOutcome
from assay.store.tables.base import metadata, moment, now, one_of

discovery_source = Table(
    "discovery_source",
    metadata,
    Column("name", Text, primary_key=True),
    Column("every_seconds", Float, nullable=False),
    Column("floor_seconds", Float, nullable=False),
    # Whether a whole cycle shows everything there is, so that a known answer must be in it.
    Column("shows_all", Boolean, nullable=False, server_default=text("false")),
    Column("is_scheduled", Boolean, nullable=False, server_default=text("false")),
    now("known_since"),
    # Where the source goes on; written in the transaction that keeps what was found before it.
    Column("checkpoint", JSONB),
    moment("cycle_started_at"),
    moment("completed_at"),
    # The run that has the lease, or had it last.
    Column("run_id", Uuid),
    moment("lease_until"),
    Column("next_run_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    moment("started_at"),
    moment("finished_at"),
    Column("runs", BigInteger, nullable=False, server_default="0"),
    # Runs in a row that found nothing at all, and that failed.
    Column("flat_runs", Integer, nullable=False, server_default="0"),
    Column("failures", Integer, nullable=False, server_default="0"),
    Column("problem", Text),
    Column("found", BigInteger, nullable=False, server_default="0"),
    moment("found_at"),
    moment("new_at"),
    # What a question with a known answer was answered when it was last asked.
    Column("sees", Boolean),
    moment("probed_at"),
    # What its service has and shows to nobody, in this cycle so far and in the one before.
    Column("cut", BigInteger, nullable=False, server_default="0"),
    Column("cut_before", BigInteger, nullable=False, server_default="0"),
)

discovery_run = Table(
    "discovery_run",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("source", Text, nullable=False),
    Column("started_by", Text, nullable=False),
    Column("most", Integer, nullable=False),
    now("started_at"),
    moment("finished_at"),
    Column("outcome", Text),
    Column("problem", Text),
    Column("calls", Integer, nullable=False, server_default="0"),
    Column("found", Integer, nullable=False, server_default="0"),
    Column("new", Integer, nullable=False, server_default="0"),
    Column("skipped_dedup", Integer, nullable=False, server_default="0"),
    Column("looked", Integer, nullable=False, server_default="0"),
    Column("enqueued", Integer, nullable=False, server_default="0"),
    Column("existing", Integer, nullable=False, server_default="0"),
    Column("errors", Integer, nullable=False, server_default="0"),
    Column("repo_stats", JSONB, nullable=False, server_default=text("'{}'::jsonb")),
    one_of("outcome", RunOutcome),
    CheckConstraint("(finished_at IS NULL) = (outcome IS NULL)", name="finished"),
)
Index("discovery_run_source_started_at_idx", discovery_run.c.source, discovery_run.c.started_at.desc())
Index("discovery_run_started_at_idx", discovery_run.c.started_at)

# A row is the claim: whoever inserts it has found the repository, and it stands before anything is submitted.
discovery_record = Table(
    "discovery_record",
    metadata,
    Column("host", Text, nullable=False),
    Column("owner", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("full_name", Text, nullable=False),
    Column("source", Text, nullable=False),
    Column("state", Text, nullable=False, server_default=RecordState.FOUND.value),
    # Every path of a skill that was promised or seen: what is not among them is news.
    Column("paths", ARRAY(Text), nullable=False, server_default=text("'{}'::text[]")),
    moment("changed_at"),
    now("found_at"),
    Column("due_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    Column("held_by", Uuid),
    Column("attempts", Integer, nullable=False, server_default="0"),
    moment("looked_at"),
    Column("commit", Text),
    Column("skills", Integer, nullable=False, server_default="0"),
    Column("problem", Text),
    PrimaryKeyConstraint("host", "owner", "name"),
    one_of("state", RecordState),
    CheckConstraint("owner = lower(owner) AND name = lower(name)", name="lower_case"),
)
Index(
    "discovery_record_due_idx",
    discovery_record.c.source,
    discovery_record.c.due_at,
    postgresql_where=discovery_record.c.state == RecordState.FOUND.value,
)

# Repositories that discovery must be able to find, and when each source last did.
discovery_known = Table(
    "discovery_known",
    metadata,
    Column("owner", Text, primary_key=True),
    Column("name", Text, primary_key=True),
    now("known_since"),
)
discovery_sighting = Table(
    "discovery_sighting",
    metadata,
    Column("source", Text, primary_key=True),
    Column("owner", Text, primary_key=True),
    Column("name", Text, primary_key=True),
    now("seen_at"),
)
