"""Print one line a column of a CSV file: type, missing and distinct values, range."""

import csv
import sys
from pathlib import Path


def main(path: Path) -> None:
    """Read the file once and describe each column."""
    with path.open(newline="", encoding="utf-8-sig") as file:
        rows = list(csv.DictReader(file))
    print(f"{path.name}: {len(rows)} rows")
    for column in rows[0] if rows else []:
        print(describe(column, [row[column] or "" for row in rows]))


def describe(column: str, values: list[str]) -> str:
    """One line on the values of one column."""
    present = [value.strip() for value in values if value.strip()]
    missing = len(values) - len(present)
    numbers = [float(value) for value in present if is_number(value)]
    kind = "number" if present and len(numbers) == len(present) else "text"
    low, high = (
        (min(numbers), max(numbers)) if kind == "number" else (min(present, default=""), max(present, default=""))
    )
    return f"  {column}: {kind}, {missing} missing, {len(set(present))} distinct, {low} to {high}"


def is_number(value: str) -> bool:
    """Whether Python reads the value as a number."""
    try:
        float(value)
    except ValueError:
        return False
    return True


if __name__ == "__main__":
    main(Path(sys.argv[1]))
