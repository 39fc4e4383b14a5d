"""Ways in: one skill, several, a whole repository, or an archive. All end in the same admission."""

import asyncio
from collections.abc import Sequence
from typing import Annotated, Any, Literal

import msgspec
from litestar import Response, post
from litestar.datastructures import UploadFile
from litestar.params import JSONBody, MultipartBody
from litestar.status_codes import HTTP_200_OK, HTTP_201_CREATED

from assay.model.errors import Invalid
from assay.model.naming import slug_of
from assay.model.repository import Host, RepositoryName
from assay.model.submission import Origin
from assay.scan.text.front_matter import describe
from assay.submit.admission import Request, accept_submission
from assay.submit.bulk import Item, accept_batch
from assay.submit.repository_requests import request_all
from assay.submit.upload import read_upload
from assay.submit.validate import DEFAULT_PATH, checked_skill_name, parse_repository_url
from assay.web.http.dependencies import Assay, CalledBy
from assay.web.http.problems import answer, problems
from assay.web.submissions.idempotency import IdempotencyKey, answer_once
from assay.web.submissions.json import (
    LARGEST_BATCH_BYTES,
    AcceptedView,
    Body,
    RepoUrl,
    SkillName,
    SkillPath,
    Skills,
)
from assay.web.submissions.present import present_accepted, present_admitted
from assay.web.submissions.sender import Sender

UPLOADS = RepositoryName(Host.UPLOAD, "local", "uploads")
NOT_NEW = "Nothing is new: the same submission as before, `duplicate` or reopened."


class SubmitBody(Body, frozen=True):
    """One skill (`skillName`, `skillPath`), several (`skills`), or all skills of a repository (`repoUrl` alone)."""

    repo_url: RepoUrl
    skill_name: SkillName | None = None
    skill_path: SkillPath | None = None
    skills: Skills | None = None
    source: Annotated[
        Literal["api", "web", "cli", "cli-submit", "cli-auto"], msgspec.Meta(description="Which client this is.")
    ] = "api"
    email: Annotated[str, msgspec.Meta(max_length=320, description="Accepted from older clients; not kept.")] | None = (
        None
    )


class UploadBody(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """A zip or tar.gz of one skill folder."""

    archive: UploadFile
    skill_name: str | None = None


@post(
    "/",
    summary="Submit a skill, several, or a whole repository",
    status_code=HTTP_201_CREATED,
    responses={HTTP_200_OK: answer(AcceptedView, NOT_NEW), **problems(400, 404, 409, 413, 415, 422, 503)},
    request_max_body_size=LARGEST_BATCH_BYTES,
)
async def submit(
    assay: Assay, caller: CalledBy, data: JSONBody[SubmitBody], idempotency_key: IdempotencyKey = None
) -> Response[AcceptedView]:
    """Idempotent: the same skill again answers with the same submission, `duplicate` while it is under way."""
    origin = Origin.CLI if data.source.startswith("cli") else Origin.API
    sender = Sender(caller, origin, assay.settings.github_web_url, assay.settings.git_hosts)
    repository, folder = parse_repository_url(data.repo_url, sender.web_url, sender.git_hosts)
    is_named = data.skill_name is not None or data.skill_path is not None
    if data.skills is not None and is_named:
        raise Invalid("Give either skills or skillName and skillPath, not both.", code="bad_body")
    is_whole = data.skills is None and not is_named and not folder
    found = await assay.finder.find(repository) if is_whole else None

    async def work(db: Any) -> tuple[int, AcceptedView]:
        if data.skills is None and found is None:
            request = sender.request(data.repo_url, data.skill_name, data.skill_path)
            return present_accepted(await accept_submission(db, request), assay.settings.base_url)
        items: Sequence[Item]
        if found is not None:
            items = await request_all(db, found, sender.origin, sender.submitter, sender.actor)
        else:
            items = [sender.item(data.repo_url, each.name, each.path) for each in data.skills or ()]
        return present_admitted(await accept_batch(db, items), assay.settings.base_url)

    return await answer_once(assay, caller, "submit", idempotency_key, data, work)


@post(
    "/upload",
    summary="Submit an archive of one skill folder",
    status_code=HTTP_201_CREATED,
    responses={HTTP_200_OK: answer(AcceptedView, NOT_NEW), **problems(400, 409, 413, 415, 503)},
)
async def upload(assay: Assay, caller: CalledBy, data: MultipartBody[UploadBody]) -> Response[AcceptedView]:
    """The same admission and pipeline as a repository, for a folder that is not in one."""
    received = await asyncio.to_thread(read_upload, await data.archive.read(), assay.limits)
    described = describe(received.source.skill_md)
    name = checked_skill_name(data.skill_name or described.name or received.folder)
    digest = await assay.blobs.save(received.source)
    path = f"{slug_of(name)}/{DEFAULT_PATH}"
    sender = Sender(caller, Origin.UPLOAD, assay.settings.github_web_url)
    request = Request(UPLOADS, name, path, sender.origin, sender.submitter, sender.actor, upload_digest=digest)
    async with assay.store.begin() as db:
        accepted = await accept_submission(db, request)
    status, view = present_accepted(accepted, assay.settings.base_url)
    return Response(view, status_code=status)
