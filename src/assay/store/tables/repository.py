"""Repositories, their former names, upstream checks, and state shared by GitHub clients."""

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    DateTime,
    ForeignKey,
    Identity,
    Index,
    Integer,
    LargeBinary,
    Table,
    Text,
    UniqueConstraint,
    func,
    literal_column,
)

from assay.model.repository import Host
from assay.store.tables.base import metadata, moment, now, one_of

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
    moment("resolved_at"),
    # Set if this row turned out to be another name of a repository.
    Column("merged_into_id", BigInteger, ForeignKey("repository.id")),
    now("created_at"),
    # GitHub's numeric id of the owner: a login may change and be taken by someone else.
    Column("owner_id", BigInteger),
    one_of("host", Host),
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

Index(
    "repository_merged_into_idx",
    repository.c.merged_into_id,
    postgresql_where=repository.c.merged_into_id.is_not(None),
)

repository_alias = Table(
    "repository_alias",
    metadata,
    Column("host", Text, primary_key=True),
    Column("owner", Text, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("repository_id", BigInteger, ForeignKey("repository.id"), nullable=False, index=True),
    now("created_at"),
    CheckConstraint("owner = lower(owner) AND name = lower(name)", name="lower_case"),
)

# Every repository that ever had a listing, and when it is due for a check.
upstream_check = Table(
    "upstream_check",
    metadata,
    Column("repository_id", BigInteger, ForeignKey("repository.id"), primary_key=True),
    Column("due_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    # When the host last answered, completely or with "not modified".
    Column("seen_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    moment("described_at"),
    # The commit of the last check; `repository.commit` may be that of a single submission.
    Column("commit", Text),
    moment("missing_since"),
    Column("failures", Integer, nullable=False, server_default="0"),
    Column("problem", Text),
)
Index("upstream_check_due_at_idx", upstream_check.c.due_at)
Index("upstream_check_seen_at_idx", upstream_check.c.seen_at)
Index("upstream_check_failing_idx", upstream_check.c.repository_id, postgresql_where=upstream_check.c.failures > 0)

# Cooldowns of tokens. Tokens are identified by keys that reveal nothing about them.
github_token = Table(
    "github_token",
    metadata,
    Column("key", Text, primary_key=True),
    moment("rests_until"),
    moment("refused_until"),
    now("noted_at"),
)

# Calls of a window that no process has reserved.
github_allowance = Table(
    "github_allowance",
    metadata,
    Column("key", Text, primary_key=True),
    Column("resource", Text, primary_key=True),
    Column("remaining", Integer, nullable=False),
    Column("resets_at", DateTime(timezone=True), nullable=False),
    CheckConstraint("remaining >= 0", name="remaining"),
)

github_answer = Table(
    "github_answer",
    metadata,
    Column("key", Text, primary_key=True),
    Column("url", Text, primary_key=True),
    Column("etag", Text, nullable=False),
    Column("body", LargeBinary, nullable=False),
    now("kept_at"),
)
Index("github_answer_kept_at_idx", github_answer.c.kept_at)
