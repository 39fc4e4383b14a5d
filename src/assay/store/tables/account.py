"""Accounts, sessions, tokens and sign-in attempts."""

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    DateTime,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    Table,
    Text,
    Uuid,
    func,
)

from assay.model.account import Role
from assay.store.tables.base import is_digest, metadata, moment, now, one_of

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
    is_digest("token_digest"),
    CheckConstraint("char_length(label) BETWEEN 1 AND 100", name="label"),
)

sign_in_attempt = Table(
    "sign_in_attempt",
    metadata,
    Column("key", Text, primary_key=True),
    Column("attempts", Integer, nullable=False),
    Column("until", DateTime(timezone=True), nullable=False, index=True),
    is_digest("key"),
)
