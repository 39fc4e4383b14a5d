"""`assay queue front`, `back`, `dequeue` and `hold`: submissions by id, each with what became of it."""

from collections.abc import Mapping, Sequence
from itertools import chain
from uuid import UUID

import typer

from assay.cli.process.stopping import run_command
from assay.cli.queue.ids import read_ids
from assay.cli.queue.options import Ids, Why
from assay.cli.registry.address import admin_proof
from assay.cli.registry.client import open_registry
from assay.cli.registry.errors import Json
from assay.cli.registry.responses import HandledRead, read
from assay.cli.ui.exits import Exit, worst
from assay.cli.ui.options import AsJson, Url
from assay.cli.ui.terminal import cell, open_console, print_json, print_line, state_cell

ADMIN = "/api/v1/admin/queue"
MOST_AT_ONCE = 1_000
LISTS = ("changed", "skipped", "missing")


def front(ids: Ids, url: Url = None, as_json: AsJson = False) -> None:
    """Move waiting submissions to the front. Needs the key. Ends with 4 if some do not wait, 3 if one is unknown."""
    change("order", {"position": "front"}, ids, "moved to the front", url, as_json=as_json)


def back(ids: Ids, url: Url = None, as_json: AsJson = False) -> None:
    """Move waiting submissions to the back. Needs the key. Ends with 4 if some do not wait, 3 if one is unknown."""
    change("order", {"position": "back"}, ids, "moved to the back", url, as_json=as_json)


def dequeue(ids: Ids, reason: Why, url: Url = None, as_json: AsJson = False) -> None:
    """Take submissions out of the queue. Needs the key. Ends with 4 if some cannot be, 3 if one is unknown."""
    change("dequeue", {"reason": reason}, ids, "taken out", url, as_json=as_json)


def hold(ids: Ids, reason: Why, url: Url = None, as_json: AsJson = False) -> None:
    """Park submissions until they are requeued. Needs the key. Ends with 4 if some cannot be, 3 if one is unknown."""
    change("hold", {"reason": reason}, ids, "held", url, as_json=as_json)


def change(
    verb: str, about: Mapping[str, object], texts: list[str], done: str, url: str | None, *, as_json: bool
) -> None:
    """Ask for it, and end with the code of what became of all."""
    answers = run_command(_ask(url, f"{ADMIN}/{verb}", about, read_ids(texts)))
    handled = [read(HandledRead, each) for each in answers]
    if as_json:
        print_json(_joined(answers))
    else:
        _print(handled, done)
    raise typer.Exit(worst(chain.from_iterable(map(_exits, handled))))


async def _ask(url: str | None, path: str, about: Mapping[str, object], ids: Sequence[UUID]) -> list[Json]:
    chunks = [ids[start : start + MOST_AT_ONCE] for start in range(0, len(ids), MOST_AT_ONCE)]
    async with open_registry(url, admin_proof(url)) as registry:
        return [(await registry.post(path, {**about, "ids": [*map(str, chunk)]})).body for chunk in chunks]


def _joined(answers: Sequence[Json]) -> Json:
    lists = {key: [*chain.from_iterable(each[key] for each in answers)] for key in LISTS}
    return {**lists, "cancelled": sum(each["cancelled"] for each in answers)}


def _print(handled: Sequence[HandledRead], done: str) -> None:
    console = open_console()
    for each in handled:
        for submission_id in each.changed:
            print_line(console, submission_id, cell(done, "green"))
        for skipped in each.skipped:
            print_line(console, skipped.id, cell("left as it is:", "yellow"), state_cell(skipped.state))
        for submission_id in each.missing:
            print_line(console, submission_id, cell("unknown", "red"))


def _exits(handled: HandledRead) -> list[Exit]:
    skipped, missing = [Exit.IN_THE_WAY] * bool(handled.skipped), [Exit.NOT_FOUND] * bool(handled.missing)
    return skipped + missing
