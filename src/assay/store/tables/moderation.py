"""Reviews, appeals, suppressions, security reports and the blocklist."""

from sqlalchemy import (
    ARRAY,
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    DateTime,
    ForeignKey,
    Identity,
    Index,
    Table,
    Text,
    UniqueConstraint,
    Uuid,
    text,
)

from assay.model.blocklist import Threat
from assay.model.finding import Severity
from assay.model.moderation import MAX_STATEMENT_LENGTH, AppealStatus, ReportOutcome, ReviewDecision, SuppressionScope
from assay.store.tables.base import is_digest, metadata, moment, now, one_of

# Append-only: the last review of a submission's content counts.
review = Table(
    "review",
    metadata,
    Column("id", BigInteger, Identity(always=True), primary_key=True),
    Column("submission_id", Uuid, ForeignKey("submission.id"), nullable=False),
    Column("content_digest", Text, ForeignKey("content.digest"), nullable=False),
    Column("ruling", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("reviewer", Text, nullable=False),
    # Rule and file of each finding displayed to the reviewer.
    Column("seen", ARRAY(Text), nullable=False, server_default=text("'{}'::text[]")),
    now("created_at"),
    one_of("ruling", ReviewDecision),
    CheckConstraint("reason <> '' AND reviewer <> ''", name="said"),
)
Index("review_submission_idx", review.c.submission_id, review.c.content_digest, review.c.id)
Index("review_content_idx", review.c.content_digest, review.c.id)

appeal = Table(
    "appeal",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("submission_id", Uuid, ForeignKey("submission.id"), nullable=False),
    Column("content_digest", Text, ForeignKey("content.digest"), nullable=False),
    Column("text", Text, nullable=False),
    Column("appellant", Text, nullable=False),
    Column("status", Text, nullable=False, server_default=AppealStatus.OPEN.value),
    Column("answer", Text),
    Column("answered_by", Text),
    moment("answered_at"),
    now("created_at"),
    UniqueConstraint("submission_id", "content_digest"),
    one_of("status", AppealStatus),
    CheckConstraint(f"char_length(text) BETWEEN 1 AND {MAX_STATEMENT_LENGTH}", name="text"),
    CheckConstraint(
        "num_nulls(answer, answered_by, answered_at) = CASE status WHEN 'open' THEN 3 ELSE 0 END", name="answered"
    ),
)

suppression = Table(
    "suppression",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("scope", Text, nullable=False),
    Column("rule_id", Text, nullable=False),
    Column("file", Text, nullable=False),
    Column("repository_id", BigInteger, ForeignKey("repository.id"), nullable=False),
    Column("skill_path", Text, nullable=False),
    Column("content_digest", Text, ForeignKey("content.digest"), nullable=False),
    # The matched excerpts: in a skill that changes, nothing else is suppressed.
    Column("excerpts", ARRAY(Text), nullable=False),
    Column("until", DateTime(timezone=True), nullable=False),
    Column("reason", Text, nullable=False),
    Column("added_by", Text, nullable=False),
    now("created_at"),
    moment("ended_at"),
    Column("ended_by", Text),
    Column("ended_reason", Text),
    one_of("scope", SuppressionScope),
    CheckConstraint("reason <> '' AND added_by <> ''", name="said"),
    CheckConstraint("num_nulls(ended_at, ended_by, ended_reason) IN (0, 3)", name="ended"),
)
Index("suppression_content_idx", suppression.c.content_digest)
Index("suppression_skill_idx", suppression.c.repository_id, suppression.c.skill_path)
Index("suppression_until_idx", suppression.c.until, postgresql_where=suppression.c.ended_at.is_(None))
# A finding can be suppressed only once at a time.
Index(
    "suppression_finding_key",
    suppression.c.scope,
    suppression.c.rule_id,
    suppression.c.file,
    suppression.c.repository_id,
    suppression.c.skill_path,
    suppression.c.content_digest,
    unique=True,
    postgresql_where=suppression.c.ended_at.is_(None),
)

security_report = Table(
    "security_report",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("skill_id", Uuid, ForeignKey("skill.id"), nullable=False),
    Column("version", Text, nullable=False),
    Column("content_digest", Text, nullable=False),
    Column("category", Text, nullable=False),
    Column("text", Text, nullable=False),
    # The account, if the reporter had one; nothing is stored about others.
    Column("reporter", Text),
    Column("outcome", Text),
    Column("answer", Text),
    Column("answered_by", Text),
    moment("answered_at"),
    now("created_at"),
    one_of("category", Threat),
    one_of("outcome", ReportOutcome),
    CheckConstraint(f"char_length(text) BETWEEN 1 AND {MAX_STATEMENT_LENGTH}", name="text"),
    CheckConstraint("num_nulls(outcome, answer, answered_by, answered_at) IN (0, 4)", name="answered"),
)
# Ids are ordered by time.
Index("security_report_open_idx", security_report.c.id, postgresql_where=security_report.c.outcome.is_(None))
Index("security_report_skill_idx", security_report.c.skill_id, security_report.c.id)
# The order of lists, of all and of open reports: those of accounts first.
LISTED = security_report.c.reporter.is_(None), security_report.c.id
Index("security_report_listed_idx", *LISTED)
Index("security_report_open_listed_idx", *LISTED, postgresql_where=security_report.c.outcome.is_(None))

blocklist_entry = Table(
    "blocklist_entry",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("content_digest", Text),
    # `owner/name` in lower case. Not a foreign key: an entry outlives the repository's row.
    Column("repository", Text),
    Column("skill_name", Text),
    Column("everywhere", Boolean, nullable=False, server_default=text("false")),
    Column("threat", Text, nullable=False),
    Column("severity", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("evidence_urls", ARRAY(Text), nullable=False, server_default=text("'{}'::text[]")),
    now("discovered_at"),
    Column("added_by", Text, nullable=False),
    moment("lifted_at"),
    Column("lifted_by", Text),
    Column("lifted_reason", Text),
    is_digest("content_digest"),
    one_of("threat", Threat),
    one_of("severity", Severity),
    CheckConstraint("reason <> '' AND added_by <> ''", name="said"),
    CheckConstraint("num_nulls(lifted_at, lifted_by, lifted_reason) IN (0, 3)", name="lifted"),
    CheckConstraint("repository = lower(repository) AND skill_name = lower(skill_name)", name="lower_case"),
    # One kind of target: content; a repository or a skill in it; or a name everywhere.
    CheckConstraint(
        "CASE WHEN everywhere THEN skill_name IS NOT NULL AND num_nonnulls(content_digest, repository) = 0"
        " WHEN content_digest IS NOT NULL THEN num_nonnulls(repository, skill_name) = 0"
        " ELSE repository IS NOT NULL END",
        name="target",
    ),
)
for column in ("content_digest", "repository", "skill_name"):
    Index(
        f"blocklist_entry_{column}_idx",
        blocklist_entry.c[column],
        postgresql_where=text(f"lifted_at IS NULL AND {column} IS NOT NULL"),
    )
# A target can be blocked only once at a time.
Index(
    "blocklist_entry_target_key",
    blocklist_entry.c.content_digest,
    blocklist_entry.c.repository,
    blocklist_entry.c.skill_name,
    unique=True,
    postgresql_nulls_not_distinct=True,
    postgresql_where=text("lifted_at IS NULL"),
)
