"""The breaker: an endpoint that keeps failing is left alone for a while, then asked once."""

from collections.abc import Callable
from dataclasses import dataclass

import structlog

from assay.model.errors import ScannerError

log = structlog.get_logger()
# So many failures in a row are no coincidence.
FAILURES = 5


@dataclass
class Breaker:
    """One for all who ask in this process. `clock` counts seconds."""

    clock: Callable[[], float]
    pause_seconds: float
    failures: int = 0
    _open_until: float | None = None
    _is_trying: bool = False

    @property
    def is_open(self) -> bool:
        """Whether nobody may ask."""
        return self._open_until is not None

    def enter(self) -> None:
        """Before a call. Raises ScannerError while open; when the pause is over, one caller may try."""
        if self._open_until is None:
            return
        left = self._open_until - self.clock()
        if left > 0 or self._is_trying:
            wait = max(left, min(1.0, self.pause_seconds))
            raise ScannerError(
                f"The model has failed {self.failures} times in a row and is left alone for now.",
                code="llm_breaker_open",
                retry_after_seconds=wait,
            )
        self._is_trying = True

    def succeed(self) -> None:
        """It has answered."""
        if self._open_until is not None:
            log.info("The model answers again")
        self.failures, self._open_until, self._is_trying = 0, None, False

    def fail(self) -> None:
        """It has not."""
        self.failures += 1
        self._is_trying = False
        if self.failures >= FAILURES:
            if self._open_until is None:
                log.error("The model keeps failing and is left alone for a while", failures=self.failures)
            self._open_until = self.clock() + self.pause_seconds

    def leave(self) -> None:
        """The call was given up before it said anything."""
        self._is_trying = False
