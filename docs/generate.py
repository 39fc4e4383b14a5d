"""Writes the generated parts of the documentation from the code: `make docs`. A test says when they are stale."""

from collections.abc import Callable
from pathlib import Path

from assay.model.submission import CATEGORIES, MEANING, TRANSITIONS, category_of
from assay.settings import Settings, variable
from assay.web.openapi import render_openapi

DOCS = Path(__file__).parent
BEGIN, END = "<!-- generated: {name} -->", "<!-- end of generated: {name} -->"


def state_diagram() -> str:
    """The arrows, as Mermaid."""
    arrows = [f"    {start} --> {end}" for start, ends in TRANSITIONS.items() for end in sorted(ends)]
    return "\n".join(["```mermaid", "stateDiagram-v2", "    [*] --> RECEIVED", *arrows, "```"])


def state_table() -> str:
    """What each state means and where it leads."""
    rows = [
        f"| {state} | {MEANING[state]} | {category_of(state)} | {', '.join(sorted(TRANSITIONS[state]))} |"
        for state in MEANING
    ]
    return "\n".join(["| state | means | category | may go to |", "|---|---|---|---|", *rows])


def category_table() -> str:
    """Which states each number of the statistics adds up."""
    rows = [f"| {category} | {', '.join(sorted(states))} |" for category, states in CATEGORIES.items()]
    return "\n".join(["| category | states |", "|---|---|", *rows])


def settings_table() -> str:
    """Every setting, its default and what it is for."""
    rows = [
        f"| `{variable(name)}` | {_default(field.default)} | {field.description} |"
        for name, field in Settings.model_fields.items()
    ]
    return "\n".join(["| variable | default | |", "|---|---|---|", *rows])


PARTS: dict[str, tuple[str, Callable[[], str]]] = {
    "state diagram": ("pipeline.md", state_diagram),
    "state table": ("pipeline.md", state_table),
    "category table": ("pipeline.md", category_table),
    "settings": ("operations.md", settings_table),
}


def generated() -> dict[Path, str]:
    """What each file should contain."""
    texts: dict[Path, str] = {DOCS / "openapi.json": render_openapi()}
    for name, (file, make) in PARTS.items():
        path = DOCS / file
        before, begin, rest = texts.get(path, path.read_text()).partition(BEGIN.format(name=name))
        _, end, after = rest.partition(END.format(name=name))
        if not begin or not end:
            raise SystemExit(f"{path} has no place for: {name}")
        texts[path] = f"{before}{begin}\n\n{make()}\n\n{end}{after}"
    return texts


def _default(value: object) -> str:
    if value is None or value == ():
        return "none"
    return f"`{value}`"


if __name__ == "__main__":
    for path, text in generated().items():
        path.write_text(text)
        print(f"wrote {path.relative_to(DOCS.parent)}")
