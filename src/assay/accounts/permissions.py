"""Whose a listing is: its repository's owner, who is known by the login at the same host; an upload, its uploader's.

Who submitted somebody else's repository may have it looked at again, which takes nothing from anybody.
"""

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.account import Account, Caller
from assay.model.errors import Forbidden
from assay.model.repository import Host, RepositoryName
from assay.model.skill import Skill
from assay.model.submission import Submission
from assay.store.people.accounts import find_account
from assay.store.versions.status import is_submitter


async def must_own(db: AsyncConnection, caller: Caller, listing: Skill) -> None:
    """Raises Forbidden unless the caller is an administrator or its owner."""
    if not await owns_listing(db, caller, listing):
        raise _not_owner(listing)


async def owns_listing(db: AsyncConnection, caller: Caller, listing: Skill) -> bool:
    """Whether the caller is an administrator or its owner."""
    account = await _account(db, caller)
    return caller.is_admin or (account is not None and await _owns(db, account, listing))


async def must_own_or_have_submitted(db: AsyncConnection, caller: Caller, listing: Skill) -> None:
    """Raises Forbidden unless the caller is an administrator, its owner, or who submitted it."""
    if not await may_ask_for(db, caller, listing):
        raise _not_owner(listing)


async def must_own_submission(db: AsyncConnection, caller: Caller, submission: Submission) -> None:
    """Raises Forbidden unless the caller is an administrator, the owner of the repository, or who submitted it."""
    if not await owns_submission(db, caller, submission):
        raise Forbidden("This submission is somebody else's: sign in as who submitted it.", code="not_owner")


async def owns_submission(db: AsyncConnection, caller: Caller, submission: Submission) -> bool:
    """Whether the caller may speak for a submission."""
    account = await _account(db, caller)
    if caller.is_admin or account is None:
        return caller.is_admin
    return _is_owner(account, submission.repository.name) or submission.submitter == str(account.id)


async def may_ask_for(db: AsyncConnection, caller: Caller, listing: Skill) -> bool:
    """Whether the caller is an administrator, its owner, or who submitted it."""
    account = await _account(db, caller)
    if caller.is_admin or account is None:
        return caller.is_admin
    return _is_owner(account, listing.repository) or await is_submitter(db, listing.id, str(account.id))


async def _account(db: AsyncConnection, caller: Caller) -> Account | None:
    """The account of the caller, if it may be used."""
    if caller.is_admin or caller.account_id is None:
        return None
    account = await find_account(db, caller.account_id)
    return None if account is None or account.is_disabled else account


async def _owns(db: AsyncConnection, account: Account, listing: Skill) -> bool:
    """What was uploaded is of no repository."""
    if listing.repository.host is Host.UPLOAD:
        return await is_submitter(db, listing.id, str(account.id))
    return _is_owner(account, listing.repository)


def owner_names(account: Account) -> tuple[str, ...]:
    """The owners at GitHub whose listings are this account's: a login counts only if GitHub has vouched for it."""
    return () if account.github_id is None else (account.login,)


def _is_owner(account: Account, repository: RepositoryName) -> bool:
    """A login counts only at GitHub."""
    is_namesake = repository.owner.lower() in (name.lower() for name in owner_names(account))
    return is_namesake and repository.host is Host.GITHUB


def _not_owner(listing: Skill) -> Forbidden:
    return Forbidden(
        f"{listing.name} is {listing.repository.owner}'s: sign in as its owner, or ask an operator.", code="not_owner"
    )
