"""Applying the change feed of a registry to the mirror, page by page."""

from collections.abc import Iterator
from dataclasses import dataclass

from assay.cli.mirror.folder import WITHDRAWN, MirrorFolder, MirrorState
from assay.cli.mirror.upstream import Upstream
from assay.cli.registry.errors import Json
from assay.model.errors import Gone, NotFound

PAGE = 500
BLOCKED = "skill_blocked"


@dataclass(frozen=True)
class AppliedPage:
    """The effects of one page of the change feed."""

    state: MirrorState
    changes: int
    contents: int
    has_more: bool


@dataclass(frozen=True)
class RefreshedListing:
    """The number of contents fetched for a listing, and the digests that are now blocked."""

    contents: int = 0
    blocked: frozenset[str] = frozenset()


async def follow_page(folder: MirrorFolder, upstream: Upstream, state: MirrorState) -> AppliedPage:
    """Verify and apply the next page. The serial is written last, so that an interrupted page is applied again."""
    page = await upstream.page(state.serial, PAGE)
    document = page.document
    changes = document["changes"]
    withdrawn = {str(each["data"]["digest"]) for each in changes if each["kind"] == "withdraw"}
    contents = 0
    for name in _affected_names(changes):
        refreshed = await _refresh(folder, upstream, name)
        contents += refreshed.contents
        withdrawn |= refreshed.blocked
    folder.drop_contents(withdrawn)
    if state.serial == 0 or any(each["kind"] in ("block", "unblock") for each in changes):
        blocklist = await upstream.blocklist()
        folder.save_blocklist(blocklist.body, blocklist.signature)
    if changes:
        folder.save_page(changes[0]["serial"], changes[-1]["serial"], page.body, page.signature)
    state = MirrorState(state.registry, int(document["nextSince"]), state.keys)
    folder.write_state(state)
    return AppliedPage(state, len(changes), contents, bool(document["hasMore"]))


def _affected_names(changes: list[Json]) -> Iterator[str]:
    """Yield each name that a page mentions once, including the former names of renamed listings."""
    names = (each["data"].get(key) for each in changes for key in ("name", "from"))
    yield from dict.fromkeys(str(name) for name in names if name)


async def _refresh(folder: MirrorFolder, upstream: Upstream, name: str) -> RefreshedListing:
    """Update a listing, and fetch the contents of all versions that are not withdrawn."""
    try:
        listing = await upstream.skill(name)
    except Gone as gone:
        blocked = folder.digests_of(name) if gone.code == BLOCKED else set()
        folder.save_skill(name, {"name": name, "gone": {"code": gone.code, "message": gone.message}})
        return RefreshedListing(blocked=frozenset(blocked))
    except NotFound:
        folder.drop_skill(name)
        return RefreshedListing()
    if listing["skill"]["name"] != name:
        # A former name: the new name has its own change.
        folder.drop_skill(name)
        return RefreshedListing()
    fetched = 0
    for version in listing["versions"]:
        digest = str(version["contentDigest"])
        if version["status"] != WITHDRAWN and not folder.has_content(digest):
            folder.save_content(digest, await upstream.content(name, version))
            fetched += 1
    folder.save_skill(name, listing)
    return RefreshedListing(fetched)
