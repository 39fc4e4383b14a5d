"""`assay doctor`: look at everything, and say what to do."""

from collections.abc import AsyncIterator
from dataclasses import asdict
from typing import Annotated

import typer
from rich.text import Text

from assay import settings
from assay.app.app import open_app
from assay.cli.doctor.check import Check, Health, ill, unknown
from assay.cli.doctor.deep_scans import check_deep_scans
from assay.cli.doctor.judge import check_judge
from assay.cli.doctor.machine import check_machine
from assay.cli.doctor.registry import check_registry
from assay.cli.doctor.rules import check_rules
from assay.cli.process.stopping import run_until_done
from assay.cli.ui.exits import Exit
from assay.cli.ui.options import AsJson
from assay.cli.ui.terminal import cell, open_console, print_json, print_line
from assay.model.errors import Conflict, Unavailable
from assay.settings import Settings

MARKS = {
    Health.WELL: Text("well   ", "green"),
    Health.ODD: Text("odd    ", "yellow"),
    Health.ILL: Text("ill    ", "bold red"),
    Health.UNKNOWN: Text("unknown", "yellow"),
}


def doctor(
    as_json: AsJson = False,
    strict: Annotated[bool, typer.Option("--strict", help="Also end with 1 if something is merely odd.")] = False,
) -> None:
    """Look at everything, and say what to do. Ends with 1 if anything is ill, or could not be looked at."""
    checks = run_until_done(_look(settings.with_secrets(settings.read()), quietly=as_json))
    if as_json:
        print_json({"checks": [asdict(check) for check in checks]})
    wrong = {Health.ILL, Health.UNKNOWN} | ({Health.ODD} if strict else set())
    if any(check.health in wrong for check in checks):
        raise typer.Exit(Exit.REFUSED)


async def _look(chosen: Settings, *, quietly: bool) -> list[Check]:
    console, checks = open_console(), []
    async for check in _all(chosen):
        checks.append(check)
        if not quietly:
            print_line(console, MARKS[check.health], f"{check.name}:", check.detail)
            if check.advice:
                print_line(console, "       ", cell(f"→ {check.advice}", "bold"))
    return checks


async def _all(chosen: Settings) -> AsyncIterator[Check]:
    for check in check_machine(chosen):
        yield check
    yield await check_deep_scans(chosen)
    yield check_judge(chosen)
    rules = check_rules(chosen)
    yield rules
    if rules.health is not Health.WELL:
        # All else is looked at without them.
        chosen = chosen.model_copy(update={"ruleset": None})
    try:
        async with open_app(chosen, application="assay doctor") as app:
            yield Check("database", Health.WELL, "answers, and its schema is the one of this release")
            async for check in check_registry(app):
                yield check
    except Conflict as problem:
        yield ill("database", problem.message, "Run `assay migrate`.")
    except Unavailable as problem:
        advice = "Start it, or `assay up` for the embedded one; look at ASSAY_DATABASE_URL."
        yield ill("database", problem.message, advice)
        yield unknown("queue, blobs, catalogue, edge copy, GitHub", "not looked at without the database")
