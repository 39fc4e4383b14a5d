"""Two versions side by side: which files differ and how, and what the newer one reaches for that the older did not."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, fields
from enum import StrEnum

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.capability import Capabilities
from assay.model.skill import Skill, SkillVersion
from assay.model.source import FileEntry, Source
from assay.serve.versions.text_diff import compare_texts
from assay.serve.versions.versions import choose_version, summary_of
from assay.store.scans.capabilities import find_capabilities
from assay.store.scans.contents import find_files

# What is larger is named and not shown: of one file, and of all together.
LARGEST_TEXT_BYTES = 256 * 1024
LARGEST_PATCHES_BYTES = 512 * 1024


class FileStatus(StrEnum):
    """What became of a file."""

    ADDED = "added"
    MODIFIED = "modified"
    REMOVED = "removed"
    RENAMED = "renamed"


@dataclass(frozen=True, slots=True)
class FileChange:
    """One file that differs. Without a patch it is binary, or too large to be shown; then no lines are counted."""

    path: str
    status: FileStatus
    additions: int = 0
    deletions: int = 0
    patch: str | None = None
    former_path: str | None = None
    is_binary: bool = False


@dataclass(frozen=True)
class Pair:
    """Two versions of one listing, their files, and what is new in the second and gone from the first."""

    skill: Skill
    before: SkillVersion
    after: SkillVersion
    files: tuple[Sequence[FileEntry], Sequence[FileEntry]]
    gained: Capabilities
    lost: Capabilities

    @property
    def summary(self) -> str:
        """A line that says which files changed."""
        return summary_of(*self.files)


async def read_pair(db: AsyncConnection, name: str, before: str, after: str) -> Pair:
    """Two versions by number, tag or `latest`; see `choose_version`."""
    skill, first = await choose_version(db, name, before)
    _, second = await choose_version(db, name, after)
    digests = [first.content_digest, second.content_digest]
    files = await find_files(db, digests)
    reached = await find_capabilities(db, digests)
    old, new = (reached.get(digest, Capabilities()) for digest in digests)
    return Pair(
        skill,
        first,
        second,
        (files.get(digests[0], []), files.get(digests[1], [])),
        beyond(new, old),
        beyond(old, new),
    )


def compare_sources(before: Source, after: Source) -> list[FileChange]:
    """Every file that differs, in the order of paths; a file that only moved is one change."""
    old, new = before.files, after.files
    gone, fresh = sorted(old.keys() - new.keys()), sorted(new.keys() - old.keys())
    former: dict[str, str] = {}
    by_hash = {hashlib.sha256(old[path]).digest(): path for path in reversed(gone)}
    for path in fresh:
        moved = by_hash.pop(hashlib.sha256(new[path]).digest(), None)
        if moved is not None:
            former[path] = moved
    moved_away = set(former.values())
    changes: list[FileChange] = []
    left = LARGEST_PATCHES_BYTES
    for path in sorted(old.keys() | new.keys()):
        if path in moved_away or old.get(path) == new.get(path):
            continue
        if path in former:
            changes.append(FileChange(path, FileStatus.RENAMED, former_path=former[path]))
            continue
        change = _compare(path, old.get(path), new.get(path), left)
        left -= len(change.patch or "")
        changes.append(change)
    return changes


def unified(changes: Sequence[FileChange]) -> str:
    """All of it as one text, in the form that `git diff` prints."""
    return "".join(map(_unified, changes))


def text_of(content: bytes) -> str | None:
    """The content as text, if it is text."""
    if b"\x00" in content:
        return None
    try:
        return content.decode()
    except UnicodeDecodeError:
        return None


def _compare(path: str, old: bytes | None, new: bytes | None, left: int) -> FileChange:
    status = FileStatus.ADDED if old is None else FileStatus.REMOVED if new is None else FileStatus.MODIFIED
    before, after = text_of(old or b""), text_of(new or b"")
    if before is None or after is None:
        return FileChange(path, status, is_binary=True)
    if len(old or b"") + len(new or b"") > min(LARGEST_TEXT_BYTES, left):
        return FileChange(path, status)
    found = compare_texts(before, after)
    return FileChange(path, status, found.additions, found.deletions, found.patch)


def _unified(change: FileChange) -> str:
    before = "/dev/null" if change.status is FileStatus.ADDED else f"a/{change.former_path or change.path}"
    after = "/dev/null" if change.status is FileStatus.REMOVED else f"b/{change.path}"
    if change.status is FileStatus.RENAMED:
        return f"rename from {change.former_path}\nrename to {change.path}\n"
    if change.patch is None:
        return f"{'Binary files' if change.is_binary else 'Large files'} {before} and {after} differ\n"
    return f"--- {before}\n+++ {after}\n{change.patch}"


def beyond(these: Capabilities, those: Capabilities) -> Capabilities:
    """What is in these and not in those."""
    return Capabilities(
        **{
            kind.name: tuple(each for each in getattr(these, kind.name) if each not in getattr(those, kind.name))
            for kind in fields(Capabilities)
        }
    )
