"""Naming of constraints, and columns and checks that several tables use."""

from collections.abc import Iterable

from sqlalchemy import DDL, CheckConstraint, Column, DateTime, MetaData, Text, event, func
from sqlalchemy.types import UserDefinedType


class TransactionId(UserDefinedType[str]):
    """PostgreSQL's xid8: the id of a transaction, comparable with a snapshot."""

    cache_ok = True

    def get_col_spec(self, **_: object) -> str:
        return "xid8"


metadata = MetaData(
    naming_convention={
        "pk": "%(table_name)s_pkey",
        "fk": "%(table_name)s_%(column_0_name)s_fkey",
        "uq": "%(table_name)s_%(column_0_N_name)s_key",
        "ck": "%(table_name)s_%(constraint_name)s_check",
        "ix": "%(table_name)s_%(column_0_N_name)s_idx",
    }
)


def quoted(values: Iterable[str]) -> str:
    """Return the values as literals of an SQL list."""
    return ", ".join(f"'{value}'" for value in sorted(values))


def one_of(column: str, values: Iterable[str]) -> CheckConstraint:
    """Check that a column holds one of these values."""
    return CheckConstraint(f"{column} IN ({quoted(values)})", name=column)


def is_digest(column: str) -> CheckConstraint:
    """Check that a column holds a SHA-256 digest."""
    return CheckConstraint(f"{column} ~ '^sha256:[0-9a-f]{{64}}$'", name=column)


def moment(name: str) -> Column[object]:
    """Return a nullable timestamp column."""
    return Column(name, DateTime(timezone=True))


def now(name: str) -> Column[object]:
    """Return a timestamp column that defaults to the time of the transaction."""
    return Column(name, DateTime(timezone=True), nullable=False, server_default=func.now())


def status_reason_columns(name: str) -> tuple[Column[object], ...]:
    """Return the columns of a status reason: all of them are set, or none."""
    return (
        Column(f"{name}_code", Text),
        Column(f"{name}_message", Text),
        moment(f"{name}_at"),
        Column(f"{name}_by", Text),
    )


def is_whole_reason(name: str) -> CheckConstraint:
    """Check that a status reason is complete or empty."""
    return CheckConstraint(
        f"num_nulls({name}_code, {name}_message, {name}_at, {name}_by) IN (0, 4)", name=f"{name}_is_whole"
    )


def run_before(statement: str) -> None:
    """Run DDL that the tables need."""
    event.listen(metadata, "before_create", DDL(statement))  # type: ignore[no-untyped-call]


def run_after(statement: str) -> None:
    """Run DDL that needs the tables."""
    event.listen(metadata, "after_create", DDL(statement))  # type: ignore[no-untyped-call]


run_before("CREATE EXTENSION IF NOT EXISTS pg_trgm")
