"""Update checks: whether installed skills are still current."""

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.blobs.blobs import Blobs
from assay.model.errors import Ambiguous, Gone, NotFound
from assay.model.skill import Skill
from assay.model.source import FileEntry
from assay.serve.skills.catalogue import find_listing
from assay.serve.versions.skill_text import SKILL_MD, load_skill_text
from assay.serve.versions.versions import summary_of
from assay.store.database.database import Database
from assay.store.scans.contents import find_files
from assay.store.versions.versions import find_version

MAX_INSTALLED = 100
CONCURRENCY = 8
NUMBERS = re.compile(r"v?(\d{1,9})\.(\d{1,9})\.(\d{1,9})")


@dataclass(frozen=True, slots=True)
class Installed:
    """A skill installed on a client, with its version, and the SHA-256 of its text if known."""

    name: str
    version: str
    sha: str | None = None


@dataclass(frozen=True)
class Update:
    """The current state of an installed skill; without a listing, `code` says why it was not found."""

    installed: Installed
    skill: Skill | None
    summary: str | None = None
    is_same_text: bool = False
    code: str | None = None

    @property
    def is_available(self) -> bool:
        """Return whether another version is available; the same text under another number does not count."""
        return self.skill is not None and self.skill.current_version != self.installed.version and not self.is_same_text

    @property
    def bump(self) -> str | None:
        """The part of the version number that changed: major, minor or patch."""
        if self.skill is None or not self.is_available:
            return None
        old, new = (NUMBERS.match(each) for each in (self.installed.version, self.skill.current_version))
        if not old or not new:
            return None
        parts = zip(("major", "minor", "patch"), old.groups(), new.groups(), strict=True)
        return next((part for part, before, after in parts if int(before) != int(after)), None)


async def check_updates(store: Database, blobs: Blobs, installed: Sequence[Installed]) -> list[Update]:
    """Return an update for each, in the same order."""
    async with store.snapshot() as db:
        found = [await _look_up(db, each) for each in installed]
    gate = asyncio.Semaphore(CONCURRENCY)

    async def compared(update: Update) -> Update:
        async with gate:
            return await _with_text(blobs, update)

    return list(await asyncio.gather(*map(compared, found)))


async def _look_up(db: AsyncConnection, installed: Installed) -> Update:
    try:
        skill = await find_listing(db, installed.name)
    except (NotFound, Gone, Ambiguous) as error:
        return Update(installed, None, code=error.code)
    if skill.current_version == installed.version:
        return Update(installed, skill)
    known = await find_version(db, skill.id, installed.version) if "\x00" not in installed.version else None
    digests = [skill.content_digest, *([known.content_digest] if known else [])]
    files = await find_files(db, digests)
    now = files.get(skill.content_digest, [])
    summary = summary_of(files.get(known.content_digest, []), now) if known else None
    return Update(installed, skill, summary, is_same_text=installed.sha is not None and installed.sha == _raw_sha(now))


async def _with_text(blobs: Blobs, update: Update) -> Update:
    """Compare the normalised text, if the hash of the raw file did not already match."""
    if update.skill is None or update.installed.sha is None or not update.is_available:
        return update
    _, sha = await load_skill_text(blobs, update.skill.content_digest)
    return Update(update.installed, update.skill, update.summary, is_same_text=sha == update.installed.sha.lower())


def _raw_sha(files: Sequence[FileEntry]) -> str | None:
    return next((file.sha256 for file in files if file.path == SKILL_MD), None)
