"""The blocklist: bytes, folders of repositories and names that nobody may publish."""

from sqlalchemy import ARRAY, Boolean, CheckConstraint, Column, Index, Table, Text, Uuid, text

from assay.model.blocklist import Threat
from assay.model.finding import Severity
from assay.store.tables.base import is_digest, metadata, moment, now, one_of

blocklist_entry = Table(
    "blocklist_entry",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("content_digest", Text),
    # `owner/name` in lower case; an entry outlives what is known of the repository.
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
    # One kind of target: bytes; a repository, or a skill of it; or a name, if that is what was meant.
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
# The same thing is blocked once.
Index(
    "blocklist_entry_target_key",
    blocklist_entry.c.content_digest,
    blocklist_entry.c.repository,
    blocklist_entry.c.skill_name,
    unique=True,
    postgresql_nulls_not_distinct=True,
    postgresql_where=text("lifted_at IS NULL"),
)
