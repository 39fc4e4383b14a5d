"""Skills in local folders, with their locations relative to the working directory."""

from dataclasses import dataclass
from pathlib import Path

from assay.cli.scan.skill import WORKING_DIRECTORY, FailedSkill, FoundSkill, ScanRoot, SkillLocation
from assay.cli.skill_folders.find import find_local_skills
from assay.cli.skill_folders.local_skill import LocalSkill
from assay.fetch.limits import Limits
from assay.model.errors import Invalid


@dataclass(frozen=True)
class FoundSkills:
    """The skills of a folder, and the skipped folders of installed packages."""

    skills: tuple[FoundSkill | FailedSkill, ...]
    skipped: tuple[str, ...] = ()


def find_in_folder(folder: Path, limits: Limits, *, alone: bool = False) -> FoundSkills:
    """Return every skill in and below a folder; `alone` only the one in it. Raises NoSkill if there is none."""
    found = find_local_skills(folder, limits)
    selected = [""] if alone else list(found.skills)
    skills = [_found(_location(found.root, each), found.skills[each]) for each in selected]
    if not alone:
        lost = found.unreadable_folders.items()
        skills += [FailedSkill(str(_location(found.root, path)), message, "unreadable") for path, message in lost]
    return FoundSkills(tuple(skills), found.skipped)


def _found(location: SkillLocation, skill: LocalSkill | Invalid) -> FoundSkill | FailedSkill:
    if isinstance(skill, LocalSkill):
        return FoundSkill(location, skill)
    return FailedSkill(str(location), skill.message, skill.code)


def _location(root: Path, skill_folder: str) -> SkillLocation:
    """Return the location, relative to the working directory if the folder is below it."""
    here, folder = Path.cwd().resolve(), root / skill_folder
    if folder.is_relative_to(here):
        path = folder.relative_to(here).as_posix()
        return SkillLocation(WORKING_DIRECTORY, "" if path == "." else path)
    return SkillLocation(ScanRoot(root.as_posix(), f"{root.as_uri()}/"), skill_folder)
