"""What GitHub lets each token do, for all processes, and answers it gave before. Tokens are known by keys only."""

from sqlalchemy import CheckConstraint, Column, DateTime, Index, Integer, LargeBinary, Table, Text

from assay.store.tables.base import metadata, moment, now

# Until when a token is left alone.
github_token = Table(
    "github_token",
    metadata,
    Column("key", Text, primary_key=True),
    moment("rests_until"),
    moment("refused_until"),
    now("noted_at"),
)

# Calls of a window that no process has taken yet.
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
