"""The local skills that `assay submit` sends, and the files that it must not send without asking."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.cli.skill_folders.credential_files import credential_files
from assay.cli.skill_folders.find import LocalSkills, find_local_skills
from assay.cli.skill_folders.local_skill import LocalSkill
from assay.fetch.limits import Limits
from assay.model.errors import AssayError, Invalid


@dataclass(frozen=True)
class SelectedSkills:
    """The skills to send, and descriptions of everything below the folder that is not sent."""

    skills: tuple[LocalSkill, ...]
    left_out: tuple[str, ...]


def select_skills(folder: Path, limits: Limits, *, nested: bool) -> SelectedSkills:
    """Return the skill in this folder, or else all skills below it; `nested` includes skills inside a skill.

    Raises Invalid, naming the file that cannot be sent: a link, an exceeded limit, or an unsafe path.
    """
    found = find_local_skills(folder, limits)
    if found.unreadable_folders:
        raise Invalid(next(iter(found.unreadable_folders.values())))
    selected = [""] if "" in found.skills and not nested else list(found.skills)
    left_out = (
        *found.links,
        *(f"{each} (installed packages)" for each in found.skipped),
        *(f"{each} (a separate skill)" for each in found.skills if each not in selected),
    )
    return SelectedSkills(tuple(_readable(found, each) for each in selected), left_out)


def refuse_credentials(skills: Sequence[LocalSkill], limits: Limits) -> None:
    """Raise Invalid, naming all files of these skills that hold credentials."""
    files = [str(skill.folder / path) for skill in skills for path in credential_files(skill, limits)]
    if files:
        listed = ", ".join(map(repr, files))
        held = "this file, which holds" if len(files) == 1 else "these files, which hold"
        raise Invalid(
            f"Nothing was sent because of {held} credentials: {listed}."
            f" Delete {'it' if len(files) == 1 else 'them'}, or pass --include-hidden.",
            code="credentials",
        )


def _readable(found: LocalSkills, skill_folder: str) -> LocalSkill:
    skill = found.skills[skill_folder]
    if isinstance(skill, AssayError):
        raise skill
    return skill
