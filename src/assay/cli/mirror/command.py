"""`assay mirror`: keep a verified, read-only copy of a registry."""

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from assay.cli.mirror.folder import MirrorFolder, MirrorState
from assay.cli.mirror.follow import follow_page
from assay.cli.mirror.upstream import Upstream, fetch_keys
from assay.cli.process.stopping import run_async
from assay.cli.registry.client import Registry, open_registry
from assay.cli.ui.options import AsJson
from assay.cli.ui.terminal import print_json, print_note
from assay.model.errors import Conflict, NotFound, Unavailable

EVERY_SECONDS = 30.0


@dataclass
class MirrorProgress:
    """Totals of one run of the command."""

    serial: int = 0
    changes: int = 0
    contents: int = 0


def mirror(
    url: Annotated[str, typer.Argument(metavar="URL", help="The registry to copy.")],
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder of the copy; created if it does not exist.")],
    follow: Annotated[
        bool, typer.Option("--follow", help="Keep following the registry after catching up, until Ctrl-C.")
    ] = False,
    every: Annotated[
        float, typer.Option("--every", metavar="SECONDS", min=0.1, help="Seconds between the requests of --follow.")
    ] = EVERY_SECONDS,
    trust: Annotated[
        list[str] | None,
        typer.Option("--trust", metavar="KEYID", help="Also trust this key of the registry; may be repeated."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Keep a verified copy of a registry: its change feed, listings, contents and blocklist.

    Every page, hallmark and file is verified with the keys that the registry had when the copy was created. The command
    can be interrupted and resumed at any time.

    Example: assay mirror https://registry.example.com ./mirror --follow
    """
    progress = run_async(_mirror(url, MirrorFolder(folder), every if follow else None, trust or []))
    if as_json:
        print_json({"serial": progress.serial, "changes": progress.changes, "contents": progress.contents})


async def _mirror(url: str, folder: MirrorFolder, every_seconds: float | None, trust: list[str]) -> MirrorProgress:
    async with open_registry(url) as registry:
        state = await _open_state(registry, folder, trust)
        progress = MirrorProgress(serial=state.serial)
        while True:
            try:
                applied = await follow_page(folder, Upstream(registry, state.keys), state)
            except Unavailable as problem:
                if every_seconds is None:
                    raise
                print_note(f"{problem.message} Retrying in {every_seconds:g} s.")
                await asyncio.sleep(every_seconds)
                continue
            state = applied.state
            progress.serial = state.serial
            progress.changes += applied.changes
            progress.contents += applied.contents
            if applied.changes:
                totals = f"{progress.changes:,} changes, {progress.contents:,} skill folders fetched and verified"
                print_note(f"At serial {state.serial}: {totals}.")
            if not applied.has_more:
                if every_seconds is None:
                    return progress
                await asyncio.sleep(every_seconds)


async def _open_state(registry: Registry, folder: MirrorFolder, trust: list[str]) -> MirrorState:
    """Return the state of the copy. A new copy trusts the keys that the registry serves now."""
    state = folder.read_state()
    if state is not None and state.registry != registry.base_url:
        raise Conflict(f"{folder.root} is a copy of {state.registry}.", code="another_registry")
    if state is not None and not trust:
        return state
    served = await fetch_keys(registry)
    if missing := [key for key in trust if key not in served]:
        raise NotFound(f"{registry.base_url} has no key {missing[0]}.", code="key_not_found")
    if state is None:
        print_note(f"Trusting the current keys of {registry.base_url}: {', '.join(sorted(served))}.")
        return MirrorState(registry.base_url, 0, served)
    return MirrorState(state.registry, state.serial, {**state.keys, **{key: served[key] for key in trust}})
