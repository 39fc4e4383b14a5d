"""Cut one skill folder out of an archive."""

from pathlib import PurePosixPath

from assay.fetch.archive import Archive
from assay.fetch.limits import Limits
from assay.fetch.paths import folder_of
from assay.model.errors import Invalid, NotFound
from assay.model.source import Source


def paths_of_skill(archive: Archive, skill_path: str, limits: Limits) -> list[str]:
    """The files that make up a skill: its folder, without folders that are skills of their own.

    Raises NotFound if there is no SKILL.md, Invalid if something in the folder breaks a limit.
    """
    folder = folder_of(skill_path)
    if skill_path not in archive.files:
        raise NotFound(f"There is no {skill_path} in the repository.{_hint(archive)}", code="skill_not_in_source")
    inside = archive.paths_under(folder)
    nested = {folder_of(path) for path in inside if path.rpartition("/")[2] == "SKILL.md" and path != skill_path}
    own = [path for path in inside if nested.isdisjoint(map(str, PurePosixPath(path).parents))]
    _check(archive, folder, own, limits)
    return own


def cut_skill(archive: Archive, paths: list[str], skill_path: str, commit: str) -> Source:
    """The bytes of these files, named relative to the skill's folder."""
    folder = folder_of(skill_path)
    start = len(folder) + 1 if folder else 0
    return Source({path[start:]: archive.read(path) for path in paths}, commit)


def _check(archive: Archive, folder: str, paths: list[str], limits: Limits) -> None:
    prefix = f"{folder}/" if folder else ""
    refused = next((path for path in archive.left_out if path.startswith(prefix)), None)
    if refused is not None:
        raise Invalid(f"{refused!r} cannot be taken: {archive.left_out[refused]}.", code="unsafe_file")
    too_large = next((path for path in paths if archive.files[path].offset is None), None)
    if too_large is not None:
        size = archive.files[too_large].size
        raise Invalid(f"{too_large} has {size} bytes; a file may have {limits.file_bytes}.", code="file_too_large")
    if len(paths) > limits.skill_files:
        raise Invalid(f"The skill has {len(paths)} files; it may have {limits.skill_files}.", code="skill_too_large")
    total = sum(archive.files[path].size for path in paths)
    if total > limits.skill_bytes:
        raise Invalid(f"The skill has {total} bytes; it may have {limits.skill_bytes}.", code="skill_too_large")
    names = [path.lower() for path in paths]
    if len(set(names)) != len(names):
        raise Invalid("Two files differ only in the case of their names.", code="unsafe_file")


def _hint(archive: Archive) -> str:
    found = sorted(path for path in archive.files if path.rpartition("/")[2] == "SKILL.md")
    if not found:
        return " It contains no SKILL.md at all."
    more = f" and {len(found) - 5} more" if len(found) > 5 else ""
    return f" It has {', '.join(found[:5])}{more}."
