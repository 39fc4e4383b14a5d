"""Submissions as a table."""

from datetime import UTC, datetime

from rich.console import Console
from rich.table import Table

from assay.cli.registry.responses import SubmissionRead
from assay.cli.ui.terminal import a_table, cell, state_cell
from assay.cli.ui.times import shown_duration

WIDE = 120
# Positions are counted up to here; one more stands for all that are further back.
LAST_POSITION = 10_000


def submission_table(console: Console, submissions: list[SubmissionRead], positions: dict[str, int]) -> Table:
    """One line for each; a narrow terminal has room for the most important only."""
    more = ("Repository", "Score", "Why") if console.width >= WIDE else ()
    table = a_table(
        "Skill", "State", "Position", "Age", *more, "Id", right=("Position", "Score"), whole=("State", "Id")
    )
    for each in submissions:
        shown = {
            "Repository": each.repository,
            "Score": "–" if each.score is None else each.score,
            "Why": each.reason.code if each.reason else "–",
        }
        table.add_row(
            cell(each.skill_name),
            state_cell(each.state),
            cell(_position(positions.get(str(each.id)))),
            cell(_age(each.created_at)),
            *(cell(shown[heading]) for heading in more),
            cell(each.id),
        )
    return table


def _position(number: int | None) -> str:
    if number is None:
        return "–"
    return f"{number:,}" if number <= LAST_POSITION else f"over {LAST_POSITION:,}"


def _age(created_at: datetime) -> str:
    return shown_duration(max(0, (datetime.now(UTC) - created_at).total_seconds() * 1000))
