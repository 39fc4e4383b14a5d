"""Parsing of search queries, and matching of repositories and files."""

import re
from dataclasses import dataclass
from pathlib import PurePosixPath

from tests.support.fake_github.git_objects import FakeFile
from tests.support.fake_github.ranges import date_within, number_within
from tests.support.fake_github.repository import FakeRepository

_TERM = re.compile(r'([a-z]+):("[^"]*"|\S+)|("[^"]*"|\S+)')
_SEARCHABLE_BYTES = 384 * 1024


REPOSITORY_QUALIFIERS = frozenset({"topic", "stars", "created", "pushed", "archived", "in", "is", "fork"})
FILE_QUALIFIERS = frozenset({"filename", "extension", "path", "size", "in", "fork"})


class InvalidQueryError(ValueError):
    """The query is empty or uses a qualifier that the fake does not support."""


@dataclass(frozen=True)
class SearchQuery:
    """Words and qualifiers in lower case."""

    words: tuple[str, ...]
    scopes: tuple[tuple[str, str], ...]
    """`org:`, `user:` and `repo:` qualifiers, of which one must match; all other qualifiers must match."""
    qualifiers: tuple[tuple[str, str], ...]

    def fits_repository(self, repository: FakeRepository) -> bool:
        text = f"{repository.full_name} {repository.description}".lower()
        return (
            self._in_scope(repository)
            and all(word in text for word in self.words)
            and all(_repository_fits(repository, name, value) for name, value in self.qualifiers)
        )

    def fits_file(self, repository: FakeRepository, path: str, file: FakeFile) -> bool:
        """Return whether code search finds a file; GitHub does not index large files."""
        return (
            self._in_scope(repository)
            and len(file.content) < _SEARCHABLE_BYTES
            and all(_file_fits(path, file, name, value) for name, value in self.qualifiers)
            and self._words_in(path, file)
        )

    def _in_scope(self, repository: FakeRepository) -> bool:
        if not self.scopes:
            return True
        names = {repository.owner.lower(), repository.full_name.lower()}
        return any(value in names for _, value in self.scopes)

    def _words_in(self, path: str, file: FakeFile) -> bool:
        if not self.words:
            return True
        text = f"{path}\n{file.content.decode('utf-8', 'replace')}".lower()
        return all(word in text for word in self.words)


def read_query(text: str, known: frozenset[str]) -> SearchQuery:
    """Parse a query; `known` are the allowed qualifiers besides org, user and repo."""
    words: list[str] = []
    scopes: list[tuple[str, str]] = []
    qualifiers: list[tuple[str, str]] = []
    for name, value, word in _TERM.findall(text.lower()):
        if not name:
            words.append(word.strip('"'))
        elif name in ("org", "user", "repo"):
            scopes.append((name, value.strip('"')))
        elif name in known:
            qualifiers.append((name, value.strip('"')))
        else:
            raise InvalidQueryError("invalid")
    if not words and not scopes and not qualifiers:
        raise InvalidQueryError("missing")
    return SearchQuery(tuple(words), tuple(scopes), tuple(qualifiers))


def _repository_fits(repository: FakeRepository, name: str, value: str) -> bool:
    match name:
        case "topic":
            return value in repository.topics
        case "stars":
            return number_within(repository.stars, value)
        case "created":
            return date_within(repository.created_at, value)
        case "pushed":
            return date_within(repository.pushed_at, value)
        case "archived":
            return repository.archived == (value == "true")
        case _:
            return True


def _file_fits(path: str, file: FakeFile, name: str, value: str) -> bool:
    where = path.lower()
    match name:
        case "filename":
            return where.rpartition("/")[2] == value
        case "extension":
            return PurePosixPath(where).suffix == f".{value.removeprefix('.')}"
        case "path":
            return PurePosixPath(where).is_relative_to(value.strip("/"))
        case "size":
            return number_within(len(file.content), value)
        case _:
            return True
