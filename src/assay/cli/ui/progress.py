"""Progress of long operations: a bar on a terminal, a line per change elsewhere."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from uuid import UUID

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from assay.cli.ui.exit_codes import IN_PROGRESS
from assay.cli.ui.terminal import cell, print_line, state_cell


@contextmanager
def progress_bar(console: Console, description: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """Display a bar that the yielded function advances; display nothing without a terminal."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_interactive) as progress:
        task = progress.add_task(description, total=total)
        yield lambda number: progress.advance(task, number)


@contextmanager
def state_progress(console: Console, names: Mapping[UUID, str]) -> Iterator[Callable[[UUID, str], None]]:
    """Print each change of state of these submissions, and display how many are decided."""
    with progress_bar(console, "Deciding", len(names)) as advance:

        def show(submission_id: UUID, state: str) -> None:
            if state not in IN_PROGRESS:
                advance(1)
            if state not in IN_PROGRESS or not console.is_interactive:
                print_line(console, cell(names[submission_id]), state_cell(state))

        yield show
