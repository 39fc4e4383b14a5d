"""Whose a listing is: its repository's owner, who is known by the login at the same host; an upload, its uploader's.

Who submitted somebody else's repository may have it looked at again, which takes nothing from anybody.
"""

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.model.account import Account, Caller
from assay.model.errors import Forbidden
from assay.model.repository import Host
from assay.model.skill import Skill
from assay.store.accounts import find_account
from assay.store.listings import is_submitter


async def must_own(db: AsyncConnection, caller: Caller, listing: Skill) -> None:
    """Raises Forbidden unless the caller is an administrator or its owner."""
    account = await _account(db, caller)
    if not (caller.is_admin or (account and await _owns(db, account, listing))):
        raise _not_owner(listing)


async def must_own_or_have_submitted(db: AsyncConnection, caller: Caller, listing: Skill) -> None:
    """Raises Forbidden unless the caller is an administrator, its owner, or who submitted it."""
    account = await _account(db, caller)
    if caller.is_admin or (account and await _owns(db, account, listing)):
        return
    if account is None or not await is_submitter(db, listing.id, str(account.id)):
        raise _not_owner(listing)


async def _account(db: AsyncConnection, caller: Caller) -> Account | None:
    """The account of the caller, if it may be used."""
    if caller.is_admin or caller.account_id is None:
        return None
    account = await find_account(db, caller.account_id)
    return None if account is None or account.is_disabled else account


async def _owns(db: AsyncConnection, account: Account, listing: Skill) -> bool:
    """A login counts only if GitHub has vouched for it; what was uploaded is of no repository."""
    if listing.repository.host is Host.UPLOAD:
        return await is_submitter(db, listing.id, str(account.id))
    return account.github_id is not None and account.login.lower() == listing.repository.owner.lower()


def _not_owner(listing: Skill) -> Forbidden:
    return Forbidden(
        f"{listing.name} is {listing.repository.owner}'s: sign in as its owner, or ask an operator.", code="not_owner"
    )
