"""Repositories, and the other names that lead to them."""

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    DateTime,
    ForeignKey,
    Identity,
    Index,
    Integer,
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
    # Set when this turns out to be a second name of another repository.
    Column("merged_into_id", BigInteger, ForeignKey("repository.id")),
    now("created_at"),
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

# Every repository of which something was ever listed, and when it is to be looked at again.
upstream_check = Table(
    "upstream_check",
    metadata,
    Column("repository_id", BigInteger, ForeignKey("repository.id"), primary_key=True),
    Column("due_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    # When its host last said what it is, in full or only that nothing is new.
    Column("seen_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    moment("described_at"),
    # The commit at which its listings were last looked at; that of the repository is of any one of them.
    Column("commit", Text),
    moment("missing_since"),
    Column("failures", Integer, nullable=False, server_default="0"),
    Column("problem", Text),
)
Index("upstream_check_due_at_idx", upstream_check.c.due_at)
Index("upstream_check_seen_at_idx", upstream_check.c.seen_at)
Index("upstream_check_failing_idx", upstream_check.c.repository_id, postgresql_where=upstream_check.c.failures > 0)
