"""Submissions, their history and counters."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    DateTime,
    ForeignKey,
    Identity,
    Index,
    Integer,
    SmallInteger,
    Table,
    Text,
    UniqueConstraint,
    Uuid,
    func,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB

from assay.model.submission import REFUSED, Origin, State
from assay.store.tables.base import is_digest, metadata, moment, now, one_of, quoted, run_after

submission = Table(
    "submission",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("repository_id", BigInteger, ForeignKey("repository.id"), nullable=False),
    Column("skill_name", Text, nullable=False),
    Column("skill_path", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("version", Integer, nullable=False, server_default="1"),
    Column("cycle", Integer, nullable=False, server_default="1"),
    Column("priority", Integer, nullable=False, server_default="0"),
    Column("attempts", Integer, nullable=False, server_default="0"),
    Column("claims", Integer, nullable=False, server_default="0"),
    Column("origin", Text, nullable=False),
    Column("submitter", Text),
    Column("upload_digest", Text),
    Column("content_digest", Text, ForeignKey("content.digest")),
    Column("skill_id", Uuid, ForeignKey("skill.id")),
    Column("score", SmallInteger),
    Column("reason_code", Text),
    Column("reason_message", Text),
    Column("next_step", Text),
    Column("lease_owner", Text),
    moment("lease_expires_at"),
    now("created_at"),
    now("updated_at"),
    now("received_at"),
    moment("scanning_at"),
    moment("decided_at"),
    # The owner, an administrator or the registry chose the name; other names must match the fetched skill.
    Column("is_name_chosen", Boolean, nullable=False, server_default=text("false")),
    UniqueConstraint("repository_id", "skill_name", "skill_path"),
    one_of("state", State),
    one_of("origin", Origin),
    is_digest("upload_digest"),
    CheckConstraint("version > 0 AND cycle > 0 AND attempts >= 0 AND claims >= 0", name="counters"),
    CheckConstraint("(lease_owner IS NULL) = (lease_expires_at IS NULL)", name="lease"),
    CheckConstraint(
        f"state NOT IN ({quoted(REFUSED)}) OR (reason_code IS NOT NULL AND reason_message IS NOT NULL)",
        name="refusal_has_reason",
    ),
    CheckConstraint("state <> 'PUBLISHED' OR skill_id IS NOT NULL", name="published_is_listed"),
)
Index("submission_skill_id_idx", submission.c.skill_id, postgresql_where=submission.c.skill_id.is_not(None))
Index("submission_created_at_idx", submission.c.created_at.desc(), submission.c.id.desc())
Index(
    "submission_state_created_at_idx",
    submission.c.state,
    submission.c.created_at.desc(),
    submission.c.id.desc(),
)
# One index per order serves every set of states: a list merges one index walk per state.
Index(
    "submission_state_updated_at_idx",
    submission.c.state,
    submission.c.updated_at.desc(),
    submission.c.id.desc(),
)
Index("submission_state_skill_name_idx", submission.c.state, submission.c.skill_name, submission.c.id)
Index(
    "submission_reason_idx",
    submission.c.reason_code,
    submission.c.created_at.desc(),
    submission.c.id.desc(),
    postgresql_where=submission.c.reason_code.is_not(None),
)
Index("submission_origin_idx", submission.c.origin, submission.c.created_at.desc(), submission.c.id.desc())
Index(
    "submission_submitter_idx",
    submission.c.submitter,
    submission.c.created_at.desc(),
    submission.c.id.desc(),
    postgresql_where=submission.c.submitter.is_not(None),
)
Index(
    "submission_lease_idx",
    submission.c.lease_expires_at,
    postgresql_where=submission.c.lease_expires_at.is_not(None),
)
Index(
    "submission_skill_name_trigram_idx",
    func.lower(submission.c.skill_name).label("skill_name"),
    postgresql_using="gin",
    postgresql_ops={"skill_name": "gin_trgm_ops"},
)

# Other submissions with the same content.
Index(
    "submission_content_digest_idx",
    submission.c.content_digest,
    postgresql_where=submission.c.content_digest.is_not(None),
)

# Uploads that need a blob.
Index(
    "submission_upload_digest_idx",
    submission.c.upload_digest,
    postgresql_where=submission.c.upload_digest.is_not(None),
)

submission_event = Table(
    "submission_event",
    metadata,
    Column("id", BigInteger, Identity(always=True), primary_key=True),
    Column("submission_id", Uuid, ForeignKey("submission.id"), nullable=False),
    Column("from_state", Text),
    Column("to_state", Text, nullable=False),
    Column("trigger", Text, nullable=False),
    Column("actor", Text, nullable=False),
    Column("metadata", JSONB, nullable=False, server_default=text("'{}'::jsonb")),
    now("created_at"),
    one_of("from_state", State),
    one_of("to_state", State),
)
Index("submission_event_submission_idx", submission_event.c.submission_id, submission_event.c.id)

submission_count = Table(
    "submission_count",
    metadata,
    Column("state", Text, primary_key=True),
    Column("total", BigInteger, nullable=False),
)

submission_count_delta = Table(
    "submission_count_delta",
    metadata,
    Column("id", BigInteger, Identity(always=True), primary_key=True),
    Column("state", Text, nullable=False),
    Column("delta", BigInteger, nullable=False),
    now("created_at"),
)

# Arrivals per state and minute, computed from the deltas when they are folded.
submission_arrival = Table(
    "submission_arrival",
    metadata,
    Column("minute", DateTime(timezone=True), primary_key=True),
    Column("state", Text, primary_key=True),
    Column("number", BigInteger, nullable=False),
)

# A trigger counts, so that no writer can forget it; inserting deltas avoids a hot row.
run_after(
    """
CREATE FUNCTION count_submissions() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        INSERT INTO submission_count_delta (state, delta)
        SELECT state, count(*) FROM fresh GROUP BY state;
    ELSIF TG_OP = 'DELETE' THEN
        INSERT INTO submission_count_delta (state, delta)
        SELECT state, -count(*) FROM stale GROUP BY state;
    ELSE
        INSERT INTO submission_count_delta (state, delta)
        SELECT state, sum(step)
        FROM (SELECT state, 1 AS step FROM fresh UNION ALL SELECT state, -1 FROM stale) AS steps
        GROUP BY state
        HAVING sum(step) <> 0;
    END IF;
    RETURN NULL;
END
$$
"""
)
for trigger in (
    "CREATE TRIGGER count_inserted AFTER INSERT ON submission REFERENCING NEW TABLE AS fresh "
    "FOR EACH STATEMENT EXECUTE FUNCTION count_submissions()",
    "CREATE TRIGGER count_deleted AFTER DELETE ON submission REFERENCING OLD TABLE AS stale "
    "FOR EACH STATEMENT EXECUTE FUNCTION count_submissions()",
    "CREATE TRIGGER count_updated AFTER UPDATE ON submission REFERENCING NEW TABLE AS fresh OLD TABLE AS stale "
    "FOR EACH STATEMENT EXECUTE FUNCTION count_submissions()",
):
    run_after(trigger)
