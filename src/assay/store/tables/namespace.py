"""Namespaces and the accounts that may act for them."""

from sqlalchemy import BigInteger, CheckConstraint, Column, ForeignKey, Index, Table, Text, Uuid, text
from sqlalchemy.dialects.postgresql import JSONB

from assay.model.namespace import ClaimMethod, NamespaceKind
from assay.store.tables.base import metadata, moment, now, one_of, run_after

namespace = Table(
    "namespace",
    metadata,
    Column("name", Text, primary_key=True),
    Column("kind", Text, nullable=False),
    # The numeric id of a GitHub user or organisation; null until GitHub has been asked.
    Column("github_id", BigInteger, index=True),
    # The owner of a handle that is not a GitHub login.
    Column("account_id", Uuid, ForeignKey("account.id", use_alter=True), index=True),
    now("created_at"),
    one_of("kind", NamespaceKind),
    CheckConstraint("name = lower(name) AND name <> '' AND name !~ '/'", name="name"),
    CheckConstraint("(kind = 'account') = (account_id IS NOT NULL)", name="account"),
    CheckConstraint("kind = 'github' OR github_id IS NULL", name="github"),
)

# Rights that an account has proved, or that an administrator has granted.
namespace_claim = Table(
    "namespace_claim",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("namespace", Text, ForeignKey("namespace.name"), nullable=False),
    # One repository of the namespace; null: all of it.
    Column("collection", Text),
    Column("account_id", Uuid, ForeignKey("account.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("method", Text, nullable=False),
    Column("detail", JSONB, nullable=False, server_default=text("'{}'::jsonb")),
    now("created_at"),
    Column("created_by", Text, nullable=False),
    moment("revoked_at"),
    Column("revoked_by", Text),
    one_of("method", ClaimMethod),
    CheckConstraint("collection = lower(collection)", name="collection"),
    CheckConstraint("(revoked_at IS NULL) = (revoked_by IS NULL)", name="revoked"),
)
Index(
    "namespace_claim_active_key",
    namespace_claim.c.namespace,
    text("coalesce(collection, '')"),
    namespace_claim.c.account_id,
    unique=True,
    postgresql_where=namespace_claim.c.revoked_at.is_(None),
)

# A trigger, so that every owner of a repository has a namespace, whatever code adds the repository.
run_after(
    """
CREATE FUNCTION add_namespaces() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO namespace (name, kind)
    SELECT DISTINCT lower(owner), host FROM added WHERE host IN ('github', 'git') ORDER BY 1
    ON CONFLICT DO NOTHING;
    RETURN NULL;
END
$$
"""
)
run_after(
    "CREATE TRIGGER add_namespaces AFTER INSERT ON repository REFERENCING NEW TABLE AS added "
    "FOR EACH STATEMENT EXECUTE FUNCTION add_namespaces()"
)
run_after("INSERT INTO namespace (name, kind) VALUES ('local', 'operator')")
