"""Passing many rows to one statement as a JSON document, which PostgreSQL expands."""

from collections.abc import Iterable

import msgspec
from sqlalchemy import Column
from sqlalchemy.dialects import postgresql

DIALECT = postgresql.dialect()  # type: ignore[no-untyped-call]


def json_text(rows: object) -> str:
    """Encode rows for `CAST(:rows AS jsonb)`."""
    return msgspec.json.encode(rows).decode()


def recordset(columns: Iterable[Column[object]]) -> str:
    """Return column names and types for `jsonb_to_recordset(…) AS name (…)`."""
    return ", ".join(f"{column.name} {column.type.compile(dialect=DIALECT)}" for column in columns)
