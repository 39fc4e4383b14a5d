"""Import of a dump of another registry's key-value store.

Each `skill:…` line becomes a submission request or an error. A dump contains no content, so its skills are listed only
after they have passed the pipeline.
"""

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

import msgspec
import structlog

from assay.model.errors import AssayError, Invalid, Unavailable
from assay.model.repository import RepositoryName
from assay.model.skill import listing_name, slug_of
from assay.model.submission import Origin
from assay.store.database.database import Database
from assay.store.feed.edge_rows import live_names
from assay.submit.admission import Admission, SubmissionRequest
from assay.submit.bulk import MAX_BATCH_ITEMS, admit_batch
from assay.submit.repository import RepositorySkills, SkillFinder
from assay.submit.validate import DEFAULT_PATH, checked_skill_name, checked_skill_path, parse_repository_url

SKILL_KEYS = "skill:"
MAX_LINE_BYTES = 1 << 20


class _Dumped(msgspec.Struct, frozen=True, rename="camel"):
    """The fields of a listing that are read."""

    repo_url: str
    slug: str | None = None
    name: str | None = None
    skill_path: str | None = None


class _Line(msgspec.Struct, frozen=True):
    key: str
    value: msgspec.Raw


@dataclass(frozen=True, slots=True)
class DumpedSkill:
    """A skill in a dump; `skill_path` is None if the line does not contain it."""

    line: int
    repository: RepositoryName
    skill_name: str
    skill_path: str | None

    @property
    def full_name(self) -> str:
        return listing_name(self.repository, self.skill_name)

    def request(self, skill_path: str, by: str) -> SubmissionRequest:
        return SubmissionRequest(
            self.repository, self.skill_name, skill_path, Origin.BULK, actor=by, is_name_chosen=True
        )


@dataclass(frozen=True, slots=True)
class BadLine:
    """A line that could not be imported."""

    line: int
    problem: AssayError


def read_dump(lines: Iterable[bytes], web_url: str) -> Iterator[DumpedSkill | BadLine]:
    """Yield a result for each skill and each unreadable line; skip other keys."""
    for number, raw in enumerate(lines, start=1):
        if not raw.strip():
            continue
        try:
            skill = _read_line(number, raw, web_url)
        except AssayError as problem:
            yield BadLine(number, problem)
            continue
        if skill is not None:
            yield skill


def path_in(skill: DumpedSkill, skill_paths: Iterable[str]) -> str:
    """Return the path of a skill by its folder name. Raises Invalid unless exactly one folder matches."""
    slug = slug_of(skill.skill_name)
    paths = list(skill_paths)
    found = [path for path in paths if slug_of(_folder(path) or skill.repository.name) == slug]
    if len(found) != 1:
        message = f"{skill.repository} has {len(found) or 'no'} folders named {slug} with a {DEFAULT_PATH}."
        raise Invalid(message, code="path_unknown")
    return found[0]


def _read_line(number: int, raw: bytes, web_url: str) -> DumpedSkill | None:
    if len(raw) > MAX_LINE_BYTES:
        raise Invalid(f"The line has more than {MAX_LINE_BYTES:,} bytes.", code="bad_line")
    try:
        line = msgspec.json.decode(raw, type=_Line)
        if not line.key.startswith(SKILL_KEYS):
            return None
        dumped = msgspec.json.decode(_unwrapped(line.value), type=_Dumped)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Invalid(f"The line cannot be read: {error}.", code="bad_line") from None
    repository, folder = parse_repository_url(dumped.repo_url, web_url)
    called = dumped.name or dumped.slug or line.key.removeprefix(SKILL_KEYS)
    name = checked_skill_name(called.rpartition("/")[2])
    path = dumped.skill_path or (f"{folder}/{DEFAULT_PATH}" if folder else None)
    return DumpedSkill(number, repository, name, checked_skill_path(path) if path else None)


def _unwrapped(value: msgspec.Raw) -> bytes | msgspec.Raw:
    """Return the listing, which some stores keep as JSON inside a string."""
    raw = bytes(value)
    return msgspec.json.decode(raw, type=str).encode() if raw[:1] == b'"' else value


def _folder(path: str) -> str:
    return path.rpartition("/")[0].rpartition("/")[2]


def by_repository(skills: Iterable[DumpedSkill]) -> Mapping[RepositoryName, list[DumpedSkill]]:
    grouped: dict[RepositoryName, list[DumpedSkill]] = {}
    for skill in skills:
        grouped.setdefault(skill.repository, []).append(skill)
    return grouped


log = structlog.get_logger()
MAX_CONCURRENT = 8
MAX_PROBLEMS = 1_000


@dataclass
class ImportSummary:
    """The result of an import; `problems` has the first errors with their line numbers."""

    lines: int = 0
    backfilled: int = 0
    listed: int = 0
    known: int = 0
    errors: int = 0
    problems: list[BadLine] = field(default_factory=list)

    def note(self, line: int, problem: AssayError) -> None:
        self.errors += 1
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(BadLine(line, problem))


async def import_dump(
    store: Database, finder: SkillFinder, dump: Iterable[DumpedSkill | BadLine], *, by: str
) -> ImportSummary:
    """Import a dump in batches, in bounded memory. Idempotent: listed and known skills are skipped."""
    summary, rest = ImportSummary(), iter(dump)
    while batch := list(islice(rest, MAX_BATCH_ITEMS)):
        summary.lines += len(batch)
        for each in batch:
            if isinstance(each, BadLine):
                summary.note(each.line, each.problem)
        await _import_batch(store, finder, [each for each in batch if isinstance(each, DumpedSkill)], summary, by)
        log.info("Imported a batch", lines=summary.lines, submitted=summary.backfilled, errors=summary.errors)
    summary.problems.sort(key=lambda each: each.line)
    return summary


async def _import_batch(
    store: Database, finder: SkillFinder, skills: Sequence[DumpedSkill], summary: ImportSummary, by: str
) -> None:
    async with store.begin() as db:
        listed = await live_names(db, {each.full_name for each in skills})
    unlisted = [each for each in skills if each.full_name not in listed]
    summary.listed += len(skills) - len(unlisted)
    requests = await _requests(finder, unlisted, summary, by)
    if not requests:
        return
    async with store.begin() as db:
        batch = await admit_batch(db, [request for _, request in requests], may_reopen=False, share="import")
    summary.backfilled += batch.count(Admission.CREATED)
    for index, problem in batch.errors:
        summary.note(requests[index][0], problem)
    summary.known += len(requests) - batch.count(Admission.CREATED) - len(batch.errors)


async def _requests(
    finder: SkillFinder, unlisted: Sequence[DumpedSkill], summary: ImportSummary, by: str
) -> list[tuple[int, SubmissionRequest]]:
    """Return (line, request) for each skill; list the repository of those without a path."""
    requests = [(each.line, each.request(each.skill_path, by)) for each in unlisted if each.skill_path is not None]
    without_path = by_repository(each for each in unlisted if each.skill_path is None)
    gate = asyncio.Semaphore(MAX_CONCURRENT)

    async def inspect(name: RepositoryName) -> RepositorySkills | AssayError:
        async with gate:
            try:
                return await finder.find(name)
            except Unavailable:
                raise  # the rest would fail, too; imported batches are kept, and the import can be repeated
            except AssayError as problem:
                return problem

    for name, found in zip(without_path, await asyncio.gather(*map(inspect, without_path)), strict=True):
        for skill in without_path[name]:
            try:
                if isinstance(found, AssayError):
                    raise found
                requests.append((skill.line, skill.request(path_in(skill, found.skill_paths), by)))
            except AssayError as problem:
                summary.note(skill.line, problem)
    return sorted(requests, key=lambda each: each[0])
