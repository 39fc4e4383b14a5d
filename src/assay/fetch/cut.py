"""Cut one skill folder out of an archive."""

import unicodedata
from collections.abc import Iterable, Iterator

from assay.fetch.archive import Archive
from assay.fetch.limits import Limits
from assay.fetch.paths import folder_of
from assay.model.errors import Invalid, NotFound
from assay.model.source import Source

SHOWN = 5


def skills_in(paths: Iterable[str]) -> list[str]:
    """The SKILL.md files among these paths, sorted."""
    return sorted(path for path in paths if path.rpartition("/")[2] == "SKILL.md")


def paths_of_skill(archive: Archive, skill_path: str, limits: Limits) -> list[str]:
    """The files that make up a skill: its folder, without folders that are skills of their own.

    Raises NotFound if there is no SKILL.md, Invalid if something in the folder breaks a limit.
    """
    folder = folder_of(skill_path)
    if skill_path not in archive.files:
        raise NotFound(f"There is no {skill_path} in the repository.{_hint(archive)}", code="skill_not_in_source")
    inside = archive.paths_under(folder)
    nested = {folder_of(path) for path in skills_in(inside) if path != skill_path}
    own = [path for path in inside if nested.isdisjoint(_folders_above(path))] if nested else inside
    prefix = f"{folder}/" if folder else ""
    refused = [path for path in archive.left_out if path.startswith(prefix)]
    _check_safe(archive, [path for path in refused if nested.isdisjoint(_folders_above(path))])
    _check_size(archive, own, limits)
    _check_names(own)
    return own


def cut_skill(archive: Archive, paths: list[str], skill_path: str, commit: str) -> Source:
    """The bytes of these files, named relative to the skill's folder."""
    folder = folder_of(skill_path)
    start = len(folder) + 1 if folder else 0
    return Source({path[start:]: archive.read(path) for path in paths}, commit)


def _check_safe(archive: Archive, refused: list[str]) -> None:
    if refused:
        first = min(refused)
        raise Invalid(f"{first!r} cannot be taken: {archive.left_out[first]}.", code="unsafe_file")


def _check_size(archive: Archive, paths: list[str], limits: Limits) -> None:
    too_large = next((path for path in paths if archive.files[path].offset is None), None)
    if too_large is not None:
        size = archive.files[too_large].size
        raise Invalid(f"{too_large} has {size} bytes; a file may have {limits.file_bytes}.", code="file_too_large")
    if len(paths) > limits.skill_files:
        raise Invalid(f"The skill has {len(paths)} files; it may have {limits.skill_files}.", code="skill_too_large")
    total = sum(archive.files[path].size for path in paths)
    if total > limits.skill_bytes:
        raise Invalid(f"The skill has {total} bytes; it may have {limits.skill_bytes}.", code="skill_too_large")


def _check_names(paths: list[str]) -> None:
    """Each file must find its own place, also on systems that tell neither case nor accents apart."""
    taken: dict[str, str] = {}
    for path in paths:
        other = taken.setdefault(_folded(path), path)
        if other != path:
            raise Invalid(f"{other!r} and {path!r} are one name on some systems.", code="unsafe_file")
    for path in paths:
        for folder in _folders_above(path):
            if _folded(folder) in taken:
                raise Invalid(f"{taken[_folded(folder)]!r} is a file and a folder.", code="unsafe_file")


def _folded(path: str) -> str:
    return unicodedata.normalize("NFC", path).casefold()


def _folders_above(path: str) -> Iterator[str]:
    """Every folder that holds the path, except the root."""
    while path := path.rpartition("/")[0]:
        yield path


def _hint(archive: Archive) -> str:
    found = skills_in(archive.files)
    if not found:
        return " It contains no SKILL.md at all."
    more = f" and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
    return f" It has {', '.join(found[:SHOWN])}{more}."
