"""Decides in which namespace a caller may upload."""

from datetime import datetime

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.accounts.name_policy import check_upload_name
from assay.accounts.names.popular import PopularNamesCache
from assay.accounts.permissions import require_namespace
from assay.model.account import Caller
from assay.model.errors import Forbidden
from assay.model.namespace import OPERATOR_NAMESPACE, UPLOADS_COLLECTION, Namespace
from assay.model.skill import slug_of
from assay.store.people.accounts import find_account
from assay.store.skills.skills import find_skill


async def upload_namespace(db: AsyncConnection, caller: Caller, requested: str | None) -> Namespace:
    """Return the requested namespace, or the caller's own; its owners cannot change before the transaction ends.

    Raises Forbidden unless the caller may upload there. The internal key, and administrators without a handle, upload
    to the namespace of the operator.
    """
    return await require_namespace(db, caller, requested or await _own_namespace(db, caller))


async def check_new_name(
    db: AsyncConnection, namespace: str, skill_name: str, names: PopularNamesCache, now: datetime
) -> None:
    """Raise Invalid or Conflict if a skill that is not listed yet may not have this name."""
    slug = slug_of(skill_name)
    if await find_skill(db, f"{namespace}/{UPLOADS_COLLECTION}/{slug}") is None:
        check_upload_name(namespace, slug, await names.read(db, now))


async def _own_namespace(db: AsyncConnection, caller: Caller) -> str:
    account = await find_account(db, caller.account_id) if caller.account_id else None
    if account is not None and account.handle is not None:
        return account.handle
    if caller.is_admin:
        return OPERATOR_NAMESPACE
    raise Forbidden(
        "Your account has no handle, so there is no namespace for your uploads. Choose one with "
        "PUT /api/v1/account/handle.",
        code="no_handle",
    )
