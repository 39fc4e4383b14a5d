"""`assay rebuild-index`: rebuild the edge copy from the database."""

from assay import settings
from assay.app.app import open_app
from assay.app.maintenance import make_backfill
from assay.cli.process.stopping import run_command
from assay.cli.ui.logs import configure_logs
from assay.cli.ui.options import AsJson
from assay.cli.ui.progress import progress_bar
from assay.cli.ui.terminal import open_console, print_json
from assay.edge.values import RebuildValue
from assay.edge_sync.rebuild import RebuildResult, rebuild
from assay.settings import Settings
from assay.store.operations.audit import record_audit
from assay.store.skills.counts import count_skills

BY = "assay rebuild-index"


def rebuild_index(as_json: AsJson = False) -> None:
    """Rebuild the edge copy from the database. It is safe to run at any time, and resumes if interrupted.

    Listings that exist only in the edge copy, because the database was restored from a backup, are submitted again.
    """
    configure_logs("rebuild-index")
    done = run_command(_rebuild(settings.read()))
    if as_json:
        print_json(_document(done))
        return
    print(
        f"{done.rebuilt:,} listings written, {done.errors:,} unreadable values, "
        f"{done.orphaned_aliases:,} orphaned aliases, {done.backfilled:,} listings submitted again."
    )


async def _rebuild(config: Settings) -> RebuildResult:
    async with open_app(config, application="assay rebuild-index") as app:
        async with app.store.begin() as db:
            total = await count_skills(db)
        with progress_bar(open_console(stderr=True), "Listings", total) as advance:
            before = 0

            def show(at: RebuildValue) -> None:
                nonlocal before
                advance(at.rebuilt - before)
                before = at.rebuilt

            done = await rebuild(app.store, app.edge, app.clock.now, backfill=make_backfill(app, BY), progress=show)
        async with app.store.begin() as db:
            await record_audit(db, BY, "edge.rebuild", app.edge.identity, _document(done))
        return done


def _document(done: RebuildResult) -> dict[str, object]:
    return {
        "ok": True,
        "rebuilt": done.rebuilt,
        "errors": done.errors,
        "orphanedAliases": done.orphaned_aliases,
        "prismaBackfilled": done.backfilled,
    }
