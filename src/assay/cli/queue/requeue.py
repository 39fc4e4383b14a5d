"""`assay queue requeue`: a new look at some by id, or at all that have something in common."""

import asyncio
from typing import Annotated

import typer

from assay import settings
from assay.cli.process.stopping import run_command
from assay.cli.queue.change import ADMIN, change
from assay.cli.registry.address import admin_proof
from assay.cli.registry.client import open_registry
from assay.cli.registry.errors import Json
from assay.cli.registry.responses import ReprocessedRead, read
from assay.cli.registry.targets import repository_url
from assay.cli.ui.exits import Exit
from assay.cli.ui.options import AsJson, Url
from assay.cli.ui.progress import a_bar
from assay.cli.ui.terminal import open_console, print_json, print_line, say
from assay.model.errors import Invalid
from assay.model.submission import Origin, State


def requeue(
    ids: Annotated[
        list[str] | None, typer.Argument(metavar="ID", help="Ids of submissions, or addresses of their pages.")
    ] = None,
    states: Annotated[
        list[State] | None,
        typer.Option("--state", help="All in this state instead; may be repeated.", case_sensitive=False),
    ] = None,
    reason: Annotated[str | None, typer.Option("--reason", help="Why; shown in the history.")] = None,
    reason_code: Annotated[str | None, typer.Option("--reason-code", help="Only with this reason code.")] = None,
    repo: Annotated[str | None, typer.Option("--repo", metavar="URL", help="Only of this repository.")] = None,
    source: Annotated[Origin | None, typer.Option("--source", help="Only what came in this way.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only count what --state would give back.")] = False,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Give submissions back to the queue for a new look. Needs the key. Ends as `front` does."""
    narrowed = {"reasonCode": reason_code, "repoUrl": repo, "source": source, "dryRun": dry_run or None}
    if bool(ids) == bool(states):
        raise Invalid("Give either ids or --state.")
    if ids and any(narrowed.values()):
        raise Invalid("--reason-code, --repo, --source and --dry-run go with --state, not with ids.")
    if reason is None and not dry_run:
        raise Invalid("--reason is needed: say why.")
    if ids:
        change("requeue", {"reason": reason}, ids, "given back", url, as_json=as_json)
    if repo is not None:
        narrowed["repoUrl"] = repository_url(repo, settings.read().github_web_url)
    body = {"states": states, "reason": reason or "dry run", **narrowed}
    raise typer.Exit(run_command(_requeue(url, body, as_json=as_json)))


async def _requeue(url: str | None, body: Json, *, as_json: bool) -> Exit:
    done = await _reprocess(url, body)
    if as_json:
        print_json(done)
    else:
        _print(read(ReprocessedRead, done), is_dry_run=bool(body["dryRun"]))
    return Exit.IN_THE_WAY if done["remaining"] and not body["dryRun"] else Exit.DONE


async def _reprocess(url: str | None, body: Json) -> Json:
    """Ask until nothing that matched at first is left, or nothing moves any more."""
    async with open_registry(url, admin_proof(url)) as registry:
        first = (await registry.post(f"{ADMIN}/reprocess", body)).body
        last, requeued = first, int(first["requeued"])
        with a_bar(open_console(stderr=True), "Giving back", sum(first["matched"].values())) as advance:
            advance(requeued)
            try:
                while last["remaining"] and last["requeued"]:
                    last = (await registry.post(f"{ADMIN}/reprocess", {**body, "before": first["before"]})).body
                    requeued += last["requeued"]
                    advance(last["requeued"])
            except asyncio.CancelledError:
                say(f"Stopped; {requeued:,} were given back.")
                raise
    return {**first, "requeued": requeued, "remaining": last["remaining"]}


def _print(done: ReprocessedRead, *, is_dry_run: bool) -> None:
    console = open_console()
    at_least = "" if done.matched_is_exact else "at least "
    for state, number in done.matched.items():
        print_line(console, f"{state}: {at_least}{number:,}")
    if is_dry_run:
        print_line(console, f"{at_least}{sum(done.matched.values()):,} would be given back.".capitalize())
        return
    print_line(console, f"{done.requeued:,} given back.")
    if done.remaining:
        print_line(console, f"{done.remaining:,} could not be: somebody else has them. Ask again.")
