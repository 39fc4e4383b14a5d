"""Writes the generated parts of the documentation from the code: `make docs`. A test says when they are stale."""

from collections.abc import Callable
from pathlib import Path

from pydantic import SecretStr

from assay.app.maintenance import watch_limits
from assay.maintenance.schedule import all_chores
from assay.model.clock import Clock
from assay.model.submission import CATEGORIES, MEANING, TRANSITIONS, category_of
from assay.serve.operations.alarm import MEANS, WHAT_TO_DO, Code
from assay.settings import Settings, variable
from assay.web.openapi import render_openapi
from docs.commands import command_reference
from docs.guarantees import with_tests
from docs.policy import policy_table
from docs.rule_pages import rule_pages

DOCS = Path(__file__).parent
RULES = DOCS / "rules"
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


def alarm_table() -> str:
    """Every alarm and what to do about it."""
    rows = [f"| `{code}` | {MEANS[code]} | {WHAT_TO_DO[code]} |" for code in Code]
    return "\n".join(["| code | holds when | what to do |", "|---|---|---|", *rows])


def chore_table() -> str:
    """Everything that recurs."""
    chores = all_chores(watch_limits(Settings.from_mapping({})), Clock(), "")
    rows = [f"| {chore.name} | {chore.every_seconds:g} s | {chore.budget_seconds:g} s |" for chore in chores]
    return "\n".join(["| chore | every | at most |", "|---|---|---|", *rows])


PARTS: dict[str, tuple[str, Callable[[], str]]] = {
    "state diagram": ("pipeline.md", state_diagram),
    "state table": ("pipeline.md", state_table),
    "category table": ("pipeline.md", category_table),
    "settings": ("operations.md", settings_table),
    "alarms": ("operations.md", alarm_table),
    "chores": ("operations.md", chore_table),
    "commands": ("cli.md", command_reference),
    "policy": ("policy.md", policy_table),
}


def generated() -> dict[Path, str]:
    """What each file should contain."""
    page = DOCS / "guarantees.md"
    texts: dict[Path, str] = {DOCS / "openapi.json": render_openapi(), page: with_tests(page.read_text())}
    for name, (file, make) in PARTS.items():
        path = DOCS / file
        before, begin, rest = texts.get(path, path.read_text()).partition(BEGIN.format(name=name))
        _, end, after = rest.partition(END.format(name=name))
        if not begin or not end:
            raise SystemExit(f"{path} has no place for: {name}")
        texts[path] = f"{before}{begin}\n\n{make()}\n\n{end}{after}"
    return texts | {RULES / name: text for name, text in rule_pages().items()}


def forgotten() -> list[Path]:
    """Pages of families that are no more."""
    return sorted(set(RULES.glob("*.md")) - set(generated()))


def _default(value: object) -> str:
    if value is None or value == ():
        return "none"
    if isinstance(value, tuple):
        return f"`{','.join(map(str, value))}`"
    return f"`{value.get_secret_value() if isinstance(value, SecretStr) else value}`"


if __name__ == "__main__":
    RULES.mkdir(exist_ok=True)
    for path in forgotten():
        path.unlink()
        print(f"removed {path.relative_to(DOCS.parent)}")
    for path, text in generated().items():
        path.write_text(text)
        print(f"wrote {path.relative_to(DOCS.parent)}")
