"""`assay queue requeue`: return submissions to the queue, by id or by state."""

import asyncio
from typing import Annotated

import typer

from assay import settings
from assay.cli.process.stopping import run_command
from assay.cli.queue.change import ADMIN, change_submissions
from assay.cli.registry.client import open_registry
from assay.cli.registry.credentials import admin_credential
from assay.cli.registry.errors import Json
from assay.cli.registry.responses import ReprocessedResponse, read_response
from assay.cli.registry.targets import repository_url
from assay.cli.ui.exit_codes import Exit
from assay.cli.ui.options import AsJson, Url
from assay.cli.ui.progress import progress_bar
from assay.cli.ui.terminal import open_console, print_json, print_line, print_note
from assay.model.errors import Invalid
from assay.model.submission import Origin, State


def requeue(
    ids: Annotated[
        list[str] | None, typer.Argument(metavar="ID", help="Ids of submissions, or URLs of their pages.")
    ] = None,
    states: Annotated[
        list[State] | None,
        typer.Option(
            "--state",
            help="Requeue all submissions in this state instead; may be repeated.",
            case_sensitive=False,
        ),
    ] = None,
    reason: Annotated[str | None, typer.Option("--reason", help="Reason, recorded in the history.")] = None,
    reason_code: Annotated[
        str | None, typer.Option("--reason-code", help="Only submissions with this reason code.")
    ] = None,
    repo: Annotated[
        str | None, typer.Option("--repo", metavar="URL", help="Only submissions from this repository.")
    ] = None,
    source: Annotated[
        Origin | None, typer.Option("--source", help="Only submissions that were sent in this way.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only count the submissions that --state would requeue.")
    ] = False,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Return submissions to the queue, to be processed again.

    Requires the internal key. Exits with 4 if the state of a submission does not allow it, and with 3 if one does not
    exist.

    Example: assay queue requeue --state FAILED --reason "GitHub is available again"
    """
    filters = {"reasonCode": reason_code, "repoUrl": repo, "source": source, "dryRun": dry_run or None}
    if bool(ids) == bool(states):
        raise Invalid("Pass either ids or --state.")
    if ids and any(filters.values()):
        raise Invalid("--reason-code, --repo, --source and --dry-run require --state and cannot be used with ids.")
    if reason is None and not dry_run:
        raise Invalid("--reason is required.")
    if ids:
        change_submissions("requeue", {"reason": reason}, ids, "requeued", url, as_json=as_json)
    if repo is not None:
        filters["repoUrl"] = repository_url(repo, settings.read().github_web_url)
    body = {"states": states, "reason": reason or "dry run", **filters}
    raise typer.Exit(run_command(_requeue(url, body, as_json=as_json)))


async def _requeue(url: str | None, body: Json, *, as_json: bool) -> Exit:
    done = await _reprocess(url, body)
    if as_json:
        print_json(done)
    else:
        _print(read_response(ReprocessedResponse, done), is_dry_run=bool(body["dryRun"]))
    return Exit.CONFLICT if done["remaining"] and not body["dryRun"] else Exit.DONE


async def _reprocess(url: str | None, body: Json) -> Json:
    """Repeat the request until nothing that matched at first remains, or nothing more can be requeued."""
    async with open_registry(url, admin_credential) as registry:
        first = (await registry.post(f"{ADMIN}/reprocess", body)).body
        last, requeued = first, int(first["requeued"])
        with progress_bar(open_console(stderr=True), "Requeuing", sum(first["matched"].values())) as advance:
            advance(requeued)
            try:
                while last["remaining"] and last["requeued"]:
                    last = (await registry.post(f"{ADMIN}/reprocess", {**body, "before": first["before"]})).body
                    requeued += last["requeued"]
                    advance(last["requeued"])
            except asyncio.CancelledError:
                print_note(f"Stopped after requeuing {requeued:,} submissions.")
                raise
    return {**first, "requeued": requeued, "remaining": last["remaining"]}


def _print(done: ReprocessedResponse, *, is_dry_run: bool) -> None:
    console = open_console()
    at_least = "" if done.matched_is_exact else "at least "
    for state, number in done.matched.items():
        print_line(console, f"{state}: {at_least}{number:,}")
    if is_dry_run:
        print_line(console, f"{at_least}{sum(done.matched.values()):,} would be requeued.".capitalize())
        return
    print_line(console, f"{done.requeued:,} requeued.")
    if done.remaining:
        print_line(
            console, f"{done.remaining:,} were locked by another request and not requeued: run the command again."
        )
