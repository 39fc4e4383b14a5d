"""`GET …/security`: what installers ask before they install."""

from litestar import Response, get
from litestar.params import FromPath

from assay.serve.security import Answer, read_security
from assay.web.api.naming import answered, wanted_name
from assay.web.api.problems import problems
from assay.web.api.views import View
from assay.web.given import Assay


class ProviderView(View, frozen=True):
    """One that has looked; `status` FAIL with a `criticalCount` is a reason not to install."""

    provider: str
    status: Answer
    verdict: Answer
    critical_count: int


class SecurityView(View, frozen=True):
    """What all say together."""

    name: str
    overall_verdict: Answer
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
        report_url=f"{assay.settings.base_url}/skills/{found.skill.name}",
        providers=[
            ProviderView(provider=each.name, status=each.answer, verdict=each.answer, critical_count=each.critical)
            for each in found.providers
        ],
    )
    return answered(view, wanted, found.skill, "/security")
