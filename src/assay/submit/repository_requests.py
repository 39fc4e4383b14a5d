"""Submission requests for all skills of a repository."""

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.errors import NoSkill
from assay.model.repository import RepositoryName
from assay.model.submission import Origin, Submission
from assay.store.repositories.identity import record_identity
from assay.store.repositories.repositories import find_or_add_repositories, find_repository
from assay.store.submissions.submissions import list_by_path
from assay.submit.admission import SubmissionRequest
from assay.submit.repository import MAX_SKILLS, RepositorySkills, name_skills

# A repository may have submissions of skills that were removed from it.
MAX_EXISTING = 2 * MAX_SKILLS


@dataclass(frozen=True)
class KnownSkill:
    """A skill of a repository with its present or future name, and its submission, if any."""

    name: str
    path: str
    submission: Submission | None


async def compare_skills(db: AsyncConnection, found: RepositorySkills) -> list[KnownSkill]:
    """Return each skill of the repository with its submission. Read-only."""
    known = await find_repository(db, found.facts.name)
    existing = await list_by_path(db, known.id, MAX_EXISTING) if known else {}
    names = _names(found.facts.name, found, existing)
    return [KnownSkill(names[path], path, existing.get(path)) for path in found.skill_paths]


async def request_all(
    db: AsyncConnection, found: RepositorySkills, origin: Origin, submitter: str | None, actor: str
) -> list[SubmissionRequest]:
    """Return a request for every skill, under the repository's canonical name. Raises NoSkill."""
    if not found.skill_paths:
        where = f" Left out: {found.left_out[0].path}: {found.left_out[0].why}" if found.left_out else ""
        raise NoSkill(f"{found.facts.name} has no SKILL.md at commit {found.commit[:12]}.{where}")
    facts = found.facts
    known = (await find_or_add_repositories(db, [facts.name]))[facts.name.key]
    canonical = await record_identity(db, known, facts, commit=found.commit, resolved_at=found.inspected_at)
    names = _names(canonical.name, found, await list_by_path(db, canonical.id, MAX_EXISTING))
    return [
        SubmissionRequest(canonical.name, names[path], path, origin, submitter=submitter, actor=actor)
        for path in found.skill_paths
    ]


def _names(repository: RepositoryName, found: RepositorySkills, existing: Mapping[str, Submission]) -> dict[str, str]:
    return name_skills(repository, found.skill_paths, {path: each.skill_name for path, each in existing.items()})
