"""Lists the test modules behind each guarantee in docs/guarantees.md, from the citations (`G12`) in tests/."""

import re
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parent.parent
CITED = re.compile(r"\bG\d+\b")
GUARANTEE = re.compile(r"^(- \*\*(G\d+)\*\* .*?) Tests: .*?( <!-- \[[^\]]*\] -->)$", re.MULTILINE)
MOST_LISTED = 6


def with_tests(text: str) -> str:
    """Return the page with the `Tests:` part of every guarantee recomputed."""
    modules = citations()
    return GUARANTEE.sub(lambda found: f"{found[1]} Tests: {_links(modules.get(found[2], []))}.{found[3]}", text)


def guarantees(text: str) -> list[str]:
    """Return the numbers of all guarantees in the order of the page."""
    return [found[2] for found in GUARANTEE.finditer(text)]


def citations() -> dict[str, list[str]]:
    """Return the paths of the test modules that cite each guarantee, sorted."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for file in sorted((ROOT / "tests").rglob("*.py")):
        for number in set(CITED.findall(file.read_text())):
            found[number].append(file.relative_to(ROOT).as_posix())
    return found


def _links(paths: list[str]) -> str:
    listed = ", ".join(f"[{path}](../{path})" for path in paths[:MOST_LISTED])
    more = f" and {len(paths) - MOST_LISTED} more" if len(paths) > MOST_LISTED else ""
    return f"{listed}{more}" if paths else "none"
