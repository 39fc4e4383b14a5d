"""What all tables share: the names of constraints, and columns and checks that recur."""

from collections.abc import Iterable

from sqlalchemy import DDL, CheckConstraint, Column, DateTime, MetaData, Text, event, func
from sqlalchemy.types import UserDefinedType


class TransactionId(UserDefinedType[str]):
    """PostgreSQL's xid8: the transaction that wrote a row, comparable with a snapshot."""

    cache_ok = True

    def get_col_spec(self, **_: object) -> str:
        """The type's name in DDL."""
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
    """The values as literals of an SQL list."""
    return ", ".join(f"'{value}'" for value in sorted(values))


def one_of(column: str, values: Iterable[str]) -> CheckConstraint:
    """The column holds one of these words."""
    return CheckConstraint(f"{column} IN ({quoted(values)})", name=column)


def is_digest(column: str) -> CheckConstraint:
    """The column holds a digest of ours."""
    return CheckConstraint(f"{column} ~ '^sha256:[0-9a-f]{{64}}$'", name=column)


def moment(name: str) -> Column[object]:
    """A time that may not have come yet."""
    return Column(name, DateTime(timezone=True))


def now(name: str) -> Column[object]:
    """The time of the transaction that wrote the row."""
    return Column(name, DateTime(timezone=True), nullable=False, server_default=func.now())


def remark(name: str) -> tuple[Column[object], ...]:
    """Why something is no longer as it was: all of it is there or none of it."""
    return (
        Column(f"{name}_code", Text),
        Column(f"{name}_message", Text),
        moment(f"{name}_at"),
        Column(f"{name}_by", Text),
    )


def is_whole_remark(name: str) -> CheckConstraint:
    """A remark has all its parts."""
    return CheckConstraint(
        f"num_nulls({name}_code, {name}_message, {name}_at, {name}_by) IN (0, 4)", name=f"{name}_is_whole"
    )


def run_before(statement: str) -> None:
    """DDL that the tables need."""
    event.listen(metadata, "before_create", DDL(statement))  # type: ignore[no-untyped-call]


def run_after(statement: str) -> None:
    """DDL that needs the tables."""
    event.listen(metadata, "after_create", DDL(statement))  # type: ignore[no-untyped-call]


run_before("CREATE EXTENSION IF NOT EXISTS pg_trgm")
