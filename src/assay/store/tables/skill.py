"""Listings, their versions, and the keys that sign them."""

from sqlalchemy import (
    ARRAY,
    BigInteger,
    CheckConstraint,
    Column,
    Computed,
    ForeignKey,
    Identity,
    Index,
    Integer,
    SmallInteger,
    Table,
    Text,
    UniqueConstraint,
    Uuid,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB, TSVECTOR

from assay.model.skill import Method, Tier, TrustTier
from assay.store.tables.base import metadata, now, one_of, run_after

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
    now("certified_at"),
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
    now("created_at"),
    now("updated_at"),
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
    one_of("tier", Tier),
    one_of("method", Method),
    one_of("trust_tier", TrustTier),
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

# How many listings there are is the sum of these: a row for what one statement added or removed, folded into one.
skill_count = Table(
    "skill_count",
    metadata,
    Column("id", BigInteger, Identity(always=True), primary_key=True),
    Column("number", BigInteger, nullable=False),
)

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
    now("published_at"),
    UniqueConstraint("skill_id", "version"),
    UniqueConstraint("skill_id", "content_digest"),
    UniqueConstraint("skill_id", "ordinal"),
    one_of("tier", Tier),
    CheckConstraint("version <> ''", name="version"),
    # A commit of a repository, or the digest of what was uploaded.
    CheckConstraint("commit ~ '^([0-9a-f]{40}|sha256:[0-9a-f]{64})$'", name="commit"),
)

signing_key = Table(
    "signing_key",
    metadata,
    Column("id", Text, primary_key=True),
    Column("public_key", Text, nullable=False),
    now("created_at"),
)

run_after(
    """
CREATE FUNCTION count_skills() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO skill_count (number)
    SELECT CASE TG_OP WHEN 'INSERT' THEN number ELSE -number END
    FROM (SELECT count(*) AS number FROM changed) AS counted
    WHERE number > 0;
    RETURN NULL;
END
$$
"""
)
for trigger in (
    "CREATE TRIGGER count_inserted AFTER INSERT ON skill REFERENCING NEW TABLE AS changed "
    "FOR EACH STATEMENT EXECUTE FUNCTION count_skills()",
    "CREATE TRIGGER count_deleted AFTER DELETE ON skill REFERENCING OLD TABLE AS changed "
    "FOR EACH STATEMENT EXECUTE FUNCTION count_skills()",
):
    run_after(trigger)
