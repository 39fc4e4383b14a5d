"""One scan process, as seen by its worker."""

import asyncio
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Sequence
from contextlib import suppress
from typing import TypeVar

from assay.model.errors import Unavailable
from assay.model.finding import Report
from assay.model.source import Source
from assay.scan_pool.frame import (
    HEAD_BYTES,
    BadFrame,
    CustomRules,
    Ready,
    ScanRequest,
    body_size,
    decode_body,
    encode_frame,
)
from assay.scan_pool.process import CPU_TIME_SIGNAL

T = TypeVar("T")
# The time that a process may take to exit after it has closed its pipe.
EXIT_SECONDS = 5
# Loading the rules takes seconds, but longer on a busy machine.
START_SECONDS = 120


class ScanProcessDied(Exception):
    """The process died before it answered."""


class CpuTimeExceeded(Exception):
    """The scan used more CPU time than allowed."""


class ScanProcess:
    """A process that scans one skill at a time. It must be stopped after any error."""

    def __init__(self, process: Process, answer_seconds: float) -> None:
        self._process = process
        self._answer_seconds = answer_seconds

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        """False once the exit of the process has been noticed."""
        return self._process.returncode is None

    def send_rules(self, rules: CustomRules) -> None:
        """Send the rules that the process was started to wait for."""
        self._send(rules)

    async def wait_until_ready(self, expected: Ready) -> None:
        """Wait until the process is ready. Raises `Unavailable` if its rules are not those of the worker."""
        if await self._receive(Ready, START_SECONDS) != expected:
            changed = "The rules on disk have changed since this worker was started. Restart the worker."
            raise Unavailable(changed, code="rules_changed")

    async def scan(self, source: Source) -> Report:
        """Scan a source. Raises `ScanProcessDied` or `CpuTimeExceeded`."""
        self._send(ScanRequest(dict(source.files)))
        report = await self._receive(Report, self._answer_seconds)
        if report.digest != source.digest:
            raise ScanProcessDied("The process answered with the report of another skill.")
        return report

    async def stop(self) -> None:
        """Kill the process, which holds nothing that could be lost."""
        if self.is_alive:
            with suppress(ProcessLookupError):
                self._process.kill()
        await self._process.wait()

    def _send(self, message: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(encode_frame(message))

    async def _receive(self, kind: type[T], answer_seconds: float) -> T:
        assert self._process.stdout is not None
        try:
            async with asyncio.timeout(answer_seconds):
                size = body_size(await self._process.stdout.readexactly(HEAD_BYTES))
                return decode_body(await self._process.stdout.readexactly(size), kind)
        except asyncio.IncompleteReadError:
            code = await self._exit_code()
            if code == -CPU_TIME_SIGNAL:
                raise CpuTimeExceeded from None
            raise ScanProcessDied(f"The process ended with exit code {code}.") from None
        except TimeoutError:
            raise ScanProcessDied(f"The process did not answer within {answer_seconds:g} s.") from None
        except BadFrame as error:
            raise ScanProcessDied(f"The process sent an invalid answer: {error}.") from error

    async def _exit_code(self) -> int | None:
        """Return the exit code. The process is not killed first, because that could replace its exit code."""
        with suppress(TimeoutError):
            async with asyncio.timeout(EXIT_SECONDS):
                await self._process.wait()
        return self._process.returncode


async def start_scan_process(command: Sequence[str], answer_seconds: float) -> ScanProcess:
    """Start a process. Raises `ScanProcessDied` if the system cannot create one."""
    try:
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=PIPE,
            stdout=PIPE,
            # Keep the worker's secrets out of reach of code that a skill may inject into the process.
            env={"PYTHONPATH": ":".join(filter(None, sys.path))},
            # A session of its own: Ctrl-C reaches only the worker, which still waits for the reports.
            start_new_session=True,
        )
    except OSError as error:
        raise ScanProcessDied(f"The process could not be started: {error}.") from error
    return ScanProcess(process, answer_seconds)
