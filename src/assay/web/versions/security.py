"""`GET …/security`: the verdicts on a skill, for installers."""

from litestar import Response, get

from assay.model.verdict import Path
from assay.serve.scans.security import Provider, SecurityStatus, read_security
from assay.web.http.context import Assay, RequestedName
from assay.web.http.errors import problems
from assay.web.http.json import View
from assay.web.versions.json import ApprovalView, present_approval
from assay.web.versions.naming import located


class ProviderView(View, frozen=True):
    """A scanner: its own `verdict`, and the `status` that follows from it. Do not install a skill if a provider has
    the status FAIL and a `criticalCount` above zero.

    A FAIL that a person overruled has the status PASS; `overruledBy` is `reviewed` or `suppressed` then.
    """

    provider: str
    status: SecurityStatus
    verdict: SecurityStatus
    critical_count: int
    overruled_by: Path | None


class SecurityView(View, frozen=True):
    """The overall verdict and that of each provider. `review` is the approval by a reviewer, if there is one."""

    name: str
    overall_verdict: SecurityStatus
    review: ApprovalView | None
    report_url: str
    providers: list[ProviderView]


@get(
    "/{owner:str}/{repo:str}/{skill:str}/security",
    summary="Get the security verdict of a skill",
    responses=problems(300, 400, 404, 410, 503),
)
async def get_security(assay: Assay, requested_name: RequestedName) -> Response[SecurityView]:
    """Return the verdicts on the live version. A blocked skill has the overall verdict FAIL instead of an error."""
    async with assay.store.snapshot() as db:
        security = await read_security(db, requested_name)
    view = SecurityView(
        name=security.skill.name,
        overall_verdict=security.overall,
        review=present_approval(security.review),
        report_url=f"{assay.settings.base_url}/skills/{security.skill.name}",
        providers=[_present_provider(each) for each in security.providers],
    )
    return located(view, requested_name, security.skill, "/security")


def _present_provider(provider: Provider) -> ProviderView:
    return ProviderView(
        provider=provider.name,
        status=provider.status,
        verdict=provider.answer,
        critical_count=provider.critical,
        overruled_by=provider.overruled,
    )
