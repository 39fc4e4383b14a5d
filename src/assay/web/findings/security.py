"""`GET …/security`: what installers ask before they install."""

from litestar import Response, get
from litestar.params import FromPath

from assay.model.verdict import Path
from assay.serve.scans.security import Answer, read_security
from assay.web.http.dependencies import Assay
from assay.web.http.json import View
from assay.web.http.problems import problems
from assay.web.versions.approval_json import ApprovalView, present_approval
from assay.web.versions.naming import answered, wanted_name


class ProviderView(View, frozen=True):
    """One that has looked: its `verdict`, and the `status` that follows from it. FAIL with a `criticalCount` is a
    reason not to install. What a person has overruled is no FAIL: `overruledBy` is `reviewed` or `suppressed` then.
    """

    provider: str
    status: Answer
    verdict: Answer
    critical_count: int
    overruled_by: Path | None


class SecurityView(View, frozen=True):
    """What all say together; `review` is the approval by a person, if there is one."""

    name: str
    overall_verdict: Answer
    review: ApprovalView | None
    report_url: str
    providers: list[ProviderView]


@get(
    "/{owner:str}/{repo:str}/{skill:str}/security",
    summary="Whether a skill is safe to install",
    responses=problems(300, 400, 404, 410, 503),
)
async def get_security(
    assay: Assay, owner: FromPath[str], repo: FromPath[str], skill: FromPath[str]
) -> Response[SecurityView]:
    """What the scans of the live version said. What is blocked is answered with FAIL, not with an error."""
    wanted = wanted_name(owner, repo, skill)
    async with assay.store.snapshot() as db:
        found = await read_security(db, wanted)
    view = SecurityView(
        name=found.skill.name,
        overall_verdict=found.overall,
        review=present_approval(found.review),
        report_url=f"{assay.settings.base_url}/skills/{found.skill.name}",
        providers=[
            ProviderView(
                provider=each.name,
                status=each.status,
                verdict=each.answer,
                critical_count=each.critical,
                overruled_by=each.overruled,
            )
            for each in found.providers
        ],
    )
    return answered(view, wanted, found.skill, "/security")
