"""Whose a listing is: its repository's owner, who is known by the login at the same host, or whoever submitted it."""

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.account import Caller
from assay.model.errors import Forbidden
from assay.model.repository import Host
from assay.model.skill import Skill
from assay.store.accounts import find_account
from assay.store.listings import is_submitter


async def must_own(db: AsyncConnection, caller: Caller, listing: Skill) -> None:
    """Raises Forbidden unless the caller is an administrator, the owner of the repository, or who submitted it."""
    if not await owns(db, caller, listing):
        raise Forbidden(
            f"{listing.name} is {listing.repository.owner}'s: sign in as its owner, or ask an operator.",
            code="not_owner",
        )


async def owns(db: AsyncConnection, caller: Caller, listing: Skill) -> bool:
    """Whether the caller may change a listing. A login counts only if GitHub has vouched for it."""
    if caller.is_admin:
        return True
    if caller.account_id is None:
        return False
    account = await find_account(db, caller.account_id)
    if account is None or account.is_disabled:
        return False
    is_namesake = account.login.lower() == listing.repository.owner.lower()
    if is_namesake and account.github_id is not None and listing.repository.host is Host.GITHUB:
        return True
    return await is_submitter(db, listing.id, str(account.id))
