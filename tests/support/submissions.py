"""Submissions for tests."""

from assay.model.repository import Host, RepositoryName
from assay.model.submission import Origin
from assay.submit.admission import SubmissionRequest, admit_submission
from assay.submit.validate import parse_requested_skill
from tests.support.registry import Registry
from tests.support.skills import a_repository


def a_request(name: str, repository: str = "acme/tools", path: str | None = None) -> SubmissionRequest:
    """Return a request for one skill."""
    owner, plain = repository.split("/")
    return SubmissionRequest(
        RepositoryName(Host.GITHUB, owner, plain), name, path or f"skills/{name}/SKILL.md", Origin.BULK
    )


REPOSITORIES, SKILLS = 10, 20


async def submit_many(registry: Registry, repositories: int = REPOSITORIES, skills: int = SKILLS) -> int:
    """Fill GitHub and the queue."""
    for number in range(repositories):
        names = [f"skill-{each}" for each in range(skills)]
        registry.github.add_repository(f"owner-{number}/repo", files=a_repository(*names))
        async with registry.app.store.begin() as db:
            for name in names:
                url = f"{registry.web_url}/owner-{number}/repo"
                wanted = parse_requested_skill(url, name, f"skills/{name}/SKILL.md", registry.web_url)
                request = SubmissionRequest(wanted.repository, wanted.skill_name, wanted.skill_path, Origin.API)
                await admit_submission(db, request)
    return repositories * skills
