"""Generate parts of the documentation from the code (`make docs`); a test fails if they are stale."""

from collections.abc import Callable
from pathlib import Path

from obstore.store import MemoryStore
from pydantic import SecretStr

from assay.app.maintenance import watch_limits
from assay.maintenance.schedule import periodic_jobs
from assay.model.clock import Clock
from assay.model.submission import MEANING, STATE_GROUPS, TRANSITIONS, group_of
from assay.serve.operations.alarm import ALARM_MEANINGS, ALARM_REMEDIES, AlarmCode
from assay.settings import Settings, variable_name
from assay.web.openapi import render_openapi
from docs.access_table import access_table
from docs.commands import command_reference
from docs.guarantees import with_tests
from docs.policy import policy_table
from docs.rule_pages import rule_pages

DOCS = Path(__file__).parent
RULES = DOCS / "rules"
BEGIN, END = "<!-- generated: {name} -->", "<!-- end of generated: {name} -->"


def state_diagram() -> str:
    """Return the allowed transitions as a Mermaid diagram."""
    arrows = [f"    {start} --> {end}" for start, ends in TRANSITIONS.items() for end in sorted(ends)]
    return "\n".join(["```mermaid", "stateDiagram-v2", "    [*] --> RECEIVED", *arrows, "```"])


def state_table() -> str:
    rows = [
        f"| {state} | {MEANING[state]} | {group_of(state)} | {', '.join(sorted(TRANSITIONS[state]))} |"
        for state in MEANING
    ]
    return "\n".join(["| state | meaning | category | may change to |", "|---|---|---|---|", *rows])


def category_table() -> str:
    rows = [f"| {category} | {', '.join(sorted(states))} |" for category, states in STATE_GROUPS.items()]
    return "\n".join(["| category | states |", "|---|---|", *rows])


def settings_table() -> str:
    rows = [
        f"| `{variable_name(name)}` | {_default(field.default)} | {field.description} |"
        for name, field in Settings.model_fields.items()
    ]
    return "\n".join(["| variable | default | description |", "|---|---|---|", *rows])


def alarm_table() -> str:
    rows = [f"| `{code}` | {ALARM_MEANINGS[code]} | {ALARM_REMEDIES[code]} |" for code in AlarmCode]
    return "\n".join(["| code | raised when | remedy |", "|---|---|---|", *rows])


def periodic_job_table() -> str:
    jobs = periodic_jobs(watch_limits(Settings.from_mapping({})), Clock(), "", MemoryStore())
    rows = [f"| {job.name} | {job.every_seconds:g} s | {job.budget_seconds:g} s |" for job in jobs]
    return "\n".join(["| periodic job | interval | time limit |", "|---|---|---|", *rows])


PARTS: dict[str, tuple[str, Callable[[], str]]] = {
    "state diagram": ("pipeline.md", state_diagram),
    "state table": ("pipeline.md", state_table),
    "category table": ("pipeline.md", category_table),
    "settings": ("operations.md", settings_table),
    "alarms": ("operations.md", alarm_table),
    "chores": ("operations.md", periodic_job_table),
    "commands": ("cli.md", command_reference),
    "policy": ("policy.md", policy_table),
    "access": ("access.md", access_table),
}


def generated() -> dict[Path, str]:
    """Return the content that each generated file should have."""
    page = DOCS / "guarantees.md"
    texts: dict[Path, str] = {DOCS / "openapi.json": render_openapi(), page: with_tests(page.read_text())}
    for name, (file, make) in PARTS.items():
        path = DOCS / file
        before, begin, rest = texts.get(path, path.read_text()).partition(BEGIN.format(name=name))
        _, end, after = rest.partition(END.format(name=name))
        if not begin or not end:
            raise SystemExit(f"{path} has no markers for the generated part {name!r}")
        texts[path] = f"{before}{begin}\n\n{make()}\n\n{end}{after}"
    return texts | {RULES / name: text for name, text in rule_pages().items()}


def obsolete_pages() -> list[Path]:
    """Return the pages of rule families that no longer exist."""
    return sorted(set(RULES.glob("*.md")) - set(generated()))


def _default(value: object) -> str:
    if value is None or value == ():
        return "none"
    if isinstance(value, tuple):
        return f"`{','.join(map(str, value))}`"
    return f"`{value.get_secret_value() if isinstance(value, SecretStr) else value}`"


if __name__ == "__main__":
    RULES.mkdir(exist_ok=True)
    for path in obsolete_pages():
        path.unlink()
        print(f"removed {path.relative_to(DOCS.parent)}")
    for path, text in generated().items():
        path.write_text(text)
        print(f"wrote {path.relative_to(DOCS.parent)}")
