"""Lookup of repositories by name or id, with renames, deletions and reused names."""

from collections.abc import Collection

from tests.support.fake_github.repository import FakeRepository

_FIRST_ID = 10_001


class Directory:
    """All repositories by id and by case-insensitive name."""

    def __init__(self) -> None:
        self.next_id = _FIRST_ID
        self._by_name: dict[str, FakeRepository] = {}
        self._by_id: dict[int, FakeRepository] = {}
        self._moved: dict[str, FakeRepository] = {}

    def all(self) -> Collection[FakeRepository]:
        """Return all repositories that are not deleted, oldest first."""
        return self._by_id.values()

    def find(self, full_name: str) -> tuple[FakeRepository | None, bool]:
        """Return the repository of a name, and whether that name is a former one."""
        key = full_name.lower()
        repository = self._by_name.get(key)
        return (repository, False) if repository else (self._moved.get(key), True)

    def find_by_id(self, number: int) -> FakeRepository | None:
        return self._by_id.get(number)

    def add(self, repository: FakeRepository) -> None:
        self._take_name(repository, repository.full_name)
        self._by_id[repository.id] = repository
        self.next_id += 1

    def move(self, repository: FakeRepository, full_name: str) -> None:
        """Rename a repository; the former name redirects to it."""
        old = repository.full_name.lower()
        self._take_name(repository, full_name)
        if old != full_name.lower():
            del self._by_name[old]
            self._moved[old] = repository
        repository.full_name = full_name

    def remove(self, repository: FakeRepository) -> None:
        """Remove a repository and the former names that redirect to it."""
        del self._by_name[repository.full_name.lower()]
        del self._by_id[repository.id]
        self._moved = {name: other for name, other in self._moved.items() if other is not repository}

    def _take_name(self, repository: FakeRepository, full_name: str) -> None:
        key = full_name.lower()
        if self._by_name.get(key, repository) is not repository:
            raise ValueError(f"{full_name} exists already.")
        self._by_name[key] = repository
        # A name that is used again no longer redirects.
        self._moved.pop(key, None)
