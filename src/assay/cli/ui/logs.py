"""Log lines: readable on a terminal, JSON elsewhere; each says who was running."""

import logging
import sys
from typing import TextIO, cast

import structlog
from structlog.typing import EventDict, WrappedLogger

from assay.runtime.current_task import who_is_running


def set_up_logs(process: str) -> None:
    """Once, at the start of a process."""
    rendering: list[structlog.typing.Processor] = (
        # The pretty tracebacks show local variables, and with them tokens and the content of skills.
        [structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)]
        if sys.stderr.isatty()
        else [structlog.processors.format_exc_info, structlog.processors.JSONRenderer()]
    )
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            _say_who(process),
            *rendering,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        logger_factory=structlog.PrintLoggerFactory(cast(TextIO, _Stderr())),
        cache_logger_on_first_use=True,
    )
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s: %(message)s")


class _Stderr:
    """Standard error as it is when a line is written: a live table stands below the log while it is shown."""

    def write(self, text: str) -> int:
        """To wherever it leads now."""
        return sys.stderr.write(text)

    def flush(self) -> None:
        """The same."""
        sys.stderr.flush()


def _say_who(process: str) -> structlog.typing.Processor:
    def add(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
        event["process"] = process
        if who := who_is_running():
            event.update(who.fields)
        return event

    return add
