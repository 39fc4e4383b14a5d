"""Terminal output: lines and tables in which untrusted text cannot become markup or control sequences."""

import json
import sys
from collections.abc import Sequence
from typing import Any

from rich.console import Console, JustifyMethod
from rich.table import Table
from rich.text import Text

from assay.model.submission import State, group_of

# Output to a pipe is never wrapped, so that programs can read it line by line.
NO_WIDTH = 10_000
STATE_COLOURS = {
    "active": "blue",
    "published": "green",
    "review": "yellow",
    "rejected": "red",
    "failed": "red",
    "blocked": "red",
    "onHold": "yellow",
}
SEVERITY_COLOURS = {"critical": "bold red", "high": "red", "medium": "yellow"}


def open_console(*, stderr: bool = False) -> Console:
    """Return a console that ignores markup, and that wraps and colours only on a terminal."""
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else NO_WIDTH
    return Console(stderr=stderr, markup=False, highlight=False, emoji=False, width=width)


def printable(text: object) -> str:
    """Return text on one line, with control and invisible characters escaped."""
    shown = str(text)
    if shown.isprintable():
        return shown
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in shown)


def cell(text: object, style: str = "") -> Text:
    """Return escaped text for a table cell or a coloured line."""
    return Text(printable(text), style)


def state_cell(state: str) -> Text:
    """Return a state in the colour of its group; states unknown to this release have none."""
    known = state in State.__members__
    return cell(state, STATE_COLOURS[group_of(State(state))] if known else "")


def make_table(*headings: str, right: Sequence[str] = (), whole: Sequence[str] = ()) -> Table:
    """Return a borderless table; columns in `right` are right-aligned, those in `whole` never wrap."""
    table = Table(show_edge=False, pad_edge=False)
    for heading in headings:
        justify: JustifyMethod = "right" if heading in right else "left"
        table.add_column(heading, overflow="fold", justify=justify, no_wrap=heading in whole)
    return table


def print_line(console: Console, *parts: object) -> None:
    """Print a line without wrapping, so that URLs in it stay whole."""
    line = Text(" ").join(part if isinstance(part, Text) else cell(part) for part in parts)
    console.print(line, soft_wrap=True)


def print_note(text: str) -> None:
    """Print a note on standard error, beside the result."""
    print_line(open_console(stderr=True), text)


def print_json(document: Any) -> None:
    """Print a document as ASCII-only JSON, so that it cannot contain terminal control sequences."""
    print(json.dumps(document, indent=2, default=str))
