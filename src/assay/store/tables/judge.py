"""Cost and state of the judge, rescans, rulesets and replays."""

from sqlalchemy import BigInteger, CheckConstraint, Column, Date, ForeignKey, Index, Integer, SmallInteger, Table, Text

from assay.model.verdict import Decision, Outcome
from assay.store.tables.base import metadata, moment, now, one_of

# One row per day: cost spent or reserved for running calls, in millionths of the currency unit of the prices.
llm_day = Table(
    "llm_day",
    metadata,
    Column("day", Date, primary_key=True),
    Column("calls", BigInteger, nullable=False, server_default="0"),
    Column("prompt_tokens", BigInteger, nullable=False, server_default="0"),
    Column("completion_tokens", BigInteger, nullable=False, server_default="0"),
    Column("cost_micros", BigInteger, nullable=False, server_default="0"),
    # When the first call was refused because the budget of the day was spent.
    moment("stopped_at"),
)

# The state of an endpoint as seen by all processes.
llm_endpoint = Table(
    "llm_endpoint",
    metadata,
    Column("model", Text, primary_key=True),
    # Consecutive failures.
    Column("failures", Integer, nullable=False, server_default="0"),
    Column("problem", Text),
    moment("failed_at"),
    moment("answered_at"),
)

# Published contents to be rescanned: not judged yet, or the rules have changed.
second_look = Table(
    "second_look",
    metadata,
    Column("content_digest", Text, ForeignKey("content.digest"), primary_key=True),
    Column("why", Text, nullable=False),
    now("created_at"),
    now("due_at"),
    Column("failures", Integer, nullable=False, server_default="0"),
    Column("problem", Text),
    one_of("why", ("fast-approve", "ruleset")),
)
Index("second_look_due_at_idx", second_look.c.due_at)

# Rulesets that workers have used; the last one is the active one.
ruleset = Table(
    "ruleset",
    metadata,
    Column("version", Text, primary_key=True),
    now("activated_at"),
)

# Verdicts of a ruleset on published contents, before it is activated.
replay = Table(
    "replay",
    metadata,
    Column("ruleset", Text, primary_key=True),
    Column("content_digest", Text, ForeignKey("content.digest"), primary_key=True),
    Column("outcome", Text, nullable=False),
    Column("decision", Text, nullable=False),
    Column("score", SmallInteger, nullable=False),
    Column("reason", Text),
    now("created_at"),
    one_of("outcome", Outcome),
    one_of("decision", Decision),
    CheckConstraint("score BETWEEN 0 AND 100", name="score"),
)
