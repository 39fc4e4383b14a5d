"""Who is running, for the logs: a scope that restores what was there before, whatever happens inside."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Running:
    """The work that the current task does, and for whom."""

    kind: str
    fields: tuple[tuple[str, str], ...] = ()


_running: ContextVar[Running | None] = ContextVar("assay_running", default=None)


@contextmanager
def running(kind: str, **fields: object) -> Iterator[Running]:
    """Everything logged inside carries these fields; nested scopes give back the outer one."""
    mine = Running(kind, tuple((name, str(value)) for name, value in fields.items()))
    token = _running.set(mine)
    try:
        yield mine
    finally:
        _running.reset(token)


def who_is_running() -> Running | None:
    """The innermost scope of this task, if any."""
    return _running.get()
