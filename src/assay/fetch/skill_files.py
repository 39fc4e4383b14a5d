"""Selection of the files of one skill folder from an archive."""

import unicodedata
from collections.abc import Iterable, Iterator

from assay.fetch.archive import Archive
from assay.fetch.limits import Limits
from assay.fetch.paths import folder_of
from assay.model.errors import Invalid, NotFound
from assay.model.source import Source

HINT_LENGTH = 5


def skills_in(paths: Iterable[str]) -> list[str]:
    """Return the paths of SKILL.md files, sorted."""
    return sorted(path for path in paths if path.rpartition("/")[2] == "SKILL.md")


def paths_of_skill(archive: Archive, skill_path: str, limits: Limits) -> list[str]:
    """Return the files of a skill: its folder without nested folders that are skills themselves.

    Raises NotFound if there is no SKILL.md, Invalid if a file in the folder is unsafe or exceeds a limit.
    """
    folder = folder_of(skill_path)
    if skill_path not in archive.files:
        raise NotFound(f"The repository has no {skill_path}.{_hint(archive)}", code="skill_not_in_source")
    inside = archive.paths_under(folder)
    nested = {folder_of(path) for path in skills_in(inside) if path != skill_path}
    own = [path for path in inside if nested.isdisjoint(_folders_above(path))] if nested else inside
    prefix = f"{folder}/" if folder else ""
    refused = [path for path in archive.left_out if path.startswith(prefix)]
    _check_safe(archive, [path for path in refused if nested.isdisjoint(_folders_above(path))])
    _check_size(archive, own, limits)
    _check_names(own)
    return own


def extract_skill(archive: Archive, paths: list[str], skill_path: str, commit: str) -> Source:
    """Read these files, with paths relative to the skill's folder."""
    folder = folder_of(skill_path)
    start = len(folder) + 1 if folder else 0
    return Source({path[start:]: archive.read(path) for path in paths}, commit)


def _check_safe(archive: Archive, refused: list[str]) -> None:
    if refused:
        first = min(refused)
        raise Invalid(f"{first!r} cannot be included: {archive.left_out[first]}.", code="unsafe_file")


def _check_size(archive: Archive, paths: list[str], limits: Limits) -> None:
    too_large = next((path for path in paths if archive.files[path].offset is None), None)
    if too_large is not None:
        size = archive.files[too_large].size
        raise Invalid(f"{too_large} has {size} bytes; the limit is {limits.file_bytes}.", code="file_too_large")
    if len(paths) > limits.skill_files:
        raise Invalid(f"The skill has {len(paths)} files; the limit is {limits.skill_files}.", code="skill_too_large")
    total = sum(archive.files[path].size for path in paths)
    if total > limits.skill_bytes:
        raise Invalid(f"The skill has {total} bytes; the limit is {limits.skill_bytes}.", code="skill_too_large")


def _check_names(paths: list[str]) -> None:
    """Raise Invalid if two paths collide on file systems that ignore case or Unicode normalisation."""
    taken: dict[str, str] = {}
    for path in paths:
        other = taken.setdefault(_folded(path), path)
        if other != path:
            raise Invalid(f"{other!r} and {path!r} have the same name on some systems.", code="unsafe_file")
    for path in paths:
        for folder in _folders_above(path):
            if _folded(folder) in taken:
                raise Invalid(f"{taken[_folded(folder)]!r} is both a file and a folder.", code="unsafe_file")


def _folded(path: str) -> str:
    return unicodedata.normalize("NFC", path).casefold()


def _folders_above(path: str) -> Iterator[str]:
    """Yield every folder that contains the path, except the root."""
    while path := path.rpartition("/")[0]:
        yield path


def _hint(archive: Archive) -> str:
    found = skills_in(archive.files)
    if not found:
        return " It contains no SKILL.md at all."
    more = f" and {len(found) - HINT_LENGTH} more" if len(found) > HINT_LENGTH else ""
    return f" It has {', '.join(found[:HINT_LENGTH])}{more}."
