"""SQL statements executed by a request."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import event

from assay.store.database.database import Database


@contextmanager
def listening(store: Database, moment: str, heard: Callable[[str], None]) -> Iterator[None]:
    """Call `heard` with each statement, before or after it runs."""

    def listener(_connection: Any, _cursor: Any, statement: str, *_others: Any) -> None:
        heard(statement)

    event.listen(store.engine.sync_engine, moment, listener)
    try:
        yield
    finally:
        event.remove(store.engine.sync_engine, moment, listener)


@contextmanager
def statements(store: Database) -> Iterator[list[str]]:
    """Record all statements of the block."""
    seen: list[str] = []
    with listening(store, "before_cursor_execute", seen.append):
        yield seen
