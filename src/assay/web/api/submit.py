"""Ways in: one skill of a repository, or an archive of one."""

import asyncio
from typing import Annotated

import msgspec
from litestar import Response, post
from litestar.datastructures import UploadFile
from litestar.params import JSONBody, MultipartBody
from litestar.status_codes import HTTP_200_OK, HTTP_201_CREATED

from assay.model.repository import Host, RepositoryName
from assay.model.submission import Origin
from assay.scan.front_matter import describe
from assay.submit.accept import Accepted, Admission, Request, accept_submission
from assay.submit.upload import read_upload
from assay.submit.validate import DEFAULT_PATH, checked_skill_name, slug_of, wanted_skill
from assay.web.api.problems import answer, problems
from assay.web.api.views import AcceptedView
from assay.web.given import Assay

LARGEST_REQUEST_BYTES = 64 * 1024
UPLOADS = RepositoryName(Host.UPLOAD, "local", "uploads")

ADMITTED = {
    HTTP_200_OK: answer(AcceptedView, "This skill was submitted before: the same submission, `duplicate` or reopened."),
    **problems(400, 413, 415, 503),
}


class SubmitBody(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """One skill of a repository."""

    repo_url: Annotated[str, msgspec.Meta(max_length=500, description="`https://github.com/owner/repository`")]
    skill_name: Annotated[str, msgspec.Meta(max_length=200)] | None = None
    skill_path: Annotated[str, msgspec.Meta(max_length=500)] | None = None


class UploadBody(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """A zip or tar.gz of one skill folder."""

    archive: UploadFile
    skill_name: str | None = None


@post(
    "/",
    summary="Submit one skill",
    status_code=HTTP_201_CREATED,
    responses=ADMITTED,
    request_max_body_size=LARGEST_REQUEST_BYTES,
)
async def submit(assay: Assay, data: JSONBody[SubmitBody]) -> Response[AcceptedView]:
    """Idempotent: the same skill again answers with the same submission, `duplicate` while it is under way."""
    wanted = wanted_skill(data.repo_url, data.skill_name, data.skill_path, assay.settings.github_web_url)
    request = Request(wanted.repository, wanted.skill_name, wanted.skill_path, Origin.API)
    return await _accept(assay, request)


@post(
    "/upload",
    summary="Submit an archive of one skill folder",
    status_code=HTTP_201_CREATED,
    responses={**ADMITTED, **problems(409)},
)
async def upload(assay: Assay, data: MultipartBody[UploadBody]) -> Response[AcceptedView]:
    """The same admission and pipeline as a repository, for a folder that is not in one."""
    received = await asyncio.to_thread(read_upload, await data.archive.read(), assay.limits)
    described = describe(received.source.skill_md)
    name = checked_skill_name(data.skill_name or described.name or received.folder)
    digest = await assay.blobs.save(received.source)
    path = f"{slug_of(name)}/{DEFAULT_PATH}"
    return await _accept(assay, Request(UPLOADS, name, path, Origin.UPLOAD, upload_digest=digest))


async def _accept(assay: Assay, request: Request) -> Response[AcceptedView]:
    async with assay.store.begin() as db:
        accepted = await accept_submission(db, request)
    status = HTTP_201_CREATED if accepted.admission is Admission.CREATED else HTTP_200_OK
    return Response(_present_accepted(accepted, assay.settings.base_url), status_code=status)


def _present_accepted(accepted: Accepted, base_url: str) -> AcceptedView:
    submission = accepted.submission
    return AcceptedView(
        id=submission.id,
        state=submission.state,
        created_at=submission.created_at,
        duplicate=accepted.admission is Admission.DUPLICATE,
        already_verified=accepted.was_published,
        blocked=accepted.admission is Admission.BLOCKED,
        skill_id=submission.skill_id,
        status_url=f"{base_url}/submissions/{submission.id}",
    )
