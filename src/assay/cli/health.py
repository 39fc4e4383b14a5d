"""`assay health`: compares the edge copy with the tables, and says what to do."""

import msgspec
import typer

from assay import settings
from assay.app.app import open_app
from assay.cli.process.stopping import run_command
from assay.cli.ui.exits import Exit
from assay.cli.ui.logs import set_up_logs
from assay.cli.ui.options import AsJson
from assay.cli.ui.progress import a_bar
from assay.cli.ui.terminal import a_table, cell, open_console, print_json, print_line
from assay.edge_sync.drift import read_skills_health
from assay.settings import Settings
from assay.store.submissions.counts import count_skills
from assay.web.operations.edge_copy import SkillsHealthView, present_skills_health

SHOWN = 20


def health(as_json: AsJson = False) -> None:
    """Compare every listing with its copy at the edge, and say what to run if they differ.

    Exit codes:
    0  they agree
    4  they differ
    """
    set_up_logs("health")
    seen = run_command(_read(settings.read()))
    if as_json:
        print_json(msgspec.to_builtins(seen))
    else:
        _tell(seen)
    raise typer.Exit(Exit.IN_THE_WAY if seen.drift_detected else Exit.DONE)


async def _read(chosen: Settings) -> SkillsHealthView:
    async with open_app(chosen, application="assay health") as app:
        async with app.store.begin() as db:
            listings = await count_skills(db)
        with a_bar(open_console(stderr=True), "Listings and keys", 2 * listings) as advance:
            return present_skills_health(await read_skills_health(app.store, app.edge, progress=advance))


def _tell(seen: SkillsHealthView) -> None:
    console = open_console()
    table = a_table("Source", "Listings", right=("Listings",))
    for name, number in (
        ("tables", seen.prisma_count),
        ("counter", seen.counter_count),
        ("edge copy", seen.kv_enumerated_count),
        ("index", seen.kv_index_count),
    ):
        table.add_row(name, "none" if number is None else f"{number:,}")
    console.print(table)
    if seen.projector is not None:
        lag = seen.projector
        print_line(
            console, f"The copy is at change {lag.serial:,} of {lag.newest_serial:,}, {lag.lag_seconds:.1f} s behind."
        )
    if seen.rebuild is not None:
        print_line(
            console, f"A rebuild is at the stage {seen.rebuild.stage}: {seen.rebuild.rebuilt:,} listings written."
        )
    for each in seen.differences[:SHOWN]:
        print_line(console, cell(each.kind.value), cell(each.key))
    for sentence in (*seen.drifts, *seen.recommendations):
        print_line(console, sentence)
    if not seen.drift_detected:
        print_line(console, "Everything agrees.")
