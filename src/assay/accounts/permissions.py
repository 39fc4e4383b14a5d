"""Decides who may change a listing or a submission.

The owner of a listing is the account whose GitHub login owns its repository, or the account that uploaded it.
Submitting another owner's repository only gives the right to request a rescan. Administrators may change everything.
"""

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.account import Account, Caller
from assay.model.errors import Forbidden
from assay.model.repository import Host, RepositoryName
from assay.model.skill import Skill
from assay.model.submission import Submission
from assay.store.people.accounts import find_account
from assay.store.submissions.submissions import is_submitter


async def require_owner(db: AsyncConnection, caller: Caller, listing: Skill) -> None:
    """Raise Forbidden unless the caller owns the listing or is an administrator."""
    if not await owns_listing(db, caller, listing):
        raise _not_owner(listing)


async def owns_listing(db: AsyncConnection, caller: Caller, listing: Skill) -> bool:
    account = await _account(db, caller)
    return caller.is_admin or (account is not None and await _owns(db, account, listing))


async def require_owner_or_submitter(db: AsyncConnection, caller: Caller, listing: Skill) -> None:
    """Raise Forbidden unless the caller owns or submitted the listing, or is an administrator."""
    if not await is_owner_or_submitter(db, caller, listing):
        raise _not_owner(listing)


async def require_submission_owner(db: AsyncConnection, caller: Caller, submission: Submission) -> None:
    """Raise Forbidden unless the caller owns the repository, sent the submission, or is an administrator."""
    if not await owns_submission(db, caller, submission):
        raise Forbidden(
            "This submission belongs to another account. Sign in with the account that submitted it.", code="not_owner"
        )


async def owns_submission(db: AsyncConnection, caller: Caller, submission: Submission) -> bool:
    account = await _account(db, caller)
    if caller.is_admin or account is None:
        return caller.is_admin
    return _is_owner(account, submission.repository.name) or submission.submitter == str(account.id)


async def is_owner_or_submitter(db: AsyncConnection, caller: Caller, listing: Skill) -> bool:
    account = await _account(db, caller)
    if caller.is_admin or account is None:
        return caller.is_admin
    return _is_owner(account, listing.repository) or await is_submitter(db, listing.id, str(account.id))


async def _account(db: AsyncConnection, caller: Caller) -> Account | None:
    """Return the enabled account of the caller; None for administrators, who need none."""
    if caller.is_admin or caller.account_id is None:
        return None
    account = await find_account(db, caller.account_id)
    return None if account is None or account.is_disabled else account


async def _owns(db: AsyncConnection, account: Account, listing: Skill) -> bool:
    if listing.repository.host is Host.UPLOAD:
        return await is_submitter(db, listing.id, str(account.id))
    return _is_owner(account, listing.repository)


def owner_names(account: Account) -> tuple[str, ...]:
    """Return the GitHub owners whose listings belong to this account; only logins that GitHub has confirmed count."""
    return () if account.github_id is None else (account.login,)


def _is_owner(account: Account, repository: RepositoryName) -> bool:
    is_namesake = repository.owner.lower() in (name.lower() for name in owner_names(account))
    return is_namesake and repository.host is Host.GITHUB


def _not_owner(listing: Skill) -> Forbidden:
    return Forbidden(
        f"{listing.name} belongs to {listing.repository.owner}. Sign in as its owner, or ask an operator.",
        code="not_owner",
    )
