"""Installs: clients report them and ask for newer versions. The JSON is that of the clients of the former platform."""

from typing import Annotated, Any

import msgspec
from litestar import Request, post
from litestar.params import JSONBody
from litestar.status_codes import HTTP_200_OK

from assay.app.app import App
from assay.model.account import Caller
from assay.model.errors import Invalid, Unavailable
from assay.model.skill import Tier, declared_version
from assay.serve.versions.updates import MAX_INSTALLED, Installed, Update, check_updates
from assay.submit.installs import Install, client_key, record_installs
from assay.web.http.access import ANY_SCOPE
from assay.web.http.context import Assay, CalledBy, RequestedName
from assay.web.http.errors import problems
from assay.web.http.json import LARGEST_REQUEST_BYTES, Body, View
from assay.web.http.limits import address_of

Name = Annotated[str, msgspec.Meta(min_length=1, max_length=300)]
Word = Annotated[str, msgspec.Meta(max_length=100)]
Url = Annotated[str, msgspec.Meta(max_length=500)]


class InstallBody(Body, frozen=True):
    """An install. Only the version is stored."""

    version: Word | None = None
    repo_url: Url | None = None
    source: Word | None = None
    platform: Word | None = None
    cli_version: Word | None = None


class InstalledSkillBody(Body, frozen=True):
    """One of several installed skills."""

    skill_name: Name
    repo_url: Url | None = None
    version: Word | None = None


class InstallsBody(Body, frozen=True):
    """Skills that were installed together."""

    skills: Annotated[list[InstalledSkillBody], msgspec.Meta(min_length=1, max_length=MAX_INSTALLED)]
    source: Word | None = None
    platform: Word | None = None
    cli_version: Word | None = None


class RecordedView(View, frozen=True):
    """The number of reports received and counted, and the names that match no listing. Only the first report of a
    caller, skill and day is counted, and by default at most 500 skills per caller and day.
    """

    ok: bool
    received: int
    counted: int
    unknown: list[str]


class CheckedSkillBody(Body, frozen=True):
    """An installed skill. `sha` is the SHA-256 of the text of its SKILL.md."""

    name: Name
    current_version: Word
    sha: Word | None = None


class CheckUpdatesBody(Body, frozen=True):
    """At most 100 installed skills."""

    skills: list[CheckedSkillBody]
    platform: Word | None = None
    cli_version: Word | None = None


class UpdateView(View, frozen=True):
    """The result of an update check. `latest` is null if the skill is not listed; `code` says why.

    `installed` is null for 0.0.0, which clients send if they do not know the version.
    """

    name: str
    installed: str | None
    latest: str | None
    update_available: bool
    version_bump: str | None
    diff_summary: str | None
    cert_tier: Tier | None
    cert_score: int | None
    code: str | None


class UpdatesView(View, frozen=True):
    """One result for each skill, in the order of the request."""

    results: list[UpdateView]


@post(
    "/{owner:str}/{repo:str}/{skill:str}/installs",
    summary="Report an install",
    opt=ANY_SCOPE,
    status_code=HTTP_200_OK,
    responses=problems(400, 404, 413, 415, 503),
    request_max_body_size=LARGEST_REQUEST_BYTES,
)
async def report_install(
    assay: Assay,
    caller: CalledBy,
    request: Request[Any, Any, Any],
    requested_name: RequestedName,
    data: JSONBody[InstallBody],
) -> RecordedView:
    """Record an install. It counts once a day per account or, without one, per IP address.

    The account or address is stored only as a pseudonym.
    """
    return await _record(assay, caller, request, [Install(requested_name, declared_version(data.version))])


@post(
    "/installs",
    summary="Report several installs",
    opt=ANY_SCOPE,
    status_code=HTTP_200_OK,
    responses=problems(400, 413, 415, 503),
    request_max_body_size=LARGEST_REQUEST_BYTES,
)
async def report_installs(
    assay: Assay, caller: CalledBy, request: Request[Any, Any, Any], data: JSONBody[InstallsBody]
) -> RecordedView:
    """Record several installs. Unknown names are returned and do not fail the request."""
    installs = [Install(each.skill_name, declared_version(each.version)) for each in data.skills]
    return await _record(assay, caller, request, installs)


@post(
    "/check-updates",
    summary="Check for updates",
    opt=ANY_SCOPE,
    status_code=HTTP_200_OK,
    responses=problems(400, 413, 415, 503),
    request_max_body_size=LARGEST_REQUEST_BYTES,
)
async def check_for_updates(assay: Assay, data: JSONBody[CheckUpdatesBody]) -> UpdatesView:
    """Return for each skill whether a newer version exists.

    If `sha` is given, a version with the same text under another number is not an update.
    """
    if len(data.skills) > MAX_INSTALLED:
        message = f"skills: Maximum {MAX_INSTALLED} skills per request. "
        message += f"Send {len(data.skills):,} in batches of {MAX_INSTALLED}."
        raise Invalid(message, code="too_many_skills")
    installed = [Installed(each.name, each.current_version, each.sha) for each in data.skills]
    updates = await check_updates(assay.store, assay.blobs, installed)
    return UpdatesView(results=[_present_update(each) for each in updates])


async def _record(assay: App, caller: Caller, request: Request[Any, Any, Any], installs: list[Install]) -> RecordedView:
    settings = assay.settings
    if settings.jwt_secret is None:
        raise Unavailable("ASSAY_JWT_SECRET is not set, so installs cannot be counted.", code="secret_missing")
    client = client_key(settings.jwt_secret.get_secret_value(), caller, address_of(request))
    async with assay.store.begin() as db:
        recorded = await record_installs(
            db, installs, client=client, now=assay.clock.now(), at_most=settings.limit_installs
        )
    return RecordedView.of(recorded, ok=True)


def _present_update(update: Update) -> UpdateView:
    skill, installed = update.skill, declared_version(update.installed.version)
    return UpdateView(
        name=update.installed.name,
        installed=installed,
        latest=skill.current_version if skill else None,
        update_available=update.is_available,
        version_bump=update.bump if installed else None,
        diff_summary=update.summary if update.is_available else None,
        cert_tier=skill.tier if skill else None,
        cert_score=skill.score if skill else None,
        code=update.code,
    )
