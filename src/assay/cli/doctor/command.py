"""`assay doctor`: check the installation and recommend what to do."""

from collections.abc import AsyncIterator
from dataclasses import asdict
from typing import Annotated

import typer
from rich.text import Text

from assay import settings
from assay.app.app import open_app
from assay.cli.doctor.check import CheckStatus, DoctorCheck, error, unknown
from assay.cli.doctor.machine import check_deep_scans, check_judge, check_machine, check_rules
from assay.cli.doctor.registry import check_registry
from assay.cli.process.stopping import run_async
from assay.cli.ui.exit_codes import Exit
from assay.cli.ui.options import AsJson
from assay.cli.ui.terminal import cell, open_console, print_json, print_line
from assay.model.errors import Conflict, Unavailable
from assay.settings import Settings

LABELS = {
    CheckStatus.OK: Text("ok     ", "green"),
    CheckStatus.WARNING: Text("warning", "yellow"),
    CheckStatus.ERROR: Text("error  ", "bold red"),
    CheckStatus.UNKNOWN: Text("unknown", "yellow"),
}


def doctor(
    as_json: AsJson = False,
    strict: Annotated[bool, typer.Option("--strict", help="Also exit with 1 if there are warnings.")] = False,
) -> None:
    """Check the installation and recommend what to do.

    Checks settings, secrets, disk, rules, database, queue, blobs, published skills, the edge copy and GitHub. Exits
    with 1 if a check finds an error or cannot run.
    """
    checks = run_async(_run_checks(settings.with_secrets(settings.read()), quiet=as_json))
    if as_json:
        print_json({"checks": [asdict(check) for check in checks]})
    failed = {CheckStatus.ERROR, CheckStatus.UNKNOWN} | ({CheckStatus.WARNING} if strict else set())
    if any(check.health in failed for check in checks):
        raise typer.Exit(Exit.REFUSED)


async def _run_checks(config: Settings, *, quiet: bool) -> list[DoctorCheck]:
    console, checks = open_console(), []
    async for check in _all(config):
        checks.append(check)
        if not quiet:
            print_line(console, LABELS[check.health], f"{check.name}:", check.detail)
            if check.advice:
                print_line(console, "       ", cell(f"→ {check.advice}", "bold"))
    return checks


async def _all(config: Settings) -> AsyncIterator[DoctorCheck]:
    for check in check_machine(config):
        yield check
    yield await check_deep_scans(config)
    yield check_judge(config)
    rules = check_rules(config)
    yield rules
    if rules.health is not CheckStatus.OK:
        # The remaining checks run with the built-in rules.
        config = config.model_copy(update={"ruleset": None})
    try:
        async with open_app(config, application="assay doctor") as app:
            yield DoctorCheck("database", CheckStatus.OK, "reachable, with the schema of this release")
            async for check in check_registry(app):
                yield check
    except Conflict as problem:
        yield error("database", problem.message, "Run `assay migrate`.")
    except Unavailable as problem:
        advice = "Start the database (`assay up` starts the embedded one), or correct ASSAY_DATABASE_URL."
        yield error("database", problem.message, advice)
        yield unknown("queue, blobs, catalogue, edge copy, GitHub", "not checked without the database")
