"""Whose a listing is: its repository's owner, who is known by the login at the same host, or whoever submitted it."""

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.account import Account, Caller
from assay.model.errors import Forbidden
from assay.model.repository import Host, RepositoryName
from assay.model.skill import Skill
from assay.model.submission import Submission
from assay.store.accounts import find_account
from assay.store.listings import is_submitter


async def must_own(db: AsyncConnection, caller: Caller, listing: Skill) -> None:
    """Raises Forbidden unless the caller is an administrator, the owner of the repository, or who submitted it."""
    if not await owns(db, caller, listing):
        raise Forbidden(
            f"{listing.name} is {listing.repository.owner}'s: sign in as its owner, or ask an operator.",
            code="not_owner",
        )


async def must_own_submission(db: AsyncConnection, caller: Caller, submission: Submission) -> None:
    """Raises Forbidden unless the caller is an administrator, the owner of the repository, or who submitted it."""
    if not await owns_submission(db, caller, submission):
        raise Forbidden("This submission is somebody else's: sign in as who submitted it.", code="not_owner")


async def owns_submission(db: AsyncConnection, caller: Caller, submission: Submission) -> bool:
    """Whether the caller may speak for a submission."""
    if caller.is_admin:
        return True
    account = await _account(db, caller)
    if account is None:
        return False
    return _is_owner(account, submission.repository.name) or submission.submitter == str(account.id)


async def owns(db: AsyncConnection, caller: Caller, listing: Skill) -> bool:
    """Whether the caller may change a listing."""
    if caller.is_admin:
        return True
    account = await _account(db, caller)
    if account is None:
        return False
    return _is_owner(account, listing.repository) or await is_submitter(db, listing.id, str(account.id))


async def _account(db: AsyncConnection, caller: Caller) -> Account | None:
    """The account of the caller, unless it is disabled."""
    account = await find_account(db, caller.account_id) if caller.account_id else None
    return None if account is None or account.is_disabled else account


def _is_owner(account: Account, repository: RepositoryName) -> bool:
    """A login counts only if GitHub has vouched for it."""
    is_namesake = account.login.lower() == repository.owner.lower()
    return is_namesake and account.github_id is not None and repository.host is Host.GITHUB
