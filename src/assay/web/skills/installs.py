"""What clients report and ask after an install: that it happened, and whether there is something newer."""

from typing import Any

from litestar import Request, post
from litestar.params import FromPath, JSONBody
from litestar.status_codes import HTTP_200_OK

from assay.app.app import App
from assay.model.errors import Invalid, Unavailable
from assay.model.naming import said_version
from assay.serve.versions.updates import MOST, Installed, Update, check_updates
from assay.submit.installs import Install, Recorded, client_of, record_installs
from assay.web.http.dependencies import Assay
from assay.web.http.problems import problems
from assay.web.skills.installs_json import (
    LARGEST_BYTES,
    CheckUpdatesBody,
    InstallBody,
    InstallsBody,
    RecordedView,
    UpdatesView,
    UpdateView,
)
from assay.web.versions.naming import wanted_name


@post(
    "/{owner:str}/{repo:str}/{skill:str}/installs",
    summary="Report an install",
    status_code=HTTP_200_OK,
    responses=problems(400, 404, 413, 415, 503),
    request_max_body_size=LARGEST_BYTES,
)
async def report_install(
    assay: Assay,
    request: Request[Any, Any, Any],
    owner: FromPath[str],
    repo: FromPath[str],
    skill: FromPath[str],
    data: JSONBody[InstallBody],
) -> RecordedView:
    """Counted once a day for a client and a skill. Who the client is, is not kept."""
    return await _record(assay, request, [Install(wanted_name(owner, repo, skill), said_version(data.version))])


@post(
    "/installs",
    summary="Report several installs",
    status_code=HTTP_200_OK,
    responses=problems(400, 413, 415, 503),
    request_max_body_size=LARGEST_BYTES,
)
async def report_installs(assay: Assay, request: Request[Any, Any, Any], data: JSONBody[InstallsBody]) -> RecordedView:
    """Names that nobody knows are told and fail nothing."""
    return await _record(assay, request, [Install(each.skill_name, said_version(each.version)) for each in data.skills])


@post(
    "/check-updates",
    summary="Ask for newer versions",
    status_code=HTTP_200_OK,
    responses=problems(400, 413, 415, 503),
    request_max_body_size=LARGEST_BYTES,
)
async def check_for_updates(assay: Assay, data: JSONBody[CheckUpdatesBody]) -> UpdatesView:
    """The same text under another number is no update, if its `sha` is given."""
    if len(data.skills) > MOST:
        said = f"skills: Maximum {MOST} skills per request. Send {len(data.skills):,} in batches of {MOST}."
        raise Invalid(said, code="too_many_skills")
    wanted = [Installed(each.name, each.current_version, each.sha) for each in data.skills]
    found = await check_updates(assay.store, assay.blobs, wanted)
    return UpdatesView(results=[_present_update(each) for each in found])


async def _record(assay: App, request: Request[Any, Any, Any], installs: list[Install]) -> RecordedView:
    if assay.settings.jwt_secret is None:
        raise Unavailable("ASSAY_JWT_SECRET is not set, so installs cannot be counted.", code="secret_missing")
    client = client_of(
        assay.settings.jwt_secret.get_secret_value(),
        request.client.host if request.client else "",
        request.headers.get("user-agent", ""),
    )
    async with assay.store.begin() as db:
        return _present_recorded(await record_installs(db, installs, client=client, now=assay.clock.now()))


def _present_recorded(recorded: Recorded) -> RecordedView:
    return RecordedView(ok=True, received=recorded.received, counted=recorded.counted, unknown=list(recorded.unknown))


def _present_update(update: Update) -> UpdateView:
    skill = update.skill
    return UpdateView(
        name=update.installed.name,
        installed=said_version(update.installed.version),
        latest=skill.current_version if skill else None,
        update_available=update.is_available,
        version_bump=update.bump if said_version(update.installed.version) else None,
        diff_summary=update.summary if update.is_available else None,
        cert_tier=skill.tier if skill else None,
        cert_score=skill.score if skill else None,
        code=update.code,
    )
