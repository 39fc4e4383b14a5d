"""Skills in a folder of this machine, with everything that would ship; one that cannot be read does not hide others."""

from dataclasses import dataclass, field
from pathlib import Path

from assay.cli.registry.folder import SKILL, by_home, checked_skill, entries_of
from assay.cli.scan.place import WORKING_DIRECTORY, Place, Root
from assay.cli.scan.skill import Failed, Found
from assay.fetch.limits import Limits
from assay.fetch.paths import folder_of
from assay.model.errors import Invalid, NoSkill

# Git itself lets no repository ship a folder of this name; every other hidden folder may hold a part of a skill.
OF_GIT = ".git"
# Packages that were installed beside skills are somebody else's; inside a skill they ship with it.
INSTALLED = frozenset({"node_modules", ".venv", "venv"})


@dataclass(frozen=True)
class Findings:
    """What a folder holds, and which folders of installed packages were passed over."""

    skills: tuple[Found | Failed, ...]
    passed_over: tuple[str, ...] = ()


@dataclass
class _Tree:
    """Paths below a folder; those that cannot be read come with the reason."""

    files: list[str] = field(default_factory=list)
    links: dict[str, str] = field(default_factory=dict)
    closed_folders: dict[str, str] = field(default_factory=dict)
    passed_over: list[str] = field(default_factory=list)


def find_in_folder(folder: Path, limits: Limits, *, alone: bool = False) -> Findings:
    """Every skill at or below a folder; `alone` asks for the one at it and no other. NoSkill if there is none."""
    root = folder.resolve()
    tree = _walk(root, limits)
    homes = {folder_of(path) for path in (*tree.files, *tree.links) if path.rpartition("/")[2] == SKILL}
    files, reasons = by_home(sorted(tree.files), homes), tree.links | tree.closed_folders
    unreadable = by_home(sorted(reasons), homes)
    # A closed folder beside the skills may hold more of them.
    lost = [] if alone else [path for path in unreadable[None] if path in tree.closed_folders]
    if not homes and not lost:
        raise NoSkill(f"{str(folder)!r} holds no {SKILL}, and no folder below it does.")
    wanted = [""] if alone else sorted(homes)
    skills = [_found(root, home, files[home], [reasons[path] for path in unreadable[home]], limits) for home in wanted]
    skills += [Failed(str(_place(root, path)), reasons[path], "unreadable") for path in lost]
    return Findings(tuple(skills), tuple(sorted(tree.passed_over)))


def _walk(root: Path, limits: Limits) -> _Tree:
    """Everything below a folder, hidden or not, since all of it ships."""
    tree, folders = _Tree(), [("", False)]
    while folders:
        folder, in_skill = folders.pop()
        try:
            entries = [entry for entry in entries_of(root / folder) if entry.name != OF_GIT]
        except Invalid as problem:
            tree.closed_folders[folder] = problem.message
            continue
        in_skill = in_skill or any(entry.name == SKILL for entry in entries)
        for entry in entries:
            path = f"{folder}/{entry.name}" if folder else entry.name
            if not entry.is_dir(follow_symlinks=False):
                _add(tree, path, is_file=entry.is_file(follow_symlinks=False))
            elif entry.name in INSTALLED and not in_skill:
                tree.passed_over.append(path)
            else:
                folders.append((path, in_skill))
        if len(tree.files) + len(tree.links) + len(folders) > limits.archive_entries:
            raise Invalid(f"{str(root)!r} holds more than {limits.archive_entries:,} files: name the skill's folder.")
    return tree


def _add(tree: _Tree, path: str, *, is_file: bool) -> None:
    if is_file:
        tree.files.append(path)
    else:
        tree.links[path] = f"{path!r} is a link or a device: only files are scanned."


def _found(root: Path, home: str, paths: list[str], unreadable: list[str], limits: Limits) -> Found | Failed:
    place = _place(root, home)
    if unreadable:
        return Failed(str(place), unreadable[0], "unreadable")
    try:
        return Found(place, checked_skill(root / home, home, paths, limits))
    except Invalid as problem:
        return Failed(str(place), problem.message, problem.code)


def _place(root: Path, home: str) -> Place:
    """Counted from the working directory where that holds it."""
    here, folder = Path.cwd().resolve(), root / home
    if folder.is_relative_to(here):
        path = folder.relative_to(here).as_posix()
        return Place(WORKING_DIRECTORY, "" if path == "." else path)
    return Place(Root(root.as_posix(), f"{root.as_uri()}/"), home)
