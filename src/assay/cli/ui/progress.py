"""Progress of long work: a bar on a terminal, a line for each change elsewhere."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from uuid import UUID

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from assay.cli.ui.exits import UNDER_WAY
from assay.cli.ui.terminal import cell, print_line, state_cell


@contextmanager
def a_bar(console: Console, what: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """A bar that the block advances; nothing where there is no terminal."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_interactive) as progress:
        task = progress.add_task(what, total=total)
        yield lambda number: progress.advance(task, number)


@contextmanager
def following(console: Console, names: Mapping[UUID, str]) -> Iterator[Callable[[UUID, str], None]]:
    """Shows each change of state of these submissions, and how many are decided."""
    with a_bar(console, "Assaying", len(names)) as advance:

        def show(submission_id: UUID, state: str) -> None:
            if state not in UNDER_WAY:
                advance(1)
            if state not in UNDER_WAY or not console.is_interactive:
                print_line(console, cell(names[submission_id]), state_cell(state))

        yield show
