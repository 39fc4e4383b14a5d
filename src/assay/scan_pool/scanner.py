"""One scan process, as its worker sees it."""

import asyncio
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Sequence
from contextlib import suppress
from typing import TypeVar

from assay.model.errors import Unavailable
from assay.model.finding import Report
from assay.model.source import Source
from assay.scan_pool.frame import HEAD_BYTES, BadFrame, Ready, Rules, Skill, body_size, decode_body, encode_frame
from assay.scan_pool.process import OUT_OF_TIME

T = TypeVar("T")
# So long a process that has closed its pipe may take to be gone.
LEAVE_SECONDS = 5
# Loading the rules and making them ready takes seconds at most, but not on a machine that is busy.
START_SECONDS = 120


class Died(Exception):
    """The process is gone, and with it what it would have answered."""


class OutOfTime(Exception):
    """The skill took more time of the processor than one may."""


class Scanner:
    """A process that looks at one skill at a time. After any error it must be stopped."""

    def __init__(self, process: Process, patience_seconds: float) -> None:
        self._process = process
        self._patience_seconds = patience_seconds

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        """Whether it has not been seen to end."""
        return self._process.returncode is None

    def teach(self, rules: Rules) -> None:
        """Give it the rules that it waits for."""
        self._ask(rules)

    async def introduce(self, expected: Ready) -> None:
        """Wait until it is ready. Raises `Unavailable` if it looks with other rules than its worker thinks."""
        if await self._answer(Ready, START_SECONDS) != expected:
            changed = "The rules on disk are not those that this worker was started with; it has to be restarted."
            raise Unavailable(changed, code="rules_changed")

    async def look(self, source: Source) -> Report:
        """Its report. Raises `Died` or `OutOfTime`."""
        self._ask(Skill(dict(source.files)))
        report = await self._answer(Report, self._patience_seconds)
        if report.digest != source.digest:
            raise Died("It answered with a report on something else.")
        return report

    async def stop(self) -> None:
        """End it, whatever it does: it keeps nothing that could be lost."""
        if self.is_alive:
            with suppress(ProcessLookupError):
                self._process.kill()
        await self._process.wait()

    def _ask(self, message: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(encode_frame(message))

    async def _answer(self, kind: type[T], patience_seconds: float) -> T:
        assert self._process.stdout is not None
        try:
            async with asyncio.timeout(patience_seconds):
                size = body_size(await self._process.stdout.readexactly(HEAD_BYTES))
                return decode_body(await self._process.stdout.readexactly(size), kind)
        except asyncio.IncompleteReadError:
            code = await self._end()
            if code == -OUT_OF_TIME:
                raise OutOfTime from None
            raise Died(f"It ended with {code}.") from None
        except TimeoutError:
            raise Died(f"It said nothing for {patience_seconds:g} s.") from None
        except BadFrame as problem:
            raise Died(f"It gave no proper answer: {problem}.") from problem

    async def _end(self) -> int | None:
        """The code with which it ends. Not killed first: that could take the code away from who waits for it."""
        with suppress(TimeoutError):
            async with asyncio.timeout(LEAVE_SECONDS):
                await self._process.wait()
        return self._process.returncode


async def start_scanner(command: Sequence[str], patience_seconds: float) -> Scanner:
    """A new process. Raises `Died` if the system has none to give."""
    try:
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=PIPE,
            stdout=PIPE,
            # No secret of the worker is within reach of what a skill might do to the process.
            env={"PYTHONPATH": ":".join(filter(None, sys.path))},
            # A session of its own: Ctrl-C reaches only the worker, which still wants the answers.
            start_new_session=True,
        )
    except OSError as problem:
        raise Died(f"It could not be started: {problem}.") from problem
    return Scanner(process, patience_seconds)
