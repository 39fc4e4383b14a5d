"""`assay queue front`, `back`, `dequeue`, `hold`, `pause` and `resume`."""

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Annotated
from uuid import UUID

import typer

from assay.cli.process.stopping import run_command
from assay.cli.registry.client import open_registry
from assay.cli.registry.credentials import admin_credential
from assay.cli.registry.errors import Json
from assay.cli.registry.responses import HandledResponse, PauseResponse, ResumedResponse, read_response
from assay.cli.ui.exit_codes import Exit, most_severe
from assay.cli.ui.options import AsJson, Reason, SubmissionIds, Url, read_ids
from assay.cli.ui.terminal import cell, open_console, print_json, print_line, state_cell
from assay.cli.ui.times import parse_duration

ADMIN = "/api/v1/admin/queue"
PAUSE = f"{ADMIN}/pause"
MAX_IDS = 1_000
MAX_PAUSE_SECONDS = 86_400
LISTS = ("changed", "skipped", "missing")


def front(ids: SubmissionIds, url: Url = None, as_json: AsJson = False) -> None:
    """Move waiting submissions to the front of the queue.

    Requires the internal key. Exits with 4 if a submission is not waiting, and with 3 if one does not exist.
    """
    change_submissions("order", {"position": "front"}, ids, "moved to the front", url, as_json=as_json)


def back(ids: SubmissionIds, url: Url = None, as_json: AsJson = False) -> None:
    """Move waiting submissions to the back of the queue.

    Requires the internal key. Exits with 4 if a submission is not waiting, and with 3 if one does not exist.
    """
    change_submissions("order", {"position": "back"}, ids, "moved to the back", url, as_json=as_json)


def dequeue(ids: SubmissionIds, reason: Reason, url: Url = None, as_json: AsJson = False) -> None:
    """Take submissions out of the queue.

    Requires the internal key. Exits with 4 if the state of a submission does not allow it, and with 3 if one does not
    exist.
    """
    change_submissions("dequeue", {"reason": reason}, ids, "dequeued", url, as_json=as_json)


def hold(ids: SubmissionIds, reason: Reason, url: Url = None, as_json: AsJson = False) -> None:
    """Put submissions on hold until they are requeued.

    Requires the internal key. Exits with 4 if the state of a submission does not allow it, and with 3 if one does not
    exist.
    """
    change_submissions("hold", {"reason": reason}, ids, "put on hold", url, as_json=as_json)


def change_submissions(
    verb: str, fields: Mapping[str, object], texts: list[str], done: str, url: str | None, *, as_json: bool
) -> None:
    """Send the request for all ids, print what happened to each, and exit with the most severe code."""
    responses = run_command(_post_all(url, f"{ADMIN}/{verb}", fields, read_ids(texts)))
    handled = [read_response(HandledResponse, each) for each in responses]
    if as_json:
        print_json(_merge(responses))
    else:
        _print(handled, done)
    raise typer.Exit(most_severe(chain.from_iterable(map(_exits, handled))))


async def _post_all(url: str | None, path: str, fields: Mapping[str, object], ids: Sequence[UUID]) -> list[Json]:
    chunks = [ids[start : start + MAX_IDS] for start in range(0, len(ids), MAX_IDS)]
    async with open_registry(url, admin_credential) as registry:
        return [(await registry.post(path, {**fields, "ids": [*map(str, chunk)]})).body for chunk in chunks]


def _merge(responses: Sequence[Json]) -> Json:
    lists = {key: [*chain.from_iterable(each[key] for each in responses)] for key in LISTS}
    return {**lists, "cancelled": sum(each["cancelled"] for each in responses)}


def _print(handled: Sequence[HandledResponse], done: str) -> None:
    console = open_console()
    for each in handled:
        for submission_id in each.changed:
            print_line(console, submission_id, cell(done, "green"))
        for skipped in each.skipped:
            print_line(console, skipped.id, cell("unchanged:", "yellow"), state_cell(skipped.state))
        for submission_id in each.missing:
            print_line(console, submission_id, cell("not found", "red"))


def _exits(handled: HandledResponse) -> list[Exit]:
    skipped, missing = [Exit.CONFLICT] * bool(handled.skipped), [Exit.NOT_FOUND] * bool(handled.missing)
    return skipped + missing


def pause(
    reason: Reason,
    duration: Annotated[
        str | None,
        typer.Option("--for", metavar="DURATION", help="Duration such as 30m, 2h or 1h30m; default 1h, at most 1d."),
    ] = None,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Stop workers from claiming jobs for a while; running jobs finish. Requires the internal key.

    Example: assay queue pause --reason "database upgrade" --for 30m
    """
    seconds = None
    if duration is not None:
        seconds = parse_duration(duration, option="--for", at_most_seconds=MAX_PAUSE_SECONDS)
    run_command(_pause(url, reason, seconds, as_json=as_json))


def resume(url: Url = None, as_json: AsJson = False) -> None:
    """End the pause of the queue. Requires the internal key."""
    run_command(_resume(url, as_json=as_json))


async def _pause(url: str | None, reason: str, seconds: int | None, *, as_json: bool) -> None:
    console = open_console()
    async with open_registry(url, admin_credential) as registry:
        response = (await registry.post(PAUSE, {"reason": reason, "ttlSeconds": seconds})).body
    if as_json:
        print_json(response)
        return
    paused = read_response(PauseResponse, response)
    print_line(console, f"Paused until {paused.expires_at.astimezone():%Y-%m-%d %H:%M:%S}: {paused.reason}")


async def _resume(url: str | None, *, as_json: bool) -> None:
    console = open_console()
    async with open_registry(url, admin_credential) as registry:
        response = await registry.delete(PAUSE)
    if as_json:
        print_json(response)
        return
    ended = read_response(ResumedResponse, response).ended
    if ended:
        print_line(console, f"The queue was resumed. It had been paused by {ended.paused_by}: {ended.reason}")
    else:
        print_line(console, "The queue was not paused.")
