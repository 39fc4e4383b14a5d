"""`assay`, called in this process as its script calls it."""

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
    """What a call prints, and the code it ends with; standard error may seem to be a terminal."""
    out, err = io.StringIO(), _Terminal() if terminal else io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.setattr(sys, "argv", ["assay", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            run()
    return Ran(int(ended.value.code or 0), out.getvalue(), err.getvalue())


def accepted(words: list[str]) -> dict[str, object]:
    """The parameters of a call as the command line understands them; an error if it does not."""
    program, name, *rest = words
    assert program == "assay", words
    command = load(Commands.lazy_commands[name].place)
    if hasattr(command, "commands"):
        command = command.commands[rest.pop(0)]
    return command.make_context(name, rest).params


def one_line(ran: Ran) -> str:
    """The one line that an error is, when there is no result."""
    assert ran.out == ""
    assert ran.err.startswith("assay: ")
    assert ran.err.count("\n") == 1, ran.err
    return ran.err.removeprefix("assay: ").rstrip("\n")
