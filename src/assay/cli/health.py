"""`assay health`: compare the edge copy with the database."""

import msgspec
import typer

from assay import settings
from assay.app.app import open_app
from assay.cli.process.stopping import run_command
from assay.cli.ui.exit_codes import Exit
from assay.cli.ui.logs import configure_logs
from assay.cli.ui.options import AsJson
from assay.cli.ui.progress import progress_bar
from assay.cli.ui.terminal import cell, make_table, open_console, print_json, print_line
from assay.edge_sync.drift import read_skills_health
from assay.settings import Settings
from assay.store.skills.counts import count_skills
from assay.web.operations.edge_copy import SkillsHealthView, present_skills_health

MAX_SHOWN = 20


def health(as_json: AsJson = False) -> None:
    """Compare the edge copy with the database, and recommend a command if they differ.

    Every listing and every key is compared.

    Exit codes:
    0  they agree
    4  they differ
    """
    configure_logs("health")
    seen = run_command(_read(settings.read()))
    if as_json:
        print_json(msgspec.to_builtins(seen))
    else:
        _print(seen)
    raise typer.Exit(Exit.CONFLICT if seen.drift_detected else Exit.DONE)


async def _read(config: Settings) -> SkillsHealthView:
    async with open_app(config, application="assay health") as app:
        async with app.store.begin() as db:
            listings = await count_skills(db)
        with progress_bar(open_console(stderr=True), "Listings and keys", 2 * listings) as advance:
            return present_skills_health(await read_skills_health(app.store, app.edge, progress=advance))


def _print(seen: SkillsHealthView) -> None:
    console = open_console()
    table = make_table("Source", "Listings", right=("Listings",))
    for name, number in (
        ("database", seen.prisma_count),
        ("counter", seen.counter_count),
        ("edge copy", seen.kv_enumerated_count),
        ("index", seen.kv_index_count),
    ):
        table.add_row(name, "none" if number is None else f"{number:,}")
    console.print(table)
    if seen.projector is not None:
        lag = seen.projector
        print_line(
            console,
            f"The edge copy is at change {lag.serial:,} of {lag.newest_serial:,}, {lag.lag_seconds:.1f} s behind.",
        )
    if seen.rebuild is not None:
        print_line(
            console, f"A rebuild is in progress ({seen.rebuild.stage}): {seen.rebuild.rebuilt:,} listings written."
        )
    for each in seen.differences[:MAX_SHOWN]:
        print_line(console, cell(each.kind.value), cell(each.key))
    for sentence in (*seen.drifts, *seen.recommendations):
        print_line(console, sentence)
    if not seen.drift_detected:
        print_line(console, "The edge copy agrees with the database.")
