"""A scan process: reads skills from its standard input, answers with reports, and ends when the input does.

python -m assay.scan_pool.process [given] CPU_SECONDS CACHE_FOLDER

It looks with the rules that ship with Assay; `given` says that others come first.
"""

import os
import signal
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import BinaryIO, TypeVar

from assay.model.finding import Report
from assay.model.source import Source
from assay.scan.ruleset import Ruleset, load_ruleset, ruleset_of
from assay.scan.scan import ENGINE, scan_source
from assay.scan_pool.frame import HEAD_BYTES, Ready, Rules, Skill, body_size, decode_body, encode_frame
from assay.scan_pool.saved_engine import with_saved_engine
from assay.scan_pool.unexamined import unexamined

# What ends a process whose scan has used up its time: the kernel sends it in the midst of anything, even a regex.
OUT_OF_TIME = signal.SIGPROF
_NOTHING = Source({"SKILL.md": b""}, commit="")
GIVEN = "given"
Look = Callable[[Source], Report]
T = TypeVar("T")


def main(cpu_seconds: float, cache: Path, *, are_given: bool) -> None:
    """Scan with the rules that ship with Assay or are given, on the engine that is kept in the cache."""
    ruleset = with_saved_engine(_given_ruleset(sys.stdin.buffer) if are_given else load_ruleset(), cache)
    # What is made ready at the first use is made ready now, and not at the cost of the first skill.
    scan_source(_NOTHING, ruleset)
    serve(lambda source: scan_source(source, ruleset), Ready(ENGINE, ruleset.version), cpu_seconds)


def serve(look: Look, ready: Ready, cpu_seconds: float) -> None:
    """Answer until the worker closes the pipe or is gone."""
    # Who stops the worker stops this process through the pipe: what is under way is still wanted until then.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    answers = _take_standard_output()
    with suppress(BrokenPipeError):
        _send(answers, ready)
        while (source := _receive(sys.stdin.buffer)) is not None:
            started = perf_counter()
            # Time of the processor, so that a busy machine condemns nobody. When it is up, this process ends.
            signal.setitimer(signal.ITIMER_PROF, cpu_seconds)
            report = _report(look, source, ready)
            signal.setitimer(signal.ITIMER_PROF, 0)
            _send(answers, replace(report, duration_ms=(perf_counter() - started) * 1000))


def _report(look: Look, source: Source, ready: Ready) -> Report:
    try:
        return look(source)
    except Exception as error:  # noqa: BLE001 — whatever a scan dies of must become a finding, never silence
        traceback.print_exc()
        return unexamined(ready, source.digest, f"the scanner failed ({type(error).__name__})")


def _take_standard_output() -> BinaryIO:
    """The pipe for answers; whoever prints from now on writes to the log and spoils none of them."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return answers


def _given_ruleset(questions: BinaryIO) -> Ruleset:
    given = _read(questions, Rules)
    if given is None:
        sys.exit("No rules were given.")
    return ruleset_of(given.rules, given.traced)


def _receive(questions: BinaryIO) -> Source | None:
    skill = _read(questions, Skill)
    return Source(skill.files, commit="") if skill else None


def _read(questions: BinaryIO, kind: type[T]) -> T | None:
    head = questions.read(HEAD_BYTES)
    return decode_body(questions.read(body_size(head)), kind) if len(head) == HEAD_BYTES else None


def _send(answers: BinaryIO, message: object) -> None:
    answers.write(encode_frame(message))
    answers.flush()


if __name__ == "__main__":
    main(float(sys.argv[-2]), Path(sys.argv[-1]), are_given=sys.argv[1] == GIVEN)
