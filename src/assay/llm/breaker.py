"""Circuit breaker of the model endpoint."""

from collections.abc import Callable
from dataclasses import dataclass

import structlog

from assay.model.errors import ScannerError

log = structlog.get_logger()
# Consecutive failures that open the circuit.
MAX_FAILURES = 5


@dataclass
class ModelBreaker:
    """Opens after consecutive failures; after a pause, one trial call decides whether it closes.

    Not the same mechanism as `DatabaseBreaker`, which probes in the background and opens after a failed probe: a model
    call costs money, so only real calls test the endpoint. `clock` counts seconds; one instance per process.
    """

    clock: Callable[[], float]
    pause_seconds: float
    failures: int = 0
    _open_until: float | None = None
    _is_trying: bool = False

    @property
    def is_open(self) -> bool:
        return self._open_until is not None

    def enter(self) -> None:
        """Call before a request. Raises ScannerError while open; after the pause, lets one trial call through."""
        if self._open_until is None:
            return
        left = self._open_until - self.clock()
        if left > 0 or self._is_trying:
            wait = max(left, min(1.0, self.pause_seconds))
            raise ScannerError(
                f"The model has failed {self.failures} times in a row; calls are paused.",
                code="llm_breaker_open",
                retry_after_seconds=wait,
            )
        self._is_trying = True

    def succeed(self) -> None:
        if self._open_until is not None:
            log.info("Circuit breaker of the model closed")
        self.failures, self._open_until, self._is_trying = 0, None, False

    def fail(self) -> None:
        self.failures += 1
        self._is_trying = False
        if self.failures >= MAX_FAILURES:
            if self._open_until is None:
                log.error("Circuit breaker of the model opened", failures=self.failures)
            self._open_until = self.clock() + self.pause_seconds

    def leave(self) -> None:
        """Call when a request was cancelled without a result."""
        self._is_trying = False
