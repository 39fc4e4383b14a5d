"""The current task of an asyncio context, for log fields."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CurrentTask:
    """The kind of work and the fields that its log lines carry."""

    kind: str
    fields: tuple[tuple[str, str], ...] = ()


_current: ContextVar[CurrentTask | None] = ContextVar("assay_current_task", default=None)


@contextmanager
def task_scope(kind: str, **fields: object) -> Iterator[CurrentTask]:
    """Add these fields to every log line in the block; the outer scope is restored at its end."""
    task = CurrentTask(kind, tuple((name, str(value)) for name, value in fields.items()))
    token = _current.set(task)
    try:
        yield task
    finally:
        _current.reset(token)


def current_task() -> CurrentTask | None:
    return _current.get()
