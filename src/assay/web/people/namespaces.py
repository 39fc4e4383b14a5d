"""`/api/v1/namespaces`: owners of namespaces, claims, handles, and the decisions of administrators."""

from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

import msgspec
from litestar import Router, delete, get, post, put
from litestar.params import FromPath, JSONBody, QueryParameter
from litestar.status_codes import HTTP_200_OK

from assay.accounts.claims import (
    CHALLENGE_FOLDER,
    challenge_path,
    claim_repository,
    end_claim,
    free_namespace,
    get_namespace,
    grant_claim,
    reassign_namespace,
)
from assay.accounts.handles import choose_handle
from assay.accounts.name_policy import check_handle
from assay.accounts.permissions import require_namespace
from assay.app.app import App, open_claims_signer
from assay.fetch.listing import list_files
from assay.model.account import Account, Caller
from assay.model.errors import Conflict, Forbidden, NotFound
from assay.model.namespace import ClaimMethod, NamespaceKind, checked_handle
from assay.model.repository import Host, RepositoryName
from assay.store.people.accounts import find_account, lock_account
from assay.store.people.namespaces import list_claims, list_owner_accounts
from assay.submit.validate import parse_repository_url
from assay.web.http.access import ACCOUNT, ADMIN, OWNER, PUBLIC, PUBLISHING, SESSION
from assay.web.http.context import Assay, CalledBy
from assay.web.http.errors import problems
from assay.web.http.json import LARGEST_REQUEST_BYTES, Body, View
from assay.web.http.limits import LimitClass, limited
from assay.web.people.json import OkView

Reason = Annotated[str, msgspec.Meta(min_length=3, max_length=1_000)]
RepositoryUrl = Annotated[str, QueryParameter(name="repoUrl", max_length=500, description="A repository to claim.")]
SMALL: dict[str, Any] = {"status_code": HTTP_200_OK, "request_max_body_size": LARGEST_REQUEST_BYTES}


class NamespaceView(View, frozen=True):
    """A namespace: the first part of listing names. `owners` are the logins of its owners that have signed in here."""

    name: str
    kind: NamespaceKind
    github_id: int | None
    owners: list[str]
    created_at: datetime


class ClaimView(View, frozen=True):
    """The right of an account to act for a namespace, or for one repository (`collection`) of it."""

    id: UUID
    login: str
    collection: str | None
    method: ClaimMethod
    created_at: datetime
    created_by: str


class ClaimsView(View, frozen=True):
    """Active claims, oldest first."""

    claims: list[ClaimView]


class ChallengeView(View, frozen=True):
    """The file that proves that you control a repository. Its content does not matter."""

    repository: str
    path: str
    instructions: str


class ChallengeBody(Body, frozen=True):
    """A repository whose default branch has the challenge file."""

    repo_url: Annotated[str, msgspec.Meta(min_length=1, max_length=500)]


class HandleBody(Body, frozen=True):
    """The new handle, such as `alice`."""

    handle: Annotated[str, msgspec.Meta(min_length=1, max_length=100)]


class HandleView(View, frozen=True):
    """The namespace of your uploads."""

    handle: str


class GrantBody(Body, frozen=True):
    """An account that may act for the namespace, or for one repository of it, and the reason."""

    account_id: UUID
    reason: Reason
    collection: Annotated[str, msgspec.Meta(min_length=1, max_length=100)] | None = None


class OwnerBody(Body, frozen=True):
    """The new owner of the namespace, and the reason."""

    account_id: UUID
    reason: Reason


class FreeBody(Body, frozen=True):
    """The reason for freeing the name."""

    reason: Reason


@get("/{name:str}", summary="Get a namespace", opt=PUBLIC, responses=problems(400, 404, 503))
async def read_namespace(assay: Assay, name: FromPath[str]) -> NamespaceView:
    """Return who owns a namespace."""
    return await _read(assay, name)


async def _read(assay: App, name: str) -> NamespaceView:
    async with assay.store.snapshot() as db:
        found = await get_namespace(db, name)
        owners = await list_owner_accounts(db, found)
        claims = [login for claim, login in await list_claims(db, found.name) if claim.collection is None]
    return NamespaceView.of(found, owners=sorted({login for _, login in owners} | set(claims)))


@get(
    "/{name:str}/claims",
    summary="List the claims on a namespace",
    opt=OWNER,
    responses=problems(400, 401, 403, 404, 503),
)
async def read_claims(assay: Assay, caller: CalledBy, name: FromPath[str]) -> ClaimsView:
    """List the accounts that may act for a namespace that you own."""
    async with assay.store.begin() as db:
        found = await require_namespace(db, caller, name)
        claims = await list_claims(db, found.name)
    return ClaimsView(claims=[ClaimView.of(claim, login=login) for claim, login in claims])


@delete(
    "/{name:str}/claims/{claim_id:str}",
    summary="Revoke a claim",
    opt=OWNER,
    status_code=HTTP_200_OK,
    responses=problems(400, 401, 403, 404, 503),
)
async def revoke(assay: Assay, caller: CalledBy, name: FromPath[str], claim_id: FromPath[UUID]) -> OkView:
    """Revoke a claim: your own, or any claim on a namespace that you own."""
    async with assay.store.begin() as db:
        await end_claim(db, caller, (await get_namespace(db, name)).name, claim_id, assay.clock.now())
    return OkView()


@get("/challenge", summary="Get a challenge for a repository", opt=ACCOUNT, responses=problems(400, 401, 403, 503))
async def read_challenge(assay: Assay, caller: CalledBy, repo_url: RepositoryUrl) -> ChallengeView:
    """Return the path of a file that you add to the default branch of a repository, to prove that you control it."""
    repository, _ = parse_repository_url(repo_url, assay.settings.github_web_url, assay.settings.git_hosts)
    path = _challenge_path(assay, await _account(assay, caller), repository)
    instructions = (
        f"Commit an empty file {path} to the default branch, then send the URL of the repository to "
        "POST /api/v1/namespaces/challenge. You can delete the file afterwards."
    )
    return ChallengeView(repository=str(repository), path=path, instructions=instructions)


@post(
    "/challenge",
    summary="Claim a repository by its challenge file",
    opt=ACCOUNT | PUBLISHING | limited(LimitClass.CLAIMS),
    responses=problems(400, 401, 403, 404, 409, 413, 415, 503),
    **SMALL,
)
async def answer_challenge(assay: Assay, caller: CalledBy, data: JSONBody[ChallengeBody]) -> NamespaceView:
    """Look for the challenge file at the newest commit. If it is there, you may change the listings of the repository.

    This also works for git hosts other than GitHub.
    """
    account = await _account(assay, caller)
    named, _ = parse_repository_url(data.repo_url, assay.settings.github_web_url, assay.settings.git_hosts)
    repository, commit = await _resolve(assay, named)
    path = _challenge_path(assay, account, repository)
    files = await list_files(
        assay.github, assay.git, repository, commit, wanted=lambda each: each.startswith(f"{CHALLENGE_FOLDER}/")
    )
    if not any(entry.path == path and entry.is_regular for entry in files):
        raise Conflict(f"{repository} has no file {path} at commit {commit[:12]}.", code="challenge_failed")
    async with assay.store.begin() as db:
        claimed = await claim_repository(db, account, repository, path, assay.clock.now())
    return await _read(assay, claimed.name)


@put(
    "/handle",
    summary="Choose my handle",
    opt=SESSION | limited(LimitClass.CLAIMS),
    responses=problems(400, 401, 403, 409, 413, 415, 503),
    **SMALL,
)
async def set_my_handle(assay: Assay, caller: CalledBy, data: JSONBody[HandleBody]) -> HandleView:
    """Choose the namespace of your uploads, if you have none or uploaded nothing yet.

    Accounts that sign in with GitHub have their GitHub login by default.
    """
    account, handle = await _account(assay, caller), checked_handle(data.handle)
    await _check_handle(assay, account, handle)
    async with assay.store.begin() as db:
        return HandleView(handle=await choose_handle(db, account, handle))


@post("/{name:str}/claims", summary="Grant a claim", responses=problems(400, 401, 403, 404, 413, 415, 503), **SMALL)
async def grant(assay: Assay, caller: CalledBy, name: FromPath[str], data: JSONBody[GrantBody]) -> OkView:
    """Let an account act for a namespace, or for one repository of it."""
    async with assay.store.begin() as db:
        account = await _existing(db, data.account_id)
        collection = data.collection.lower() if data.collection else None
        found = await get_namespace(db, name)
        await grant_claim(db, found.name, collection, account, data.reason, by=caller.name, now=assay.clock.now())
    return OkView()


@put(
    "/{name:str}/owner",
    summary="Reassign a namespace",
    responses=problems(400, 401, 403, 404, 413, 415, 503),
    **SMALL,
)
async def reassign(assay: Assay, caller: CalledBy, name: FromPath[str], data: JSONBody[OwnerBody]) -> OkView:
    """Make an account the owner of a namespace, for example if a GitHub login has passed to another person."""
    async with assay.store.begin() as db:
        owner, found = await _existing(db, data.account_id), await get_namespace(db, name)
        await reassign_namespace(db, found.name, owner, data.reason, by=caller.name)
    return OkView()


@post(
    "/{name:str}/free", summary="Free a namespace", responses=problems(400, 401, 403, 404, 409, 413, 415, 503), **SMALL
)
async def free(assay: Assay, caller: CalledBy, name: FromPath[str], data: JSONBody[FreeBody]) -> OkView:
    """Delete a namespace without repositories and uploads, so that others can take its name."""
    async with assay.store.begin() as db:
        await free_namespace(db, (await get_namespace(db, name)).name, data.reason, by=caller.name)
    return OkView()


async def _resolve(assay: App, name: RepositoryName) -> tuple[RepositoryName, str]:
    """Return the present name of a repository and its newest commit."""
    if name.host is Host.GIT:
        facts, commit = await assay.git.resolve(name)
        return facts.name, commit
    facts = await assay.github.get_repository(name)
    return facts.name, await assay.github.get_head_commit(facts.name)


def _challenge_path(assay: App, account: Account, repository: RepositoryName) -> str:
    return challenge_path(open_claims_signer(assay.settings), account.id, repository)


async def _check_handle(assay: App, account: Account, handle: str) -> None:
    """Raise Conflict if the handle is reserved, can be mistaken for another, or is the GitHub login of someone else."""
    is_own_login = account.github_id is not None and account.login.lower() == handle
    async with assay.store.begin() as db:
        check_handle(handle, await assay.popular_names.read(db, assay.clock.now()), is_own_login=is_own_login)
    if is_own_login:
        return
    holder = await assay.github.find_user_id(handle)
    if holder is not None and holder != account.github_id:
        raise Conflict(f"{handle} is the GitHub login of someone else.", code="handle_taken")


async def _account(assay: App, caller: Caller) -> Account:
    async with assay.store.begin() as db:
        account = await find_account(db, caller.account_id) if caller.account_id else None
    if account is None:
        raise Forbidden("The internal key of the registry has no account.", code="no_account")
    return account


async def _existing(db: Any, account_id: UUID) -> Account:
    account = await lock_account(db, account_id)
    if account is None:
        raise NotFound("There is no such account.", code="account_not_found")
    return account


router = Router(
    "/api/v1/namespaces",
    tags=["namespaces"],
    route_handlers=[read_namespace, read_claims, revoke, read_challenge, answer_challenge],
)
account_router = Router("/api/v1/account", tags=["accounts"], route_handlers=[set_my_handle])
admin_router = Router("/api/v1/admin/namespaces", tags=["admin"], opt=ADMIN, route_handlers=[grant, reassign, free])
