"""From the skills that a repository has to the requests that ask for each of them."""

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.errors import NoSkill
from assay.model.repository import RepositoryName
from assay.model.submission import Origin, Submission
from assay.store.repositories.identity import record_identity
from assay.store.repositories.repositories import find_or_add_repositories, find_repository
from assay.store.submissions.lookup import list_standing
from assay.submit.admission import Request
from assay.submit.repository import MOST_SKILLS, RepositorySkills, name_skills

# A repository may have submissions of skills that are gone from it.
MOST_STANDING = 2 * MOST_SKILLS


@dataclass(frozen=True)
class KnownSkill:
    """A skill of a repository, the name it is or would be submitted by, and the submission that stands for it."""

    name: str
    path: str
    submission: Submission | None


async def compare_skills(db: AsyncConnection, found: RepositorySkills) -> list[KnownSkill]:
    """Each skill of the repository beside what the registry knows of it; writes nothing."""
    known = await find_repository(db, found.facts.name)
    standing = await list_standing(db, known.id, MOST_STANDING) if known else {}
    names = _names(found.facts.name, found, standing)
    return [KnownSkill(names[path], path, standing.get(path)) for path in found.skill_paths]


async def request_all(
    db: AsyncConnection, found: RepositorySkills, origin: Origin, submitter: str | None, actor: str
) -> list[Request]:
    """A request for every skill, under the repository's canonical name; NoSkill if there is none."""
    if not found.skill_paths:
        where = f"; left out: {found.left_out[0].path}: {found.left_out[0].why}" if found.left_out else ""
        raise NoSkill(f"{found.facts.name} has no SKILL.md at {found.commit[:12]}{where}")
    facts = found.facts
    known = (await find_or_add_repositories(db, [facts.name]))[facts.name.key]
    canonical = await record_identity(db, known, facts, commit=found.commit, resolved_at=found.looked_at)
    names = _names(canonical.name, found, await list_standing(db, canonical.id, MOST_STANDING))
    return [
        Request(canonical.name, names[path], path, origin, submitter=submitter, actor=actor)
        for path in found.skill_paths
    ]


def _names(repository: RepositoryName, found: RepositorySkills, standing: Mapping[str, Submission]) -> dict[str, str]:
    return name_skills(repository, found.skill_paths, {path: each.skill_name for path, each in standing.items()})
