"""What is printed: tables and lines in which the text of others stays text."""

import json
import sys
from collections.abc import Sequence
from typing import Any

from rich.console import Console, JustifyMethod
from rich.table import Table
from rich.text import Text

from assay.model.submission import State, category_of

# A pipe has no width: nothing is folded that a program will read line by line.
NO_WIDTH = 10_000
COLOURS = {
    "active": "blue",
    "published": "green",
    "review": "yellow",
    "rejected": "red",
    "failed": "red",
    "blocked": "red",
    "onHold": "yellow",
}


def open_console(*, stderr: bool = False) -> Console:
    """A console that takes no text for markup; it folds and colours on a terminal only."""
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else NO_WIDTH
    return Console(stderr=stderr, markup=False, highlight=False, emoji=False, width=width)


def visible(text: object) -> str:
    """Text of others on one line, with all that could steer a terminal or hide in it made visible."""
    shown = str(text)
    if shown.isprintable():
        return shown
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in shown)


def cell(text: object, style: str = "") -> Text:
    """The same, for a table or a coloured line."""
    return Text(visible(text), style)


def state_cell(state: str) -> Text:
    """A state in the colour of its category; one that this release does not know has none."""
    known = state in State.__members__
    return cell(state, COLOURS[category_of(State(state))] if known else "")


def a_table(*headings: str, right: Sequence[str] = (), whole: Sequence[str] = ()) -> Table:
    """A table without edges; numbers are to the right, and what is to be copied stays whole."""
    table = Table(show_edge=False, pad_edge=False)
    for heading in headings:
        justify: JustifyMethod = "right" if heading in right else "left"
        table.add_column(heading, overflow="fold", justify=justify, no_wrap=heading in whole)
    return table


def print_line(console: Console, *parts: object) -> None:
    """A line that is never folded, so that an address in it stays whole."""
    line = Text(" ").join(part if isinstance(part, Text) else cell(part) for part in parts)
    console.print(line, soft_wrap=True)


def say(text: str) -> None:
    """A note beside the result: why something takes long, what was left out, how to go on."""
    print_line(open_console(stderr=True), text)


def print_json(document: Any) -> None:
    """The one document of `--json`; what is not ASCII is escaped, so that nothing steers a terminal."""
    print(json.dumps(document, indent=2, default=str))
