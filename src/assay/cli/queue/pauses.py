"""`assay queue pause` and `resume`."""

from typing import Annotated

import typer

from assay.cli.process.stopping import run_command
from assay.cli.queue.options import Why
from assay.cli.registry.address import admin_proof
from assay.cli.registry.client import open_registry
from assay.cli.registry.responses import PauseRead, ResumedRead, read
from assay.cli.ui.options import AsJson, Url
from assay.cli.ui.terminal import open_console, print_json, print_line
from assay.cli.ui.times import read_duration

PATH = "/api/v1/admin/queue/pause"
LONGEST_SECONDS = 86_400


def pause(
    reason: Why,
    duration: Annotated[
        str | None, typer.Option("--for", metavar="DURATION", help="30m, 2h, 1h30m; 1h unless given, 1d at most.")
    ] = None,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Let workers claim nothing new for a while; what is in flight is finished. Needs the key."""
    seconds = read_duration(duration, option="--for", at_most_seconds=LONGEST_SECONDS) if duration is not None else None
    run_command(_pause(url, reason, seconds, as_json=as_json))


def resume(url: Url = None, as_json: AsJson = False) -> None:
    """End the pause. Needs the key."""
    run_command(_resume(url, as_json=as_json))


async def _pause(url: str | None, reason: str, seconds: int | None, *, as_json: bool) -> None:
    console = open_console()
    async with open_registry(url, admin_proof(url)) as registry:
        answer = (await registry.post(PATH, {"reason": reason, "ttlSeconds": seconds})).body
    if as_json:
        print_json(answer)
        return
    paused = read(PauseRead, answer)
    print_line(console, f"Paused until {paused.expires_at.astimezone():%Y-%m-%d %H:%M:%S}: {paused.reason}")


async def _resume(url: str | None, *, as_json: bool) -> None:
    console = open_console()
    async with open_registry(url, admin_proof(url)) as registry:
        answer = await registry.delete(PATH)
    if as_json:
        print_json(answer)
        return
    ended = read(ResumedRead, answer).ended
    said = (
        f"The queue goes on; {ended.paused_by} had paused it: {ended.reason}" if ended else "The queue was not paused."
    )
    print_line(console, said)
