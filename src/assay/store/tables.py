"""Every table, constraint, index and trigger. The migrations build exactly this; a test compares the two."""

from collections.abc import Iterable

from sqlalchemy import (
    ARRAY,
    DDL,
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Computed,
    DateTime,
    Float,
    ForeignKey,
    Identity,
    Index,
    Integer,
    MetaData,
    SmallInteger,
    Table,
    Text,
    UniqueConstraint,
    Uuid,
    event,
    func,
    literal_column,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB, TSVECTOR
from sqlalchemy.types import UserDefinedType

from assay.model.finding import Severity
from assay.model.repository import Host
from assay.model.skill import Method, Tier, TrustTier
from assay.model.submission import ACTIVE, REFUSED, Origin, State
from assay.model.verdict import Decision, Outcome


class TransactionId(UserDefinedType[str]):
    """PostgreSQL's xid8: the transaction that wrote a row, comparable with a snapshot."""

    cache_ok = True

    def get_col_spec(self, **_: object) -> str:
        """The type's name in DDL."""
        return "xid8"


metadata = MetaData(
    naming_convention={
        "pk": "%(table_name)s_pkey",
        "fk": "%(table_name)s_%(column_0_name)s_fkey",
        "uq": "%(table_name)s_%(column_0_N_name)s_key",
        "ck": "%(table_name)s_%(constraint_name)s_check",
        "ix": "%(table_name)s_%(column_0_N_name)s_idx",
    }
)


def _quoted(values: Iterable[str]) -> str:
    return ", ".join(f"'{value}'" for value in sorted(values))


def _one_of(column: str, values: Iterable[str]) -> CheckConstraint:
    return CheckConstraint(f"{column} IN ({_quoted(values)})", name=column)


def _is_digest(column: str) -> CheckConstraint:
    return CheckConstraint(f"{column} ~ '^sha256:[0-9a-f]{{64}}$'", name=column)


def _moment(name: str) -> Column[object]:
    return Column(name, DateTime(timezone=True))


def _now(name: str) -> Column[object]:
    return Column(name, DateTime(timezone=True), nullable=False, server_default=func.now())


repository = Table(
    "repository",
    metadata,
    Column("id", BigInteger, Identity(always=True), primary_key=True),
    Column("host", Text, nullable=False),
    Column("owner", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("host_id", BigInteger),
    Column("default_branch", Text),
    Column("stars", Integer),
    Column("commit", Text),
    _moment("resolved_at"),
    # Set when this turns out to be a second name of another repository.
    Column("merged_into_id", BigInteger, ForeignKey("repository.id")),
    _now("created_at"),
    _one_of("host", Host),
    CheckConstraint("owner <> '' AND name <> ''", name="named"),
    UniqueConstraint("host", "host_id"),
)
Index(
    "repository_name_key",
    repository.c.host,
    func.lower(repository.c.owner),
    func.lower(repository.c.name),
    unique=True,
    postgresql_where=repository.c.merged_into_id.is_(None),
)
Index(
    "repository_name_trigram_idx",
    func.lower(repository.c.owner + literal_column("'/'::text") + repository.c.name).label("full_name"),
    postgresql_using="gin",
    postgresql_ops={"full_name": "gin_trgm_ops"},
)

repository_alias = Table(
    "repository_alias",
    metadata,
    Column("host", Text, primary_key=True),
    Column("owner", Text, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("repository_id", BigInteger, ForeignKey("repository.id"), nullable=False),
    _now("created_at"),
    CheckConstraint("owner = lower(owner) AND name = lower(name)", name="lower_case"),
)

content = Table(
    "content",
    metadata,
    Column("digest", Text, primary_key=True),
    Column("files", JSONB, nullable=False),
    Column("file_count", Integer, nullable=False),
    Column("size_bytes", BigInteger, nullable=False),
    _now("created_at"),
    _is_digest("digest"),
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
    _now("created_at"),
    UniqueConstraint("content_digest", "tier", "engine", "ruleset", name="scan_subject_key"),
    _one_of("outcome", Outcome),
    _one_of("decision", Decision),
    CheckConstraint("tier BETWEEN 1 AND 3", name="tier"),
    CheckConstraint("score BETWEEN 0 AND 100", name="score"),
    # A scanner that failed has given no verdict; one that succeeded has.
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
    _one_of("severity", Severity),
    CheckConstraint("confidence BETWEEN 0 AND 1", name="confidence"),
)

skill = Table(
    "skill",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("repository_id", BigInteger, ForeignKey("repository.id"), nullable=False),
    Column("skill_path", Text, nullable=False),
    Column("display_name", Text, nullable=False),
    Column("description", Text, nullable=False),
    Column("author", Text, nullable=False),
    Column("license", Text),
    Column("labels", ARRAY(Text), nullable=False, server_default=text("'{}'::text[]")),
    Column("tier", Text, nullable=False),
    Column("method", Text, nullable=False),
    Column("score", SmallInteger, nullable=False),
    Column("trust_score", SmallInteger, nullable=False),
    Column("trust_tier", Text, nullable=False),
    _now("certified_at"),
    # No listing without a version: checked when the transaction that publishes commits.
    Column(
        "current_version_id",
        Uuid,
        ForeignKey(
            "skill_version.id",
            name="skill_current_version_id_fkey",
            use_alter=True,
            deferrable=True,
            initially="DEFERRED",
        ),
        nullable=False,
    ),
    _now("created_at"),
    _now("updated_at"),
    Column(
        "search_document",
        TSVECTOR,
        Computed(
            "setweight(to_tsvector('simple', translate(name, '/-_.', '    ')), 'A')"
            " || setweight(to_tsvector('simple', display_name), 'A')"
            " || setweight(to_tsvector('english', description), 'B')"
            " || setweight(to_tsvector('simple', author), 'C')",
            persisted=True,
        ),
    ),
    Column(
        "search_text",
        Text,
        Computed("lower(name || ' ' || display_name || ' ' || description || ' ' || author)", persisted=True),
    ),
    UniqueConstraint("repository_id", "skill_path"),
    _one_of("tier", Tier),
    _one_of("method", Method),
    _one_of("trust_tier", TrustTier),
    CheckConstraint("score BETWEEN 0 AND 100", name="score"),
    CheckConstraint("trust_score BETWEEN 0 AND 100", name="trust_score"),
    CheckConstraint("name ~ '^[^/]+/[^/]+/[^/]+$'", name="name"),
)
Index("skill_search_document_idx", skill.c.search_document, postgresql_using="gin")
Index(
    "skill_search_text_idx",
    skill.c.search_text,
    postgresql_using="gin",
    postgresql_ops={"search_text": "gin_trgm_ops"},
)
Index("skill_updated_at_idx", skill.c.updated_at.desc(), skill.c.id.desc())

skill_version = Table(
    "skill_version",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("skill_id", Uuid, ForeignKey("skill.id", deferrable=True, initially="DEFERRED"), nullable=False),
    Column("version", Text, nullable=False),
    Column("ordinal", Integer, nullable=False),
    Column("content_digest", Text, ForeignKey("content.digest"), nullable=False),
    Column("commit", Text, nullable=False),
    Column("scan_id", BigInteger, ForeignKey("scan.id"), nullable=False),
    Column("tier", Text, nullable=False),
    Column("score", SmallInteger, nullable=False),
    Column("hallmark", JSONB, nullable=False),
    _now("published_at"),
    UniqueConstraint("skill_id", "version"),
    UniqueConstraint("skill_id", "content_digest"),
    UniqueConstraint("skill_id", "ordinal"),
    _one_of("tier", Tier),
    CheckConstraint("version <> ''", name="version"),
    # A commit of a repository, or the digest of what was uploaded.
    CheckConstraint("commit ~ '^([0-9a-f]{40}|sha256:[0-9a-f]{64})$'", name="commit"),
)

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
    _moment("lease_expires_at"),
    _now("created_at"),
    _now("updated_at"),
    _now("received_at"),
    _moment("scanning_at"),
    _moment("decided_at"),
    UniqueConstraint("repository_id", "skill_name", "skill_path"),
    _one_of("state", State),
    _one_of("origin", Origin),
    _is_digest("upload_digest"),
    CheckConstraint("version > 0 AND cycle > 0 AND attempts >= 0 AND claims >= 0", name="counters"),
    CheckConstraint("(lease_owner IS NULL) = (lease_expires_at IS NULL)", name="lease"),
    CheckConstraint(
        f"state NOT IN ({_quoted(REFUSED)}) OR (reason_code IS NOT NULL AND reason_message IS NOT NULL)",
        name="refusal_has_reason",
    ),
    CheckConstraint("state <> 'PUBLISHED' OR skill_id IS NOT NULL", name="published_is_listed"),
)
Index("submission_created_at_idx", submission.c.created_at.desc(), submission.c.id.desc())
Index(
    "submission_state_created_at_idx",
    submission.c.state,
    submission.c.created_at.desc(),
    submission.c.id.desc(),
)
Index(
    "submission_active_idx",
    submission.c.updated_at,
    postgresql_where=text(f"state IN ({_quoted(ACTIVE)})"),
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
    _now("created_at"),
    _one_of("from_state", State),
    _one_of("to_state", State),
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
)

change = Table(
    "change",
    metadata,
    Column("id", BigInteger, Identity(always=True), primary_key=True),
    Column("transaction_id", TransactionId, nullable=False, server_default=text("pg_current_xact_id()")),
    # Handed out after the commit, in commit-safe order: see store/changes.py.
    Column("serial", BigInteger, unique=True),
    Column("kind", Text, nullable=False),
    Column("submission_id", Uuid, ForeignKey("submission.id")),
    Column("skill_id", Uuid, ForeignKey("skill.id")),
    Column("data", JSONB, nullable=False),
    _now("created_at"),
    _one_of("kind", ("submission", "publish")),
)
Index(
    "change_unnumbered_idx",
    change.c.transaction_id,
    change.c.id,
    postgresql_where=change.c.serial.is_(None),
)

signing_key = Table(
    "signing_key",
    metadata,
    Column("id", Text, primary_key=True),
    Column("public_key", Text, nullable=False),
    _now("created_at"),
)

# Counting is the table's own business: no writer can forget it, and no row becomes hot.
COUNT_CHANGES = """
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
COUNT_TRIGGERS = (
    "CREATE TRIGGER count_inserted AFTER INSERT ON submission REFERENCING NEW TABLE AS fresh "
    "FOR EACH STATEMENT EXECUTE FUNCTION count_submissions()",
    "CREATE TRIGGER count_deleted AFTER DELETE ON submission REFERENCING OLD TABLE AS stale "
    "FOR EACH STATEMENT EXECUTE FUNCTION count_submissions()",
    "CREATE TRIGGER count_updated AFTER UPDATE ON submission REFERENCING NEW TABLE AS fresh OLD TABLE AS stale "
    "FOR EACH STATEMENT EXECUTE FUNCTION count_submissions()",
)
EXTENSIONS = ("CREATE EXTENSION IF NOT EXISTS pg_trgm",)

for statement in EXTENSIONS:
    event.listen(metadata, "before_create", DDL(statement))  # type: ignore[no-untyped-call]
for statement in (COUNT_CHANGES, *COUNT_TRIGGERS):
    event.listen(metadata, "after_create", DDL(statement))  # type: ignore[no-untyped-call]
