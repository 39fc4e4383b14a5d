"""What people have said: reviews, appeals, suppressions, and reports of listings."""

from sqlalchemy import (
    ARRAY,
    BigInteger,
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

from assay.model.appeal import LONGEST as LONGEST_APPEAL
from assay.model.appeal import AppealStatus
from assay.model.blocklist import Threat
from assay.model.review import Ruling
from assay.model.security_report import LONGEST as LONGEST_REPORT
from assay.model.security_report import ReportOutcome
from assay.model.suppression import Scope
from assay.store.tables.base import metadata, moment, now, one_of

# Append-only: the last one about the same bytes of a submission counts.
review = Table(
    "review",
    metadata,
    Column("id", BigInteger, Identity(always=True), primary_key=True),
    Column("submission_id", Uuid, ForeignKey("submission.id"), nullable=False),
    Column("content_digest", Text, ForeignKey("content.digest"), nullable=False),
    Column("ruling", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("reviewer", Text, nullable=False),
    # Rule and file of each finding that was shown to the reviewer.
    Column("seen", ARRAY(Text), nullable=False, server_default=text("'{}'::text[]")),
    now("created_at"),
    one_of("ruling", Ruling),
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
    CheckConstraint(f"char_length(text) BETWEEN 1 AND {LONGEST_APPEAL}", name="text"),
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
    # What the rule had matched: in a skill that changes, nothing else is suppressed.
    Column("excerpts", ARRAY(Text), nullable=False),
    Column("until", DateTime(timezone=True), nullable=False),
    Column("reason", Text, nullable=False),
    Column("added_by", Text, nullable=False),
    now("created_at"),
    moment("ended_at"),
    Column("ended_by", Text),
    Column("ended_reason", Text),
    one_of("scope", Scope),
    CheckConstraint("reason <> '' AND added_by <> ''", name="said"),
    CheckConstraint("num_nulls(ended_at, ended_by, ended_reason) IN (0, 3)", name="ended"),
)
Index("suppression_content_idx", suppression.c.content_digest)
Index("suppression_skill_idx", suppression.c.repository_id, suppression.c.skill_path)
Index("suppression_until_idx", suppression.c.until, postgresql_where=suppression.c.ended_at.is_(None))
# The same finding is suppressed once.
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
    # The account, if the reporter had one; nothing is kept of those who had none.
    Column("reporter", Text),
    Column("outcome", Text),
    Column("answer", Text),
    Column("answered_by", Text),
    moment("answered_at"),
    now("created_at"),
    one_of("category", Threat),
    one_of("outcome", ReportOutcome),
    CheckConstraint(f"char_length(text) BETWEEN 1 AND {LONGEST_REPORT}", name="text"),
    CheckConstraint("num_nulls(outcome, answer, answered_by, answered_at) IN (0, 4)", name="answered"),
)
# Ids are in the order of time.
Index("security_report_open_idx", security_report.c.id, postgresql_where=security_report.c.outcome.is_(None))
Index("security_report_skill_idx", security_report.c.skill_id, security_report.c.id)
