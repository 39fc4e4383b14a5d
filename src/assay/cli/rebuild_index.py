"""`assay rebuild-index`: makes the edge copy anew, with progress."""

from assay import settings
from assay.app.app import open_app
from assay.app.maintenance import backfill_of
from assay.cli.process.stopping import run_command
from assay.cli.ui.logs import set_up_logs
from assay.cli.ui.options import AsJson
from assay.cli.ui.progress import a_bar
from assay.cli.ui.terminal import open_console, print_json
from assay.edge.values import RebuildValue
from assay.edge_sync.rebuild import Rebuilt, rebuild
from assay.settings import Settings
from assay.store.operations.audit import record_audit
from assay.store.submissions.counts import count_skills

BY = "assay rebuild-index"


def rebuild_index(as_json: AsJson = False) -> None:
    """Make the edge copy anew from the tables. Safe at any time; one that was cut short is gone on with.

    Listings that only the copy knows, because the database was set back, are submitted again.
    """
    set_up_logs("rebuild-index")
    done = run_command(_rebuild(settings.read()))
    if as_json:
        print_json(_document(done))
        return
    print(
        f"{done.rebuilt:,} listings written, {done.errors:,} values could not be read, "
        f"{done.orphaned_aliases:,} names lead nowhere, {done.backfilled:,} submitted again."
    )


async def _rebuild(chosen: Settings) -> Rebuilt:
    async with open_app(chosen, application="assay rebuild-index") as app:
        async with app.store.begin() as db:
            total = await count_skills(db)
        with a_bar(open_console(stderr=True), "Listings", total) as advance:
            before = 0

            def show(at: RebuildValue) -> None:
                nonlocal before
                advance(at.rebuilt - before)
                before = at.rebuilt

            done = await rebuild(app.store, app.edge, app.clock.now, backfill=backfill_of(app, BY), progress=show)
        async with app.store.begin() as db:
            await record_audit(db, BY, "edge.rebuild", app.edge.identity, _document(done))
        return done


def _document(done: Rebuilt) -> dict[str, object]:
    return {
        "ok": True,
        "rebuilt": done.rebuilt,
        "errors": done.errors,
        "orphanedAliases": done.orphaned_aliases,
        "prismaBackfilled": done.backfilled,
    }
