"""`assay` run in this process."""

import io
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

from assay.cli.main import Commands, run
from assay.cli.ui.lazy import load
from tests.support.cli.live import Ran


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def assay_here(*arguments: str | Path, terminal: bool = False) -> Ran:
    """Run a command and return its output and exit code; standard error may pose as a terminal."""
    out, err = io.StringIO(), _Terminal() if terminal else io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.setattr(sys, "argv", ["assay", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            run()
    return Ran(int(ended.value.code or 0), out.getvalue(), err.getvalue())


def accepted(words: list[str]) -> dict[str, object]:
    """Parse a command line and return its parameters."""
    program, name, *rest = words
    assert program == "assay", words
    command = load(Commands.lazy_commands[name].target)
    if hasattr(command, "commands"):
        command = command.commands[rest.pop(0)]
    return command.make_context(name, rest).params


def one_line(ran: Ran) -> str:
    """Return the single line of an error without a result."""
    assert ran.out == ""
    assert ran.err.startswith("assay: ")
    assert ran.err.count("\n") == 1, ran.err
    return ran.err.removeprefix("assay: ").rstrip("\n")
