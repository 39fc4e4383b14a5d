"""Dumps of another registry's key-value store: each `skill:…` line becomes a request, or an error of that line.

A listing needs content that was fetched and examined here, and a dump has none. So what it names is submitted, and is
listed with its version when it has come through the pipeline like any other.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import msgspec

from assay.model.errors import AssayError, Invalid
from assay.model.naming import listing_name, slug_of
from assay.model.repository import RepositoryName
from assay.model.submission import Origin
from assay.submit.admission import Request
from assay.submit.validate import DEFAULT_PATH, checked_skill_name, checked_skill_path, parse_repository_url

SKILL_KEYS = "skill:"
LONGEST_LINE_BYTES = 1 << 20


class _Dumped(msgspec.Struct, frozen=True, rename="camel"):
    """What is read of a listing; a dump may say more."""

    repo_url: str
    slug: str | None = None
    name: str | None = None
    skill_path: str | None = None


class _Line(msgspec.Struct, frozen=True):
    key: str
    value: msgspec.Raw


@dataclass(frozen=True, slots=True)
class DumpedSkill:
    """A skill that a line names. The path is None if the line does not say where in its repository it is."""

    line: int
    repository: RepositoryName
    skill_name: str
    skill_path: str | None

    @property
    def full_name(self) -> str:
        """The name of its listing."""
        return listing_name(self.repository, self.skill_name)

    def request(self, skill_path: str, by: str) -> Request:
        """What asks for it."""
        return Request(self.repository, self.skill_name, skill_path, Origin.BULK, actor=by)


@dataclass(frozen=True, slots=True)
class BadLine:
    """A line of which no skill could be made."""

    line: int
    problem: AssayError


def read_dump(lines: Iterable[bytes], web_url: str) -> Iterator[DumpedSkill | BadLine]:
    """One result for each line about a skill or that cannot be read; other keys of the store are passed over."""
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
    """Where in its repository a skill is, by the name of its folder; Invalid if that is not one place."""
    wanted = slug_of(skill.skill_name)
    paths = list(skill_paths)
    found = [path for path in paths if slug_of(_folder(path) or skill.repository.name) == wanted]
    if len(found) != 1:
        message = f"{skill.repository} has {len(found) or 'no'} folders {wanted} with a {DEFAULT_PATH}."
        raise Invalid(message, code="path_unknown")
    return found[0]


def _read_line(number: int, raw: bytes, web_url: str) -> DumpedSkill | None:
    if len(raw) > LONGEST_LINE_BYTES:
        raise Invalid(f"It has more than {LONGEST_LINE_BYTES:,} bytes.", code="bad_line")
    try:
        line = msgspec.json.decode(raw, type=_Line)
        if not line.key.startswith(SKILL_KEYS):
            return None
        dumped = msgspec.json.decode(_unwrapped(line.value), type=_Dumped)
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        raise Invalid(f"It cannot be read: {problem}.", code="bad_line") from None
    repository, folder = parse_repository_url(dumped.repo_url, web_url)
    called = dumped.name or dumped.slug or line.key.removeprefix(SKILL_KEYS)
    name = checked_skill_name(called.rpartition("/")[2])
    path = dumped.skill_path or (f"{folder}/{DEFAULT_PATH}" if folder else None)
    return DumpedSkill(number, repository, name, checked_skill_path(path) if path else None)


def _unwrapped(value: msgspec.Raw) -> bytes | msgspec.Raw:
    """Such stores keep strings, so a dump may have the listing as JSON inside a string."""
    raw = bytes(value)
    return msgspec.json.decode(raw, type=str).encode() if raw[:1] == b'"' else value


def _folder(path: str) -> str:
    return path.rpartition("/")[0].rpartition("/")[2]


def by_repository(skills: Iterable[DumpedSkill]) -> Mapping[RepositoryName, list[DumpedSkill]]:
    """Together what is looked up together."""
    grouped: dict[RepositoryName, list[DumpedSkill]] = {}
    for skill in skills:
        grouped.setdefault(skill.repository, []).append(skill)
    return grouped
