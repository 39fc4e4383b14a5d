"""Names that a skill has by nature: those of its folder, its front matter, and its repository if it is the root."""

from collections.abc import Iterator

from assay.model.repository import RepositoryName
from assay.model.skill import slug_of

# Folders that only group skills and are left out of skill names.
GROUPS = frozenset({"skills", "plugins", "src"})


def natural_names(repository: RepositoryName, skill_path: str) -> Iterator[str]:
    """Yield the folder's name, then prefixed with its parent folders one by one, then with a number, without end."""
    folders = [part for part in skill_path.split("/")[:-1] if part]
    *around, last = folders or [repository.name]
    yield from prefixed_names(around, last)
    number = 2
    while True:
        yield f"{last}-{number}"
        number += 1


def prefixed_names(parents: list[str], folder: str) -> Iterator[str]:
    yield folder
    name = folder
    for parent in reversed(parents):
        if parent.lower() not in GROUPS:
            name = f"{parent}-{name}"
            yield name


def is_natural_name(name: str, repository: RepositoryName, skill_path: str, declared: str | None) -> bool:
    """Return whether a skill may have this name without its owner choosing it; `declared` is from its front matter."""
    slug = slug_of(name)
    folders = [part for part in skill_path.split("/")[:-1] if part]
    *around, last = folders or [repository.name]
    allowed = {slug_of(each) for each in prefixed_names(around, last)}
    if declared is not None:
        allowed.add(slug_of(declared))
    base, _, number = slug.rpartition("-")
    return slug in allowed or (base == slug_of(last) and number.isdecimal() and int(number[:6]) >= 2)
