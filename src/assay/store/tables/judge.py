"""What the judge spends, how its endpoint does, what is to be looked at again, and what other rules would say."""

from sqlalchemy import BigInteger, CheckConstraint, Column, Date, ForeignKey, Index, Integer, SmallInteger, Table, Text

from assay.model.verdict import Decision, Outcome
from assay.store.tables.base import metadata, moment, now, one_of

# One row a day: what was spent or is set aside for calls under way. Costs are millionths of the unit of the prices.
llm_day = Table(
    "llm_day",
    metadata,
    Column("day", Date, primary_key=True),
    Column("calls", BigInteger, nullable=False, server_default="0"),
    Column("prompt_tokens", BigInteger, nullable=False, server_default="0"),
    Column("completion_tokens", BigInteger, nullable=False, server_default="0"),
    Column("cost_micros", BigInteger, nullable=False, server_default="0"),
    # When a call was first not made because the budget of the day is spent.
    moment("stopped_at"),
)

# How an endpoint did lately, as all processes saw it.
llm_endpoint = Table(
    "llm_endpoint",
    metadata,
    Column("model", Text, primary_key=True),
    # In a row.
    Column("failures", Integer, nullable=False, server_default="0"),
    Column("problem", Text),
    moment("failed_at"),
    moment("answered_at"),
)

# Published contents that are to be weighed again: the judge has not seen them, or the rules have changed.
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

# Rulesets that workers have run with; the last one is what verdicts are held against.
ruleset = Table(
    "ruleset",
    metadata,
    Column("version", Text, primary_key=True),
    now("activated_at"),
)

# What a ruleset would say of published contents, before it is activated.
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
