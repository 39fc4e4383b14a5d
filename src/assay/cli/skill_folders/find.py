"""The skills in and below a local folder; a skill that cannot be read does not hide others."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from assay.cli.skill_folders.local_skill import LocalSkill, checked_skill
from assay.cli.skill_folders.walk import SKILL, FolderTree, walk
from assay.fetch.limits import Limits
from assay.fetch.paths import folder_of
from assay.model.errors import Invalid, NoSkill


@dataclass(frozen=True)
class LocalSkills:
    """The skills by their folder below `root` ("" for the root itself); those that cannot be read with the reason.

    `unreadable_folders` are beside the skills and may contain more of them. `skipped` are folders of installed
    packages, and `links` are links and devices beside the skills.
    """

    root: Path
    skills: Mapping[str, LocalSkill | Invalid]
    unreadable_folders: Mapping[str, str]
    skipped: tuple[str, ...]
    links: tuple[str, ...]


def find_local_skills(folder: Path, limits: Limits) -> LocalSkills:
    """Return all skills in and below a folder, in path order. Raises NoSkill if there is none."""
    root = folder.resolve()
    tree = walk(root, limits)
    skill_folders = {folder_of(path) for path in (*tree.files, *tree.links) if path.rpartition("/")[2] == SKILL}
    files = _group_by_skill(sorted(tree.files), skill_folders)
    unread = _group_by_skill(sorted(tree.links | tree.unreadable_folders), skill_folders)
    lost = {path: tree.unreadable_folders[path] for path in unread[None] if path in tree.unreadable_folders}
    if not skill_folders and not lost:
        raise NoSkill(f"There is no {SKILL} in or below {str(folder)!r}.")
    skills = {each: _skill(root, each, files[each], unread[each], tree, limits) for each in sorted(skill_folders)}
    links = tuple(path for path in unread[None] if path in tree.links)
    return LocalSkills(root, skills, lost, tuple(sorted(tree.skipped)), links)


def _group_by_skill(paths: Iterable[str], skill_folders: set[str]) -> defaultdict[str | None, list[str]]:
    """Group paths by the innermost skill folder that contains them; None is the key for the rest."""
    grouped: defaultdict[str | None, list[str]] = defaultdict(list)
    for path in paths:
        skill_folder = folder_of(path)
        while skill_folder and skill_folder not in skill_folders:
            skill_folder = folder_of(skill_folder)
        grouped[skill_folder if skill_folder in skill_folders else None].append(path)
    return grouped


def _skill(
    root: Path, skill_folder: str, files: list[str], unread: list[str], tree: FolderTree, limits: Limits
) -> LocalSkill | Invalid:
    if unread:
        return Invalid((tree.links | tree.unreadable_folders)[unread[0]], code="unreadable")
    start = len(skill_folder) + 1 if skill_folder else 0
    try:
        return checked_skill(root / skill_folder, tuple(path[start:] for path in files), limits)
    except Invalid as problem:
        return problem
