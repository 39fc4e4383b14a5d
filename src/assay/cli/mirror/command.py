"""`assay mirror`: keep a verified, read-only copy of a registry."""

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from assay.cli.mirror.folder import Folder, Kept
from assay.cli.mirror.follow import follow_page
from assay.cli.mirror.source import Upstream, read_keys
from assay.cli.process.stopping import run_until_done
from assay.cli.registry.client import Registry, open_registry
from assay.cli.ui.options import AsJson
from assay.cli.ui.terminal import print_json, say
from assay.model.errors import Conflict, NotFound, Unavailable

EVERY_SECONDS = 30.0


@dataclass
class Tally:
    """What a run has brought."""

    serial: int = 0
    changes: int = 0
    contents: int = 0


def mirror(
    url: Annotated[str, typer.Argument(metavar="URL", help="The registry to copy.")],
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Where the copy is kept; made if it is not there.")],
    follow: Annotated[bool, typer.Option("--follow", help="Go on when all is there, until Ctrl-C.")] = False,
    every: Annotated[
        float, typer.Option("--every", metavar="SECONDS", min=0.1, help="How often --follow asks for more.")
    ] = EVERY_SECONDS,
    trust: Annotated[
        list[str] | None,
        typer.Option("--trust", metavar="KEYID", help="Trust this key of the registry, too."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Keep a verified copy of a registry: its feed, listings, contents and blocklist.

    Every page, hallmark and file is checked against the keys that the registry had when the copy was begun. It may be
    ended and started again at any time.
    """
    tally = run_until_done(_mirror(url, Folder(folder), every if follow else None, trust or []))
    if as_json:
        print_json({"serial": tally.serial, "changes": tally.changes, "contents": tally.contents})


async def _mirror(url: str, folder: Folder, every_seconds: float | None, trust: list[str]) -> Tally:
    async with open_registry(url) as registry:
        state = await _begin(registry, folder, trust)
        tally = Tally(serial=state.serial)
        while True:
            try:
                followed = await follow_page(folder, Upstream(registry, state.keys), state)
            except Unavailable as problem:
                if every_seconds is None:
                    raise
                say(f"{problem.message} Asking again in {every_seconds:g} s.")
                await asyncio.sleep(every_seconds)
                continue
            state = followed.state
            tally.serial = state.serial
            tally.changes += followed.changes
            tally.contents += followed.contents
            if followed.changes:
                say(f"At {state.serial}: {tally.changes:,} changes, {tally.contents:,} contents fetched and checked.")
            if not followed.has_more:
                if every_seconds is None:
                    return tally
                await asyncio.sleep(every_seconds)


async def _begin(registry: Registry, folder: Folder, trust: list[str]) -> Kept:
    """Where the copy stands. The first time, the keys that the registry shows are those that are trusted."""
    state = folder.read_state()
    if state is not None and state.registry != registry.base_url:
        raise Conflict(f"{folder.root} is a copy of {state.registry}.", code="another_registry")
    if state is not None and not trust:
        return state
    shown = await read_keys(registry)
    if missing := [key for key in trust if key not in shown]:
        raise NotFound(f"{registry.base_url} has no key {missing[0]}.", code="key_not_found")
    if state is None:
        say(f"Trusting what {registry.base_url} shows as its keys now: {', '.join(sorted(shown))}.")
        return Kept(registry.base_url, 0, shown)
    return Kept(state.registry, state.serial, {**state.keys, **{key: shown[key] for key in trust}})
