"""Log configuration: readable lines on a terminal, JSON elsewhere, each with its process and task."""

import logging
import sys
from typing import TextIO, cast

import structlog
from structlog.typing import EventDict, WrappedLogger

from assay.runtime.current_task import current_task


def configure_logs(process: str) -> None:
    """Configure logging; call once at the start of a process."""
    rendering: list[structlog.typing.Processor] = (
        # Pretty tracebacks print local variables, which may hold tokens or the content of skills.
        [structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)]
        if sys.stderr.isatty()
        else [structlog.processors.format_exc_info, structlog.processors.JSONRenderer()]
    )
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            _add_process(process),
            *rendering,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        logger_factory=structlog.PrintLoggerFactory(cast(TextIO, _Stderr())),
        cache_logger_on_first_use=True,
    )
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s: %(message)s")


class _Stderr:
    """The current `sys.stderr`, looked up on each write: a live table replaces it while it is displayed."""

    def write(self, text: str) -> int:
        return sys.stderr.write(text)

    def flush(self) -> None:
        sys.stderr.flush()


def _add_process(process: str) -> structlog.typing.Processor:
    def add(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
        event["process"] = process
        if who := current_task():
            event.update(who.fields)
        return event

    return add
