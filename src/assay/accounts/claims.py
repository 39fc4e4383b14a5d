"""Claims on namespaces: proofs that an account may act for a namespace it does not own by its GitHub identity."""

from collections.abc import Mapping
from datetime import datetime
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncConnection

from assay.accounts.permissions import require_namespace
from assay.accounts.signed_claims import ClaimsSigner
from assay.github.oauth import OrganisationMembership
from assay.model.account import Account, Caller
from assay.model.errors import Conflict, Forbidden, Invalid, NotFound
from assay.model.ids import new_id
from assay.model.namespace import OPERATOR_NAMESPACE, ClaimMethod, Namespace, NamespaceClaim, NamespaceKind
from assay.model.repository import Host, RepositoryName
from assay.store.operations.audit import record_audit
from assay.store.people.namespaces import (
    add_claim,
    assign_owner,
    delete_unused,
    find_namespace,
    list_claims,
    lock_namespace,
    revoke_claim,
    take_github_name,
)

CHALLENGE_FOLDER = ".assay"


def challenge_path(signer: ClaimsSigner, account_id: UUID, repository: RepositoryName) -> str:
    """Return the path of the empty file with which an account proves that it can write to a repository."""
    proof = signer.derive(b"assay:namespace-challenge", f"{account_id} {' '.join(repository.key)}")
    return f"{CHALLENGE_FOLDER}/claim-{proof.replace('_', '').replace('-', '')[:32]}"


async def claim_organisation(
    db: AsyncConnection, account: Account, membership: OrganisationMembership, now: datetime
) -> Namespace:
    """Claim the namespace of a GitHub organisation for a member, as GitHub has just confirmed."""
    name = membership.login.lower()
    if not await take_github_name(db, name, membership.organisation_id):
        raise Conflict(f"The namespace {name} belongs to someone else here. Ask an operator.", code="namespace_taken")
    detail = {"role": membership.role, "organisation_id": membership.organisation_id}
    return await _claim(db, name, None, account, ClaimMethod.GITHUB_ORGANISATION, detail, by=account.login, now=now)


async def claim_repository(
    db: AsyncConnection, account: Account, repository: RepositoryName, proof: str, now: datetime
) -> Namespace:
    """Claim one repository by a challenge file; it proves control of that repository, not of its whole namespace."""
    if repository.host is Host.UPLOAD:
        raise Invalid("Uploads belong to the namespace that they are in.", code="not_a_repository")
    detail = {"path": proof, "repository": str(repository)}
    name, collection = repository.owner.lower(), repository.name.lower()
    return await _claim(db, name, collection, account, ClaimMethod.CHALLENGE, detail, by=account.login, now=now)


async def grant_claim(
    db: AsyncConnection, name: str, collection: str | None, account: Account, reason: str, *, by: str, now: datetime
) -> Namespace:
    """Let an administrator decide that an account may act for a namespace, or for one repository of it."""
    detail = {"reason": reason}
    return await _claim(db, name, collection, account, ClaimMethod.ADMIN, detail, by=by, now=now)


async def end_claim(db: AsyncConnection, caller: Caller, name: str, claim_id: UUID, now: datetime) -> None:
    """Revoke a claim: by its own account, by an owner of the namespace, or by an administrator."""
    claims = [claim for claim, _ in await list_claims(db, name) if claim.id == claim_id]
    if not claims:
        raise NotFound("There is no such claim.", code="claim_not_found")
    if caller.account_id is None or claims[0].account_id != caller.account_id:
        await require_namespace(db, caller, name)
    await lock_namespace(db, name)
    if await revoke_claim(db, name, claim_id, caller.name, now) is None:
        raise NotFound("There is no such claim.", code="claim_not_found")
    await record_audit(db, caller.name, "namespace_claim_revoked", name, {"claim": str(claim_id)})


async def reassign_namespace(db: AsyncConnection, name: str, owner: Account, reason: str, *, by: str) -> None:
    """Make an account the owner of a namespace, by an administrator's decision. Claims of others stay."""
    found = await _locked(db, name)
    kind = NamespaceKind.GITHUB if owner.github_id is not None else NamespaceKind.ACCOUNT
    await assign_owner(db, name, kind, owner)
    former = {"kind": found.kind.value, "github_id": found.github_id, "account_id": str(found.account_id or "")}
    detail = {"account_id": str(owner.id), "reason": reason, "former": former}
    await record_audit(db, by, "namespace_reassigned", name, detail)


async def free_namespace(db: AsyncConnection, name: str, reason: str, *, by: str) -> None:
    """Delete a namespace that nothing was ever published or submitted to, so that others can have its name."""
    await _locked(db, name)
    if not await delete_unused(db, name):
        raise Conflict(f"{name} has repositories or uploads. Reassign it instead.", code="namespace_in_use")
    await record_audit(db, by, "namespace_freed", name, {"reason": reason})


async def _locked(db: AsyncConnection, name: str) -> Namespace:
    found = await lock_namespace(db, name)
    if found is None:
        raise NotFound(f"There is no namespace {name}.", code="namespace_not_found")
    if found.name == OPERATOR_NAMESPACE:
        raise Forbidden("This is the namespace of the operator.", code="operator_namespace")
    return found


async def _claim(
    db: AsyncConnection,
    name: str,
    collection: str | None,
    account: Account,
    method: ClaimMethod,
    detail: Mapping[str, object],
    *,
    by: str,
    now: datetime,
) -> Namespace:
    owned = await _locked(db, name)
    claim = NamespaceClaim(new_id(), name, collection, account.id, method, detail, now, by)
    if await add_claim(db, claim):
        about = {**detail, "account_id": str(account.id), "method": method.value, "collection": collection}
        await record_audit(db, by, "namespace_claimed", name, about)
    return owned


async def get_namespace(db: AsyncConnection, name: str) -> Namespace:
    found = await find_namespace(db, name.lower()) if "\x00" not in name else None
    if found is None:
        raise NotFound(f"There is no namespace {name!r}.", code="namespace_not_found")
    return found
