"""Accounts, sessions, tokens and sign-in attempts."""

from sqlalchemy import (
    ARRAY,
    BigInteger,
    CheckConstraint,
    Column,
    DateTime,
    ForeignKey,
    Index,
    LargeBinary,
    Table,
    Text,
    Uuid,
    func,
    text,
)

from assay.model.account import Role, Scope
from assay.store.tables.base import is_digest, metadata, moment, now, one_of, quoted

account = Table(
    "account",
    metadata,
    Column("id", Uuid, primary_key=True),
    # The GitHub user id: a login may change and be taken by someone else.
    Column("github_id", BigInteger, unique=True),
    Column("login", Text, nullable=False),
    Column("role", Text, nullable=False),
    Column("password_hash", Text),
    now("created_at"),
    moment("disabled_at"),
    # The namespace of uploads.
    Column("handle", Text, ForeignKey("namespace.name"), unique=True),
    one_of("role", Role),
    CheckConstraint("login <> ''", name="named"),
    # An account is either of GitHub or local, so that one kind of credential cannot open the other.
    CheckConstraint("(github_id IS NULL) = (password_hash IS NOT NULL)", name="one_proof"),
)
Index(
    "account_local_login_key",
    func.lower(account.c.login),
    unique=True,
    postgresql_where=account.c.github_id.is_(None),
)

Index("account_login_idx", func.lower(account.c.login))
Index("account_with_role_idx", account.c.id, postgresql_where=text("role <> 'USER'"))

# One row per signed-in browser; its refresh token changes, the row stays.
account_session = Table(
    "account_session",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("account_id", Uuid, ForeignKey("account.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("token_digest", Text, nullable=False),
    Column("previous_digest", Text),
    # The current token is derived from the salt and the previous token, so concurrent refreshes get the same one.
    Column("salt", LargeBinary),
    moment("rotated_at"),
    now("created_at"),
    Column("expires_at", DateTime(timezone=True), nullable=False, index=True),
    moment("revoked_at"),
    moment("last_used_at"),
    Column("user_agent", Text),
    is_digest("token_digest"),
    is_digest("previous_digest"),
    CheckConstraint(
        "(previous_digest IS NULL) = (salt IS NULL) AND (salt IS NULL) = (rotated_at IS NULL)", name="rotated"
    ),
)

# Tokens for programs. Those without a label were created by a token exchange and are replaced by newer ones.
account_token = Table(
    "account_token",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("account_id", Uuid, ForeignKey("account.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("token_digest", Text, nullable=False, unique=True),
    Column("label", Text),
    now("created_at"),
    Column("expires_at", DateTime(timezone=True), nullable=False),
    moment("last_used_at"),
    moment("revoked_at"),
    Column("scopes", ARRAY(Text), nullable=False),
    # Null: all namespaces of the account.
    Column("namespaces", ARRAY(Text)),
    is_digest("token_digest"),
    CheckConstraint(f"scopes <@ ARRAY[{quoted(Scope)}] AND cardinality(scopes) > 0", name="scopes"),
    CheckConstraint("char_length(label) BETWEEN 1 AND 100", name="label"),
)

# Counters of all rate limits: what was done in a window of time. The key is a digest.
sign_in_attempt = Table(
    "sign_in_attempt",
    metadata,
    Column("key", Text, primary_key=True),
    Column("attempts", BigInteger, nullable=False),
    Column("until", DateTime(timezone=True), nullable=False, index=True),
    is_digest("key"),
)
