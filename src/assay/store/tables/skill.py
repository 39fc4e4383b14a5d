"""Listings, their versions, and the keys that sign them."""

from sqlalchemy import (
    ARRAY,
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Computed,
    Date,
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
    literal_column,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB, TSVECTOR

from assay.model.category import Category
from assay.model.skill import ListingStatus, Method, Tier, TrustTier, VersionStatus
from assay.store.tables.base import (
    is_digest,
    is_whole_reason,
    metadata,
    moment,
    now,
    one_of,
    run_after,
    status_reason_columns,
)
from assay.store.tables.skill_document import DOCUMENT

# Condition of the indexes that lists, searches and counts use.
IS_LIVE = text("standing = 'live'")

skill = Table(
    "skill",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("repository_id", BigInteger, ForeignKey("repository.id"), nullable=False),
    Column("skill_path", Text, nullable=False),
    Column("display_name", Text, nullable=False),
    Column("description", Text, nullable=False),
    # The owner of the namespace.
    Column("author", Text, nullable=False),
    Column("license", Text),
    Column("labels", ARRAY(Text), nullable=False, server_default=text("'{}'::text[]")),
    Column("tier", Text, nullable=False),
    Column("method", Text, nullable=False),
    Column("score", SmallInteger, nullable=False),
    Column("trust_score", SmallInteger, nullable=False),
    Column("trust_tier", Text, nullable=False),
    now("certified_at"),
    # Every listing has a version; checked when the publishing transaction commits.
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
        "search_text",
        Text,
        Computed("lower(name || ' ' || display_name || ' ' || description || ' ' || author)", persisted=True),
    ),
    Column("category", Text, nullable=False, server_default=Category.OTHER.value),
    # Installs in total and in the last days, as of the last fold of the reports.
    Column("installs", BigInteger, nullable=False, server_default="0"),
    Column("trending_7d", Integer, nullable=False, server_default="0"),
    Column("trending_30d", Integer, nullable=False, server_default="0"),
    # Copied from the repository, so that lists can be ordered by them.
    Column("stars", Integer),
    Column("standing", Text, nullable=False, server_default=ListingStatus.LIVE.value),
    *status_reason_columns("standing"),
    Column("search_document", TSVECTOR, Computed(DOCUMENT, persisted=True)),
    # The author that the front matter claims.
    Column("claimed_author", Text),
    # The owner or an administrator chose the name. Other names yield to a chosen one.
    Column("is_name_chosen", Boolean, nullable=False, server_default=text("false")),
    # When the listing got the last part of its name. Equal times are ordered by id.
    now("named_at"),
    UniqueConstraint("repository_id", "skill_path"),
    one_of("category", Category),
    one_of("standing", ListingStatus),
    CheckConstraint("(standing = 'live') = (standing_code IS NULL)", name="not_live_has_reason"),
    is_whole_reason("standing"),
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
# One index for each order of lists.
Index("skill_updated_at_idx", skill.c.updated_at.desc(), skill.c.id.desc(), postgresql_where=IS_LIVE)
Index("skill_created_at_idx", skill.c.created_at.desc(), skill.c.id.desc(), postgresql_where=IS_LIVE)
Index("skill_installs_idx", skill.c.installs.desc(), skill.c.id.desc(), postgresql_where=IS_LIVE)
Index("skill_trending_idx", skill.c.trending_7d.desc(), skill.c.id.desc(), postgresql_where=IS_LIVE)
# Unknown stars sort below zero.
Index("skill_stars_idx", text("coalesce(stars, -1) DESC"), skill.c.id.desc(), postgresql_where=IS_LIVE)
# The last part of the name and its prefixes, for users who do not know the repository.
SLUG = func.split_part(skill.c.name, literal_column("'/'::text"), literal_column("3"))
Index("skill_slug_idx", SLUG.label("slug"), postgresql_ops={"slug": "text_pattern_ops"}, postgresql_where=IS_LIVE)
Index("skill_down_slug_idx", SLUG, postgresql_where=text("standing <> 'live'"))
# Similar names.
Index(
    "skill_name_trigram_idx",
    skill.c.name,
    postgresql_using="gin",
    postgresql_ops={"name": "gin_trgm_ops"},
    postgresql_where=IS_LIVE,
)

# Aliases: former names, and names in other registries.
skill_alias = Table(
    "skill_alias",
    metadata,
    Column("alias", Text, primary_key=True),
    Column("skill_id", Uuid, ForeignKey("skill.id"), primary_key=True, index=True),
    now("created_at"),
    CheckConstraint("alias = lower(alias) AND alias <> ''", name="lower_case"),
)

# Counters of live listings in total, by category and by tier. The value is the sum of its rows: one per statement
# that added or removed listings, folded regularly.
skill_count = Table(
    "skill_count",
    metadata,
    Column("id", BigInteger, Identity(always=True), primary_key=True),
    Column("facet", Text, nullable=False),
    Column("value", Text, nullable=False),
    Column("number", BigInteger, nullable=False),
    one_of("facet", ("all", "category", "tier")),
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
    Column("status", Text, nullable=False, server_default=VersionStatus.LIVE.value),
    *status_reason_columns("status"),
    *status_reason_columns("deprecation"),
    # The columns of the listing while this is its live version.
    Column("described", JSONB, nullable=False, server_default=text("'{}'::jsonb")),
    # A Sigstore bundle for OpenSSF model signing tools.
    Column("oms_signature", JSONB),
    one_of("status", VersionStatus),
    CheckConstraint("(status = 'live') = (status_code IS NULL)", name="not_live_has_reason"),
    is_whole_reason("status"),
    is_whole_reason("deprecation"),
    UniqueConstraint("skill_id", "version"),
    UniqueConstraint("skill_id", "content_digest"),
    UniqueConstraint("skill_id", "ordinal"),
    one_of("tier", Tier),
    CheckConstraint("version <> ''", name="version"),
    # A commit of a repository, or the digest of an upload.
    CheckConstraint("commit ~ '^([0-9a-f]{40}|sha256:[0-9a-f]{64})$'", name="commit"),
)

signing_key = Table(
    "signing_key",
    metadata,
    Column("id", Text, primary_key=True),
    Column("public_key", Text, nullable=False),
    now("created_at"),
    Column("algorithm", Text, nullable=False, server_default="ed25519"),
    # When the key was replaced. Its signatures stay valid.
    moment("retired_at"),
    one_of("algorithm", ("ed25519", "ecdsa-p256")),
)

# Listings with the same content.
Index("skill_version_content_digest_idx", skill_version.c.content_digest)

# Tags for versions, such as "beta". The live version needs none.
dist_tag = Table(
    "dist_tag",
    metadata,
    Column("skill_id", Uuid, ForeignKey("skill.id"), primary_key=True),
    Column("tag", Text, primary_key=True),
    Column("version_id", Uuid, ForeignKey("skill_version.id"), nullable=False),
    now("updated_at"),
    CheckConstraint("tag ~ '^[a-z][a-z0-9._-]{0,39}$' AND tag <> 'latest'", name="tag"),
)

# Install reports: one per skill, client and day. The client's address is stored only as a keyed digest.
install_event = Table(
    "install_event",
    metadata,
    Column("skill_id", Uuid, ForeignKey("skill.id"), primary_key=True),
    Column("day", Date, primary_key=True),
    Column("client", Text, primary_key=True),
    Column("version", Text),
    now("created_at"),
    is_digest("client"),
)
Index("install_event_client_idx", install_event.c.day, install_event.c.client)

# Daily installs, which all numbers of installs are sums of. Never deleted.
install_day = Table(
    "install_day",
    metadata,
    Column("skill_id", Uuid, ForeignKey("skill.id"), primary_key=True),
    Column("day", Date, primary_key=True),
    Column("number", Integer, nullable=False),
    CheckConstraint("number > 0", name="number"),
)
Index("install_day_day_idx", install_day.c.day)

# Immutable columns of a version. Others, such as its status, may change.
run_after(
    """
CREATE FUNCTION keep_version() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'A version is never changed: %% of %%.', OLD.version, OLD.skill_id USING ERRCODE = '23514';
END
$$
"""
)
KEPT = ("skill_id", "version", "ordinal", "content_digest", "commit", "scan_id", "published_at")
run_after(
    "CREATE TRIGGER keep_version BEFORE UPDATE ON skill_version FOR EACH ROW WHEN ("
    + f"({', '.join(f'OLD.{column}' for column in KEPT)}) IS DISTINCT FROM "
    + f"({', '.join(f'NEW.{column}' for column in KEPT)})"
    + ") EXECUTE FUNCTION keep_version()"
)

# A trigger, so that no listing inherits the age of its former name, whatever code renames it.
run_after(
    """
CREATE FUNCTION date_name() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.named_at := now();
    RETURN NEW;
END
$$
"""
)
run_after(
    "CREATE TRIGGER date_name BEFORE UPDATE OF name ON skill FOR EACH ROW "
    "WHEN (split_part(OLD.name, '/', 3) <> split_part(NEW.name, '/', 3)) EXECUTE FUNCTION date_name()"
)

ADDED = "SELECT category, tier, 1 AS number FROM added WHERE standing = 'live'"
REMOVED = "SELECT category, tier, -1 AS number FROM removed WHERE standing = 'live'"


def _count(rows: str) -> str:
    return f"""
        INSERT INTO skill_count (facet, value, number)
        SELECT facet, value, sum(number)
        FROM ({rows}) AS changed
        CROSS JOIN LATERAL (VALUES ('all', ''), ('category', category), ('tier', tier)) AS facets (facet, value)
        GROUP BY facet, value HAVING sum(number) <> 0 ORDER BY facet, value;"""


run_after(
    f"""
CREATE FUNCTION count_skills() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN{_count(ADDED)}
    ELSIF TG_OP = 'DELETE' THEN{_count(REMOVED)}
    ELSE{_count(f"{ADDED} UNION ALL {REMOVED}")}
    END IF;
    RETURN NULL;
END
$$
"""
)
for trigger, sets in (
    ("count_inserted AFTER INSERT", "NEW TABLE AS added"),
    ("count_changed AFTER UPDATE", "NEW TABLE AS added OLD TABLE AS removed"),
    ("count_deleted AFTER DELETE", "OLD TABLE AS removed"),
):
    run_after(
        f"CREATE TRIGGER {trigger} ON skill REFERENCING {sets} FOR EACH STATEMENT EXECUTE FUNCTION count_skills()"
    )

# A trigger, so that every listed repository is checked, whatever code lists it.
run_after(
    """
CREATE FUNCTION watch_source() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO upstream_check (repository_id) SELECT DISTINCT repository_id FROM added ORDER BY repository_id
    ON CONFLICT DO NOTHING;
    RETURN NULL;
END
$$
"""
)
run_after(
    "CREATE TRIGGER watch_source AFTER INSERT ON skill REFERENCING NEW TABLE AS added "
    "FOR EACH STATEMENT EXECUTE FUNCTION watch_source()"
)
