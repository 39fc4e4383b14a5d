"""Decides who may change a namespace, a listing or a submission: the one check for API, pages and commands.

A namespace is owned by the GitHub user with its numeric id, by the account whose handle it is, or by accounts that have
claimed it. A listing from a repository belongs to the present GitHub owner of the repository, not to its submitter; an
upload belongs to its namespace. Submitting another owner's repository only gives the right to request a rescan.
Administrators may change everything. A token limited to namespaces may change only those.
"""

from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.account import Account, Caller
from assay.model.errors import Forbidden
from assay.model.namespace import Namespace, NamespaceKind, namespace_of
from assay.model.repository import Host, RepositoryName
from assay.model.skill import Skill
from assay.model.submission import Submission
from assay.store.people.accounts import find_account
from assay.store.people.namespaces import find_namespace, has_claim, list_owned
from assay.store.repositories.repositories import find_owner_id
from assay.store.submissions.submissions import is_submitter


async def require_owner(db: AsyncConnection, caller: Caller, listing: Skill) -> None:
    """Raise Forbidden unless the caller owns the listing or is an administrator."""
    if not await owns_listing(db, caller, listing):
        raise _not_owner(listing)


async def owns_listing(db: AsyncConnection, caller: Caller, listing: Skill) -> bool:
    return await _owns(db, caller, listing.repository)


async def require_owner_or_submitter(db: AsyncConnection, caller: Caller, listing: Skill) -> None:
    """Raise Forbidden unless the caller owns or submitted the listing, or is an administrator."""
    if not await is_owner_or_submitter(db, caller, listing):
        raise _not_owner(listing)


async def is_owner_or_submitter(db: AsyncConnection, caller: Caller, listing: Skill) -> bool:
    if await owns_listing(db, caller, listing):
        return True
    account = await _account(db, caller)
    return account is not None and await is_submitter(db, listing.id, str(account.id))


async def require_submission_owner(db: AsyncConnection, caller: Caller, submission: Submission) -> None:
    """Raise Forbidden unless the caller owns the repository or the upload, or is an administrator."""
    if not await owns_submission(db, caller, submission):
        raise Forbidden(
            f"{submission.repository.name} belongs to someone else. Sign in as its owner, or ask an operator.",
            code="not_owner",
        )


async def owns_submission(db: AsyncConnection, caller: Caller, submission: Submission) -> bool:
    return await _owns(db, caller, submission.repository.name)


async def has_chosen_name(db: AsyncConnection, submission: Submission) -> bool:
    """Return whether the name was chosen by an administrator, or by the owner: who uploads, or who owns the repository
    now and sent the submission.
    """
    if submission.is_name_chosen or submission.repository.name.host is Host.UPLOAD:
        return True
    account = await find_account(db, UUID(submission.submitter)) if submission.submitter else None
    return account is not None and await owns_repository(db, account, submission.repository.name)


async def owned_namespaces(db: AsyncConnection, account: Account) -> list[Namespace]:
    """Return the namespaces for which the account may act, by name."""
    return [] if account.is_disabled else await list_owned(db, account)


async def require_namespace(db: AsyncConnection, caller: Caller, name: str) -> Namespace:
    """Return the namespace, whose owners cannot change before the transaction ends.

    Raises Forbidden unless the caller owns it or is an administrator; there is no difference between a namespace that
    does not exist and one that belongs to another owner.
    """
    # PostgreSQL rejects NUL characters.
    found = await find_namespace(db, name.lower(), lock=True) if "\x00" not in name else None
    if found is None or not (caller.is_admin or await _owns_namespace(db, caller, found)):
        raise Forbidden(f"You do not own the namespace {name!r}.", code="not_owner")
    _require_coverage(caller, found.name)
    return found


async def owns_repository(db: AsyncConnection, account: Account, repository: RepositoryName) -> bool:
    """Return whether the account owns the repository, or has claimed it or its namespace."""
    name, collection = repository.owner.lower(), repository.name.lower()
    if account.is_disabled:
        return False
    if await has_claim(db, account.id, name, collection):
        return True
    match repository.host:
        case Host.GITHUB:
            # The owner as of the last fetch: the login may have passed to another person.
            return account.github_id is not None and await find_owner_id(db, repository) == account.github_id
        case Host.UPLOAD:
            found = await find_namespace(db, name)
            return found is not None and _is_owner(account, found)
        case Host.GIT:
            return False


async def _owns(db: AsyncConnection, caller: Caller, repository: RepositoryName) -> bool:
    if not caller.covers(repository.owner.lower()):
        return False
    if caller.is_admin:
        return True
    account = await _account(db, caller)
    return account is not None and await owns_repository(db, account, repository)


async def _owns_namespace(db: AsyncConnection, caller: Caller, owned: Namespace) -> bool:
    account = await _account(db, caller)
    if account is None:
        return False
    return _is_owner(account, owned) or await has_claim(db, account.id, owned.name, None)


def _is_owner(account: Account, owned: Namespace) -> bool:
    if owned.kind is NamespaceKind.GITHUB:
        return account.github_id is not None and account.github_id == owned.github_id
    return owned.account_id == account.id


def _require_coverage(caller: Caller, name: str) -> None:
    if not caller.covers(name):
        raise Forbidden(f"This token is not valid for the namespace {name}.", code="token_limited")


async def _account(db: AsyncConnection, caller: Caller) -> Account | None:
    """Return the enabled account of the caller, if any."""
    if caller.account_id is None:
        return None
    account = await find_account(db, caller.account_id)
    return None if account is None or account.is_disabled else account


def _not_owner(listing: Skill) -> Forbidden:
    return Forbidden(
        f"{listing.name} belongs to {namespace_of(listing.name)}. Sign in as its owner, or ask an operator.",
        code="not_owner",
    )
