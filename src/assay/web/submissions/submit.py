"""Submit one skill, several, a whole repository or an archive; every way ends in the same admission."""

import asyncio
from collections.abc import Sequence
from typing import Any

from litestar import Response, post
from litestar.params import JSONBody, MultipartBody
from litestar.status_codes import HTTP_200_OK, HTTP_201_CREATED

from assay.accounts.permissions import require_owner_or_submitter
from assay.accounts.submitting import require_may_submit
from assay.accounts.uploading import check_new_name, upload_namespace
from assay.model.account import INTERNAL_KEY
from assay.model.errors import Invalid
from assay.model.namespace import UPLOADS_COLLECTION
from assay.model.repository import Host, RepositoryName
from assay.model.skill import slug_of
from assay.model.submission import Origin
from assay.scan.text.front_matter import describe
from assay.serve.skills.catalogue import find_any_listing
from assay.store.operations.audit import record_audit
from assay.submit.admission import SubmissionRequest, admit_submission
from assay.submit.bulk import Item, admit_batch
from assay.submit.quota import reserve_upload
from assay.submit.repository_requests import compare_skills, request_all
from assay.submit.resubmit import build_resubmission
from assay.submit.upload import read_upload
from assay.submit.validate import DEFAULT_PATH, checked_skill_name, parse_repository_url
from assay.web.http.access import ACCOUNT, OWNER, PUBLISHING, SUBMITTING
from assay.web.http.context import AnyRequest, Assay, CalledBy, RequestedName
from assay.web.http.errors import problems, response_spec
from assay.web.http.json import LARGEST_REQUEST_BYTES
from assay.web.http.limits import LimitClass, limited, share_of, spend_on
from assay.web.http.links import repository_url
from assay.web.submissions.idempotency import IdempotencyKey, answer_once
from assay.web.submissions.sender import Sender
from assay.web.submissions.submit_json import (
    LARGEST_BATCH_BYTES,
    AcceptedView,
    BatchView,
    BulkBody,
    DiscoverBody,
    DiscoverView,
    LeftOutView,
    SubmitBody,
    UploadBody,
    present_accepted,
    present_accepted_batch,
    present_batch,
    present_discovered,
)

NOT_NEW = "Nothing is new: the existing submission, which is a `duplicate` or was reopened."


@post(
    "/",
    summary="Submit a skill, several skills or a repository",
    opt=SUBMITTING,
    status_code=HTTP_201_CREATED,
    responses={
        HTTP_200_OK: response_spec(AcceptedView, NOT_NEW),
        **problems(400, 401, 403, 404, 409, 413, 415, 422, 503),
    },
    request_max_body_size=LARGEST_BATCH_BYTES,
)
async def submit(
    assay: Assay,
    caller: CalledBy,
    request: AnyRequest,
    data: JSONBody[SubmitBody],
    idempotency_key: IdempotencyKey = None,
) -> Response[AcceptedView]:
    """Submit skills for scanning and listing. Example: `{"repoUrl": "https://github.com/owner/repository"}`.

    It is idempotent: submitting a known skill again returns its submission, as `duplicate` while that is active.
    """
    require_may_submit(caller, assay.settings.submit)
    origin = Origin.CLI if data.source.startswith("cli") else Origin.API
    sender = Sender(caller, origin, assay.settings.github_web_url, assay.settings.git_hosts)
    repository, folder = parse_repository_url(data.repo_url, sender.web_url, sender.git_hosts)
    is_named = data.skill_name is not None or data.skill_path is not None
    if data.skills is not None and is_named:
        raise Invalid("Give either skills or skillName and skillPath, not both.", code="bad_body")
    is_whole = data.skills is None and not is_named and not folder
    if is_whole:
        await spend_on(request, LimitClass.DISCOVER, 1)
    found = await assay.finder.find(repository) if is_whole else None
    await spend_on(request, LimitClass.SKILLS, len(found.skill_paths if found else data.skills or [data]))
    share = share_of(request)

    async def work(db: Any) -> tuple[int, AcceptedView]:
        if data.skills is None and found is None:
            one = sender.request(data.repo_url, data.skill_name, data.skill_path)
            return present_accepted(await admit_submission(db, one, share=share), assay.settings.base_url)
        items: Sequence[Item]
        if found is not None:
            items = await request_all(db, found, sender.origin, sender.submitter, sender.actor)
        else:
            items = [sender.item(data.repo_url, each.name, each.path) for each in data.skills or ()]
        return present_accepted_batch(await admit_batch(db, items, share=share), assay.settings.base_url)

    return await answer_once(assay, request, "submit", idempotency_key, data, work)


@post(
    "/upload",
    summary="Submit an archive of one skill folder",
    opt=ACCOUNT | PUBLISHING | limited(LimitClass.UPLOADS),
    status_code=HTTP_201_CREATED,
    responses={HTTP_200_OK: response_spec(AcceptedView, NOT_NEW), **problems(400, 401, 403, 409, 413, 415, 503)},
)
async def upload(assay: Assay, caller: CalledBy, data: MultipartBody[UploadBody]) -> Response[AcceptedView]:
    """Submit a skill that is not in a public repository. It is scanned like any other and listed as
    `{namespace}/uploads/{skill}`, in your own namespace or another one that you own.
    """
    require_may_submit(caller, assay.settings.submit)
    async with assay.store.begin() as db:
        allowed = await upload_namespace(db, caller, data.namespace)
    received = await asyncio.to_thread(read_upload, await data.archive.read(), assay.limits)
    described = describe(received.source.skill_md)
    name = checked_skill_name(data.skill_name or described.name or received.folder)
    quota_bytes = 0 if caller == INTERNAL_KEY else assay.settings.upload_quota_bytes
    async with assay.store.begin() as db:
        await check_new_name(db, allowed.name, name, assay.popular_names, assay.clock.now())
        await reserve_upload(db, allowed.name, received.source, quota_bytes)
    digest = await assay.blobs.save(received.source)
    path = f"{slug_of(name)}/{DEFAULT_PATH}"
    sender = Sender(caller, Origin.UPLOAD, assay.settings.github_web_url)
    async with assay.store.begin() as db:
        owned = await upload_namespace(db, caller, data.namespace)
        uploads = RepositoryName(Host.UPLOAD, owned.name, UPLOADS_COLLECTION)
        request = SubmissionRequest(
            uploads, name, path, sender.origin, sender.submitter, sender.actor, upload_digest=digest
        )
        admitted = await admit_submission(db, request)
    status, view = present_accepted(admitted, assay.settings.base_url)
    return Response(view, status_code=status)


@post(
    "/bulk",
    summary="Submit many skills",
    opt=SUBMITTING,
    status_code=HTTP_200_OK,
    responses=problems(400, 401, 403, 409, 413, 415, 503),
    request_max_body_size=LARGEST_BATCH_BYTES,
)
async def bulk(
    assay: Assay,
    caller: CalledBy,
    request: AnyRequest,
    data: JSONBody[BulkBody],
    idempotency_key: IdempotencyKey = None,
) -> Response[BatchView]:
    """Submit up to 1000 skills. An item that cannot be admitted is reported and does not stop the others."""
    require_may_submit(caller, assay.settings.submit)
    items = _items(data, Sender(caller, Origin.BULK, assay.settings.github_web_url, assay.settings.git_hosts))

    await spend_on(request, LimitClass.SKILLS, len(items))
    share = share_of(request)

    async def work(db: Any) -> tuple[int, BatchView]:
        return HTTP_200_OK, present_batch(await admit_batch(db, items, chunk=assay.settings.enqueue_chunk, share=share))

    return await answer_once(assay, request, "bulk", idempotency_key, data, work)


@post(
    "/discover",
    summary="Find the skills of a repository",
    opt=SUBMITTING | limited(LimitClass.DISCOVER),
    status_code=HTTP_200_OK,
    responses=problems(400, 401, 403, 404, 413, 415, 503),
    request_max_body_size=LARGEST_REQUEST_BYTES,
)
async def discover(assay: Assay, caller: CalledBy, data: JSONBody[DiscoverBody]) -> DiscoverView:
    """List every skill of the newest commit, including those of marketplace manifests. Nothing is submitted."""
    require_may_submit(caller, assay.settings.submit)
    name, _ = parse_repository_url(data.repo_url, assay.settings.github_web_url, assay.settings.git_hosts)
    found = await assay.finder.find(name)
    async with assay.store.begin() as db:
        known = await compare_skills(db, found)
    return DiscoverView(
        repo_url=repository_url(found.facts.name, assay.settings.github_web_url) or data.repo_url,
        repository=str(found.facts.name),
        commit=found.commit,
        skills=[present_discovered(each) for each in known],
        left_out=[LeftOutView.of(each) for each in found.left_out],
    )


@post(
    "/{owner:str}/{repo:str}/{skill:str}/reindex",
    summary="Submit a listing again",
    opt=OWNER | SUBMITTING | limited(LimitClass.SKILLS),
    status_code=HTTP_200_OK,
    responses={
        HTTP_201_CREATED: response_spec(AcceptedView, "A new submission."),
        **problems(300, 400, 401, 403, 404, 409, 503),
    },
)
async def reindex(assay: Assay, caller: CalledBy, requested_name: RequestedName) -> Response[AcceptedView]:
    """Submit a listing again from its source. The live version stays live in the meantime."""
    require_may_submit(caller, assay.settings.submit)
    async with assay.store.begin() as db:
        listing = await find_any_listing(db, requested_name)
        await require_owner_or_submitter(db, caller, listing)
        request = await build_resubmission(db, listing, caller)
        admitted = await admit_submission(db, request)
        detail = {"submission": str(admitted.submission.id)}
        await record_audit(db, caller.name, "skill_reindexed", listing.name, detail)
    status, view = present_accepted(admitted, assay.settings.base_url)
    return Response(view, status_code=status)


def _items(body: BulkBody, sender: Sender) -> list[Item]:
    match body:
        case BulkBody(repo_url=None, skills=None, items=[*items]):
            return [sender.item(each.repo_url, each.skill_name, each.skill_path) for each in items]
        case BulkBody(repo_url=str(repo_url), skills=[*skills], items=None):
            return [sender.item(repo_url, each.name, each.path) for each in skills]
        case _:
            raise Invalid("Give either repoUrl with skills, or items.", code="bad_body")
