"""Wait until what was handed in is decided, and show how it goes."""

import asyncio
from collections.abc import Sequence
from uuid import UUID

from assay.cli.registry.admissions import Admission
from assay.cli.registry.client import Registry
from assay.cli.registry.errors import Json
from assay.cli.registry.follow import Followed, follow, read_details
from assay.cli.ui.progress import following
from assay.cli.ui.terminal import open_console, say

SHOWN = 5


async def wait_for_all(registry: Registry, admissions: Sequence[Admission], timeout_seconds: int) -> dict[UUID, Json]:
    """Each submission as it is when it is decided, or when the time is over."""
    names = {each.id: each.skill_name or each.target for each in admissions if each.id is not None}
    with following(open_console(stderr=True), names) as show:
        followed = Followed(names, show)
        try:
            await follow(registry, followed, timeout_seconds)
        except asyncio.CancelledError:
            _say_how_to_look_later(registry, followed, "Stopped waiting.")
            raise
    if followed.undecided:
        _say_how_to_look_later(registry, followed, f"Not decided after {timeout_seconds} s; is a worker running?")
    answers = {**followed.decided, **await read_details(registry, followed.undecided)}
    return {each: answers[each] for each in names}


def _say_how_to_look_later(registry: Registry, followed: Followed, why: str) -> None:
    ids = followed.undecided
    say(f"{why} The registry goes on with {len(ids):,}. Look later at {registry.base_url}/queue, or with:")
    for each in ids[:SHOWN]:
        say(f"  assay queue show {each} --url {registry.base_url}")
