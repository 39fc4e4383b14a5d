"""Follow a registry: page by page, each checked, applied and then remembered."""

from collections.abc import Iterator
from dataclasses import dataclass

from assay.cli.mirror.folder import WITHDRAWN, Folder, Kept
from assay.cli.mirror.source import Upstream
from assay.cli.registry.errors import Json
from assay.model.errors import Gone, NotFound

PAGE = 500
BLOCKED = "skill_blocked"


@dataclass(frozen=True)
class Followed:
    """What one page brought."""

    state: Kept
    changes: int
    contents: int
    has_more: bool


@dataclass(frozen=True)
class Refreshed:
    """How many contents a listing brought, and those that it had and that are blocked."""

    contents: int = 0
    blocked: frozenset[str] = frozenset()


async def follow_page(folder: Folder, upstream: Upstream, state: Kept) -> Followed:
    """Apply the next page. The serial is written last, so that whatever is cut short is done again."""
    page = await upstream.page(state.serial, PAGE)
    document = page.document
    changes = document["changes"]
    taken_back = {str(each["data"]["digest"]) for each in changes if each["kind"] == "withdraw"}
    contents = 0
    for name in _concerned(changes):
        refreshed = await _refresh(folder, upstream, name)
        contents += refreshed.contents
        taken_back |= refreshed.blocked
    folder.drop_contents(taken_back)
    if state.serial == 0 or any(each["kind"] in ("block", "unblock") for each in changes):
        blocklist = await upstream.blocklist()
        folder.keep_blocklist(blocklist.body, blocklist.signature)
    if changes:
        folder.keep_page(changes[0]["serial"], changes[-1]["serial"], page.body, page.signature)
    state = Kept(state.registry, int(document["nextSince"]), state.keys)
    folder.write_state(state)
    return Followed(state, len(changes), contents, bool(document["hasMore"]))


def _concerned(changes: list[Json]) -> Iterator[str]:
    """Every name that a page says something about, once; also the old one of what was renamed."""
    names = (each["data"].get(key) for each in changes for key in ("name", "from"))
    yield from dict.fromkeys(str(name) for name in names if name)


async def _refresh(folder: Folder, upstream: Upstream, name: str) -> Refreshed:
    """A listing as it is now, with the bytes of all its versions that may be had."""
    try:
        listing = await upstream.skill(name)
    except Gone as gone:
        blocked = folder.digests_of(name) if gone.code == BLOCKED else set()
        folder.keep_skill(name, {"name": name, "gone": {"code": gone.code, "message": gone.message}})
        return Refreshed(blocked=frozenset(blocked))
    except NotFound:
        folder.drop_skill(name)
        return Refreshed()
    if listing["skill"]["name"] != name:
        # An old name: the new one is a change of its own.
        folder.drop_skill(name)
        return Refreshed()
    fetched = 0
    for version in listing["versions"]:
        digest = str(version["contentDigest"])
        if version["status"] != WITHDRAWN and not folder.has_content(digest):
            folder.keep_content(digest, await upstream.content(name, version))
            fetched += 1
    folder.keep_skill(name, listing)
    return Refreshed(fetched)
