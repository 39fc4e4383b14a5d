"""How values look on a page."""

from collections.abc import Callable
from datetime import UTC, datetime

from assay.model.submission import MEANING, State, category_of

UNITS = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1_000, "s"), (1, "ms"))


def moment(value: datetime) -> str:
    """A time that reads the same everywhere."""
    return value.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def duration(milliseconds: float) -> str:
    """A span in the largest unit that fits."""
    size, unit = next(((size, unit) for size, unit in UNITS if milliseconds >= size), UNITS[-1])
    number = milliseconds / size
    return f"{number:.0f} {unit}" if number >= 10 or unit == "ms" else f"{number:.1f} {unit}"


def size(number: int) -> str:
    """Bytes for people."""
    if number < 1024:
        return f"{number} B"
    return f"{number / 1024:.1f} KiB" if number < 1024 * 1024 else f"{number / 1024 / 1024:.1f} MiB"


def meaning(state: State) -> str:
    """What a state means."""
    return MEANING[state]


def category(state: State) -> str:
    """The group of a state, used as a colour."""
    return category_of(state).value


def grade(score: int) -> str:
    """The colour of a score."""
    return "good" if score >= 80 else "fair" if score >= 50 else "poor"


FILTERS: dict[str, Callable[..., str]] = {
    "moment": moment,
    "duration": duration,
    "size": size,
    "meaning": meaning,
    "category": category,
    "grade": grade,
}
