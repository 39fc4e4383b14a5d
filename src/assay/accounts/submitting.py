"""Decides who may submit repositories."""

from assay.model.account import Caller, Role, SubmitPolicy
from assay.model.errors import Forbidden, Unauthenticated


def require_may_submit(caller: Caller, policy: SubmitPolicy) -> None:
    """Raise Unauthenticated or Forbidden unless the policy of the registry lets the caller submit."""
    if policy is SubmitPolicy.ANYONE or caller.is_admin:
        return
    if not caller.is_signed_in:
        raise Unauthenticated("This registry accepts submissions only from signed-in accounts.", code="account_needed")
    if policy is SubmitPolicy.MEMBERS and not caller.role.includes(Role.MEMBER):
        raise Forbidden(
            "This registry accepts submissions only from its members. Ask its operator for the role MEMBER.",
            code="members_only",
        )
