"""Discovery sources, runs, records, and the known repositories that sources must find."""

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
    # If true, a cycle covers everything and must include every known repository.
    Column("shows_all", Boolean, nullable=False, server_default=text("false")),
    Column("is_scheduled", Boolean, nullable=False, server_default=text("false")),
    now("known_since"),
    # Written in the transaction that stores the results before it.
    Column("checkpoint", JSONB),
    moment("cycle_started_at"),
    moment("completed_at"),
    # The run that holds or last held the lease.
    Column("run_id", Uuid),
    moment("lease_until"),
    Column("next_run_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    moment("started_at"),
    moment("finished_at"),
    Column("runs", BigInteger, nullable=False, server_default="0"),
    # Consecutive runs that found nothing, and that failed.
    Column("flat_runs", Integer, nullable=False, server_default="0"),
    Column("failures", Integer, nullable=False, server_default="0"),
    Column("problem", Text),
    Column("found", BigInteger, nullable=False, server_default="0"),
    moment("found_at"),
    moment("new_at"),
    # Result of the last test query: did it return the expected repository?
    Column("sees", Boolean),
    moment("probed_at"),
    # Results that the service did not show, in this cycle so far and in the previous one.
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

# Inserting a row claims the repository, before anything is submitted.
discovery_record = Table(
    "discovery_record",
    metadata,
    Column("host", Text, nullable=False),
    Column("owner", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("full_name", Text, nullable=False),
    Column("source", Text, nullable=False),
    Column("state", Text, nullable=False, server_default=RecordState.FOUND.value),
    # All skill paths announced or seen; any other path is new.
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

# Repositories that discovery must be able to find, and when each source last found them.
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
