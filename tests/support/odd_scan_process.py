"""A scan process that misbehaves as the skill says, and otherwise scans normally."""

import os
import signal
import sys
from pathlib import Path

from assay.model.finding import Report
from assay.model.source import Source
from assay.scan.ruleset import load_ruleset
from assay.scan.scan import ENGINE, scan_source
from assay.scan_pool.frame import Ready
from assay.scan_pool.process import serve
from assay.scan_pool.saved_engine import with_saved_engine

RULESET = with_saved_engine(load_ruleset(), Path(sys.argv[-1]))


def look(source: Source) -> Report:
    for line in source.skill_md.decode().splitlines():
        verb, _, file = line.partition(": ")
        match verb:
            case "burn":
                while True:
                    pass
            case "stand still":
                signal.pause()
            case "die":
                os.kill(os.getpid(), signal.SIGKILL)
            case "die once" if not Path(file).exists():
                Path(file).touch()
                os.kill(os.getpid(), signal.SIGKILL)
            case "wait for":
                while not Path(file).exists():
                    pass
            case "fail":
                raise RecursionError(verb)
            case "print":
                print("noise" * 1000, flush=True)
            case "note":
                with Path(file).open("a") as notes:
                    notes.write(f"{source.digest}\n")
    return scan_source(source, RULESET)


if __name__ == "__main__":
    scan_source(Source({"SKILL.md": b""}, commit=""), RULESET)
    version = "other" if "--other-rules" in sys.argv else RULESET.version
    serve(look, Ready(ENGINE, version), float(sys.argv[-2]))
