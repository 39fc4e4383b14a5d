"""Contents, scans and findings."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Float,
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

from assay.model.finding import Region, Severity
from assay.model.verdict import Decision, Outcome
from assay.store.tables.base import is_digest, metadata, moment, now, one_of, run_after

content = Table(
    "content",
    metadata,
    Column("digest", Text, primary_key=True),
    Column("files", JSONB, nullable=False),
    Column("file_count", Integer, nullable=False),
    Column("size_bytes", BigInteger, nullable=False),
    now("created_at"),
    is_digest("digest"),
    CheckConstraint("file_count > 0", name="file_count"),
)

scan = Table(
    "scan",
    metadata,
    Column("id", BigInteger, Identity(always=True), primary_key=True),
    Column("content_digest", Text, ForeignKey("content.digest"), nullable=False),
    Column("tier", SmallInteger, nullable=False),
    Column("engine", Text, nullable=False),
    Column("ruleset", Text, nullable=False),
    Column("has_code", Boolean, nullable=False),
    Column("outcome", Text, nullable=False),
    Column("decision", Text),
    Column("path", Text),
    Column("score", SmallInteger),
    Column("duration_ms", Float, nullable=False),
    now("created_at"),
    Column("capabilities", JSONB, nullable=False, server_default=text("'{}'::jsonb")),
    # Of a judge: the model, its cost in millionths of the currency unit, and its rulings on the findings of tier 1.
    Column("model", Text),
    Column("prompt_tokens", BigInteger),
    Column("completion_tokens", BigInteger),
    Column("cost_micros", BigInteger),
    Column("rulings", JSONB, nullable=False, server_default=text("'[]'::jsonb")),
    # The error of a scanner that failed.
    Column("problem", Text),
    UniqueConstraint("content_digest", "tier", "engine", "ruleset", name="scan_subject_key"),
    one_of("outcome", Outcome),
    one_of("decision", Decision),
    CheckConstraint("tier BETWEEN 1 AND 3", name="tier"),
    CheckConstraint("score BETWEEN 0 AND 100", name="score"),
    # A successful scan has a verdict; a failed one does not.
    CheckConstraint("(outcome = 'ERROR') = (score IS NULL)", name="error_is_no_verdict"),
)

finding = Table(
    "finding",
    metadata,
    Column("id", BigInteger, Identity(always=True), primary_key=True),
    Column("scan_id", BigInteger, ForeignKey("scan.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("rule_id", Text, nullable=False),
    Column("family", Text, nullable=False),
    Column("severity", Text, nullable=False),
    Column("confidence", Float, nullable=False),
    Column("file", Text, nullable=False),
    Column("line", Integer, nullable=False),
    Column("excerpt", Text, nullable=False),
    Column("message", Text, nullable=False),
    Column("remediation", Text, nullable=False),
    # NULL if the finding is about a file or a skill as a whole.
    Column("region", Text),
    one_of("severity", Severity),
    one_of("region", Region),
    CheckConstraint("confidence BETWEEN 0 AND 1", name="confidence"),
)

# Every blob that may exist: a row is committed before its blob is written, and deleted with it.
stored_blob = Table(
    "stored_blob",
    metadata,
    Column("digest", Text, primary_key=True),
    # Of the files, uncompressed.
    Column("size_bytes", BigInteger, nullable=False),
    # When nothing was found to need the blob; saving it again resets this.
    moment("unused_since"),
    # The namespace that last uploaded it, whose quota it counts against while nothing else uses it.
    Column("uploaded_by", Text),
    is_digest("digest"),
)
Index(
    "stored_blob_uploaded_by_idx",
    stored_blob.c.uploaded_by,
    postgresql_where=stored_blob.c.uploaded_by.is_not(None),
)
Index(
    "stored_blob_unused_since_idx",
    stored_blob.c.unused_since,
    postgresql_where=stored_blob.c.unused_since.is_not(None),
)

# One row: the identity of this database, with which it marks the blob store as its own.
registry = Table("registry", metadata, Column("id", Uuid, primary_key=True, server_default=func.gen_random_uuid()))
run_after("INSERT INTO registry DEFAULT VALUES")
