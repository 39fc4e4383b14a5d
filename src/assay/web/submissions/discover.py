"""What a repository holds, before anything is submitted."""

from litestar import post
from litestar.params import JSONBody
from litestar.status_codes import HTTP_200_OK

from assay.model.submission import CATEGORIES, Category, Submission
from assay.submit.repository_requests import KnownSkill, compare_skills
from assay.submit.validate import parse_repository_url
from assay.web.http.dependencies import Assay
from assay.web.http.present import repository_url
from assay.web.http.problems import problems
from assay.web.submissions.json import (
    LARGEST_REQUEST_BYTES,
    DiscoverBody,
    DiscoveredView,
    DiscoverView,
    LeftOutView,
    SkillStatus,
)

PENDING = CATEGORIES[Category.ACTIVE] | CATEGORIES[Category.REVIEW]
VERIFIED = CATEGORIES[Category.PUBLISHED]


@post(
    "/discover",
    summary="Find the skills of a repository",
    status_code=HTTP_200_OK,
    responses=problems(400, 404, 413, 415, 503),
    request_max_body_size=LARGEST_REQUEST_BYTES,
)
async def discover(assay: Assay, data: JSONBody[DiscoverBody]) -> DiscoverView:
    """Every SKILL.md of the newest commit, those of its marketplace manifests included; submits nothing."""
    name, _ = parse_repository_url(data.repo_url, assay.settings.github_web_url, assay.settings.git_hosts)
    found = await assay.finder.find(name)
    async with assay.store.begin() as db:
        known = await compare_skills(db, found)
    return DiscoverView(
        repo_url=repository_url(found.facts.name, assay.settings.github_web_url) or data.repo_url,
        repository=str(found.facts.name),
        commit=found.commit,
        skills=[_present(each) for each in known],
        left_out=[LeftOutView(path=each.path, why=each.why) for each in found.left_out],
    )


def _present(skill: KnownSkill) -> DiscoveredView:
    standing = skill.submission
    return DiscoveredView(
        name=skill.name,
        path=skill.path,
        status=_status(standing),
        state=standing.state if standing else None,
        submission_id=standing.id if standing else None,
    )


def _status(submission: Submission | None) -> SkillStatus:
    if submission is None:
        return SkillStatus.NEW
    if submission.state in VERIFIED:
        return SkillStatus.VERIFIED
    return SkillStatus.PENDING if submission.state in PENDING else SkillStatus.REJECTED
