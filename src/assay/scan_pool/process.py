"""A scan process: reads skills from standard input, answers with reports, and ends at the end of the input.

python -m assay.scan_pool.process [custom-rules] CPU_SECONDS CACHE_FOLDER

It uses the bundled rules, unless the argument `custom-rules` says that others are sent first.
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
from assay.scan.checks.unexamined import unexamined
from assay.scan.ruleset import Ruleset, load_ruleset, ruleset_of
from assay.scan.scan import ENGINE, scan_source
from assay.scan_pool.frame import HEAD_BYTES, CustomRules, Ready, ScanRequest, body_size, decode_body, encode_frame
from assay.scan_pool.saved_engine import with_saved_engine

# The signal that ends a process whose scan has used up its CPU time. The kernel delivers it even within a regex.
CPU_TIME_SIGNAL = signal.SIGPROF
_EMPTY_SKILL = Source({"SKILL.md": b""}, commit="")
CUSTOM_RULES = "custom-rules"
Scan = Callable[[Source], Report]
T = TypeVar("T")


def main(cpu_seconds: float, cache: Path, *, custom_rules: bool) -> None:
    """Scan with the bundled rules or those that are sent, on the engine saved in the cache."""
    ruleset = with_saved_engine(_receive_ruleset(sys.stdin.buffer) if custom_rules else load_ruleset(), cache)
    # Warm up, so that the first skill is not charged for it.
    scan_source(_EMPTY_SKILL, ruleset)
    serve(lambda source: scan_source(source, ruleset), Ready(ENGINE, ruleset.version), cpu_seconds)


def serve(scan: Scan, ready: Ready, cpu_seconds: float) -> None:
    """Answer requests until the worker closes the pipe or exits."""
    # The worker stops this process by closing the pipe, so that a running scan can finish on Ctrl-C.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    answers = _take_standard_output()
    with suppress(BrokenPipeError):
        _send(answers, ready)
        while (source := _receive(sys.stdin.buffer)) is not None:
            started = perf_counter()
            # CPU time, not wall time, so that a busy machine fails no skill. The process ends when it is used up.
            signal.setitimer(signal.ITIMER_PROF, cpu_seconds)
            report = _report(scan, source, ready)
            signal.setitimer(signal.ITIMER_PROF, 0)
            _send(answers, replace(report, duration_ms=(perf_counter() - started) * 1000))


def _report(scan: Scan, source: Source, ready: Ready) -> Report:
    try:
        return scan(source)
    except Exception as error:  # noqa: BLE001 - the scanner fails closed: any crash becomes a finding
        traceback.print_exc()
        return unexamined_report(ready, source.digest, f"the scanner failed ({type(error).__name__})")


def unexamined_report(scanner: Ready, digest: str, why: str) -> Report:
    """Return the report on a skill that could not be scanned, which sends it to a review."""
    finding = unexamined("SKILL.md", why)
    return Report(
        engine=scanner.engine,
        ruleset=scanner.ruleset,
        digest=digest,
        findings=(finding,),
        # Unknown: assume that it has code.
        has_code=True,
        duration_ms=0.0,
    )


def _take_standard_output() -> BinaryIO:
    """Return the pipe for answers, and redirect standard output to standard error so that prints cannot corrupt it."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return answers


def _receive_ruleset(requests: BinaryIO) -> Ruleset:
    received = _read(requests, CustomRules)
    if received is None:
        sys.exit("The worker closed the pipe before it sent the rules.")
    return ruleset_of(received.rules, received.traced)


def _receive(requests: BinaryIO) -> Source | None:
    request = _read(requests, ScanRequest)
    return Source(request.files, commit="") if request else None


def _read(requests: BinaryIO, kind: type[T]) -> T | None:
    head = requests.read(HEAD_BYTES)
    return decode_body(requests.read(body_size(head)), kind) if len(head) == HEAD_BYTES else None


def _send(answers: BinaryIO, message: object) -> None:
    answers.write(encode_frame(message))
    answers.flush()


if __name__ == "__main__":
    main(float(sys.argv[-2]), Path(sys.argv[-1]), custom_rules=sys.argv[1] == CUSTOM_RULES)
