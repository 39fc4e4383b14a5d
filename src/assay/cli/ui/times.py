"""Durations: parsing and formatting."""

import re

from assay.model.errors import Invalid

UNIT_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
DURATION = re.compile(r"(?:\d{1,9}[smhd])+", re.ASCII)
PART = re.compile(r"(\d+)([smhd])", re.ASCII)


def parse_duration(text: str, *, option: str, at_most_seconds: int) -> int:
    """Return the seconds of a duration such as `30m`, `2h` or `1h30m`. Raises Invalid, naming the option."""
    shape = f"{option} must be a duration such as 30m, 2h or 1h30m"
    if not DURATION.fullmatch(text):
        raise Invalid(f"{shape}, not {text!r}.")
    seconds = sum(int(number) * UNIT_SECONDS[unit] for number, unit in PART.findall(text))
    if not 1 <= seconds <= at_most_seconds:
        raise Invalid(f"{shape}, from 1s to {format_duration(at_most_seconds * 1000)}.")
    return seconds


def format_duration(milliseconds: float) -> str:
    """Return the two largest units, such as `2 h 5 min`; milliseconds below one second."""
    if milliseconds < 1_000:
        return f"{milliseconds:.0f} ms"
    seconds = round(milliseconds / 1000)
    parts = ((seconds // 86_400, "d"), (seconds // 3_600 % 24, "h"), (seconds // 60 % 60, "min"), (seconds % 60, "s"))
    first = next(index for index, (number, _) in enumerate(parts) if number)
    return " ".join(f"{number} {unit}" for number, unit in parts[first : first + 2] if number)
