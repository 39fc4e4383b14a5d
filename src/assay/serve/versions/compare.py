"""Comparison of two versions: changed files with patches, and gained and lost capabilities."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, fields
from enum import StrEnum

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.finding import Capabilities
from assay.model.skill import Skill, SkillVersion
from assay.model.source import FileEntry, Source
from assay.serve.versions.text_diff import compare_texts
from assay.serve.versions.versions import choose_version, summary_of
from assay.store.scans.contents import find_capabilities, find_files

# Larger texts are listed without a patch: the limit per file, and for all patches together.
LARGEST_TEXT_BYTES = 256 * 1024
LARGEST_PATCHES_BYTES = 512 * 1024


class FileStatus(StrEnum):
    ADDED = "added"
    MODIFIED = "modified"
    REMOVED = "removed"
    RENAMED = "renamed"


@dataclass(frozen=True, slots=True)
class FileChange:
    """A changed file; without a patch and line counts if it is binary or too large."""

    path: str
    status: FileStatus
    additions: int = 0
    deletions: int = 0
    patch: str | None = None
    former_path: str | None = None
    is_binary: bool = False


@dataclass(frozen=True)
class Pair:
    """Two versions of a listing with their files, and the capabilities gained and lost in the second."""

    skill: Skill
    before: SkillVersion
    after: SkillVersion
    files: tuple[Sequence[FileEntry], Sequence[FileEntry]]
    gained: Capabilities
    lost: Capabilities

    @property
    def summary(self) -> str:
        return summary_of(*self.files)


async def read_pair(db: AsyncConnection, name: str, before: str, after: str) -> Pair:
    """Read two versions by number, tag or `latest`; raises like `choose_version`."""
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
        capability_difference(new, old),
        capability_difference(old, new),
    )


def compare_sources(before: Source, after: Source) -> list[FileChange]:
    """Return all changed files, ordered by path; a renamed file is one change."""
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
    """Join all changes in the format of `git diff`."""
    return "".join(map(_unified, changes))


def text_of(content: bytes) -> str | None:
    """Decode UTF-8; returns None for binary content."""
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


def capability_difference(these: Capabilities, those: Capabilities) -> Capabilities:
    """Return the capabilities in `these` but not in `those`."""
    return Capabilities(
        **{
            kind.name: tuple(each for each in getattr(these, kind.name) if each not in getattr(those, kind.name))
            for kind in fields(Capabilities)
        }
    )
