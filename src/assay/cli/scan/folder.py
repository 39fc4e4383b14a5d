"""Skills in local folders, with all their files; a skill that cannot be read does not hide others."""

from dataclasses import dataclass, field
from pathlib import Path

from assay.cli.registry.folder import SKILL, checked_skill, group_by_skill, list_entries
from assay.cli.scan.skill import WORKING_DIRECTORY, FailedSkill, FoundSkill, ScanRoot, SkillLocation
from assay.fetch.limits import Limits
from assay.fetch.paths import folder_of
from assay.model.errors import Invalid, NoSkill

# Git does not allow a folder of this name in a repository; any other hidden folder may be part of a skill.
GIT_FOLDER = ".git"
# Folders of installed packages are skipped beside skills; inside a skill they are part of it.
PACKAGE_FOLDERS = frozenset({"node_modules", ".venv", "venv"})


@dataclass(frozen=True)
class FoundSkills:
    """The skills of a folder, and the skipped folders of installed packages."""

    skills: tuple[FoundSkill | FailedSkill, ...]
    skipped: tuple[str, ...] = ()


@dataclass
class _ScanTree:
    """Paths below a folder; for those that cannot be read, with the reason."""

    files: list[str] = field(default_factory=list)
    links: dict[str, str] = field(default_factory=dict)
    unreadable_folders: dict[str, str] = field(default_factory=dict)
    skipped: list[str] = field(default_factory=list)


def find_in_folder(folder: Path, limits: Limits, *, alone: bool = False) -> FoundSkills:
    """Return every skill in and below a folder; `alone` only the one in it. Raises NoSkill if there is none."""
    root = folder.resolve()
    tree = _walk(root, limits)
    skill_folders = {folder_of(path) for path in (*tree.files, *tree.links) if path.rpartition("/")[2] == SKILL}
    files, reasons = group_by_skill(sorted(tree.files), skill_folders), tree.links | tree.unreadable_folders
    unreadable = group_by_skill(sorted(reasons), skill_folders)
    # An unreadable folder beside the skills may contain more of them.
    lost = [] if alone else [path for path in unreadable[None] if path in tree.unreadable_folders]
    if not skill_folders and not lost:
        raise NoSkill(f"There is no {SKILL} in or below {str(folder)!r}.")
    selected = [""] if alone else sorted(skill_folders)
    skills = [
        _found(root, each, files[each], [reasons[path] for path in unreadable[each]], limits) for each in selected
    ]
    skills += [FailedSkill(str(_location(root, path)), reasons[path], "unreadable") for path in lost]
    return FoundSkills(tuple(skills), tuple(sorted(tree.skipped)))


def _walk(root: Path, limits: Limits) -> _ScanTree:
    """List everything below a folder, including hidden files, which are part of a skill too."""
    tree, folders = _ScanTree(), [("", False)]
    while folders:
        folder, in_skill = folders.pop()
        try:
            entries = [entry for entry in list_entries(root / folder) if entry.name != GIT_FOLDER]
        except Invalid as problem:
            tree.unreadable_folders[folder] = problem.message
            continue
        in_skill = in_skill or any(entry.name == SKILL for entry in entries)
        for entry in entries:
            path = f"{folder}/{entry.name}" if folder else entry.name
            if not entry.is_dir(follow_symlinks=False):
                _add(tree, path, is_file=entry.is_file(follow_symlinks=False))
            elif entry.name in PACKAGE_FOLDERS and not in_skill:
                tree.skipped.append(path)
            else:
                folders.append((path, in_skill))
        if len(tree.files) + len(tree.links) + len(folders) > limits.archive_entries:
            raise Invalid(
                f"{str(root)!r} contains more than {limits.archive_entries:,} files: pass the folder of the skill."
            )
    return tree


def _add(tree: _ScanTree, path: str, *, is_file: bool) -> None:
    if is_file:
        tree.files.append(path)
    else:
        tree.links[path] = f"{path!r} is a link or a device: only regular files are scanned."


def _found(
    root: Path, skill_folder: str, paths: list[str], unreadable: list[str], limits: Limits
) -> FoundSkill | FailedSkill:
    location = _location(root, skill_folder)
    if unreadable:
        return FailedSkill(str(location), unreadable[0], "unreadable")
    try:
        return FoundSkill(location, checked_skill(root / skill_folder, skill_folder, paths, limits))
    except Invalid as problem:
        return FailedSkill(str(location), problem.message, problem.code)


def _location(root: Path, skill_folder: str) -> SkillLocation:
    """Return the location, relative to the working directory if the folder is below it."""
    here, folder = Path.cwd().resolve(), root / skill_folder
    if folder.is_relative_to(here):
        path = folder.relative_to(here).as_posix()
        return SkillLocation(WORKING_DIRECTORY, "" if path == "." else path)
    return SkillLocation(ScanRoot(root.as_posix(), f"{root.as_uri()}/"), skill_folder)
