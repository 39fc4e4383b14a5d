"""Rows on their way into a statement: one JSON document, unfolded by PostgreSQL, however many rows it has."""

from collections.abc import Iterable

import msgspec
from sqlalchemy import Column
from sqlalchemy.dialects import postgresql

DIALECT = postgresql.dialect()  # type: ignore[no-untyped-call]


def json_text(rows: object) -> str:
    """The document, for `CAST(:rows AS jsonb)`."""
    return msgspec.json.encode(rows).decode()


def recordset(columns: Iterable[Column[object]]) -> str:
    """Names and types, for `jsonb_to_recordset(…) AS name (…)`."""
    return ", ".join(f"{column.name} {column.type.compile(dialect=DIALECT)}" for column in columns)
