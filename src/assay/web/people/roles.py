"""`/api/v1/admin/accounts`: accounts with roles, and their change."""

from typing import Annotated
from uuid import UUID

from litestar import Router, get, put
from litestar.params import FromPath, JSONBody, QueryParameter
from litestar.status_codes import HTTP_200_OK

from assay.accounts.admins import change_role
from assay.model.errors import Conflict, NotFound
from assay.store.people.accounts import find_accounts, page_accounts_with_roles
from assay.web.http.access import ADMIN
from assay.web.http.context import Assay, CalledBy
from assay.web.http.errors import problems
from assay.web.http.json import LARGEST_REQUEST_BYTES
from assay.web.people.json import AccountsView, AccountWithRoleView, RoleBody, present_account

PAGE = 100
Login = Annotated[str | None, QueryParameter(min_length=1, max_length=64, description="Only accounts with this login.")]
Cursor = Annotated[UUID | None, QueryParameter(description="The `nextCursor` of the previous page.")]


@get("/", summary="List accounts with roles", responses=problems(400, 401, 403, 503))
async def list_accounts(assay: Assay, login: Login = None, cursor: Cursor = None) -> AccountsView:
    """List the members, reviewers and administrators, oldest first; with `login`, all accounts that have it."""
    async with assay.store.snapshot() as db:
        if login is not None:
            found = [] if "\x00" in login else await find_accounts(db, login)
            return AccountsView(accounts=[present_account(each) for each in found], next_cursor=None)
        page = await page_accounts_with_roles(db, cursor, PAGE + 1)
    next_cursor = page[PAGE - 1].id if len(page) > PAGE else None
    return AccountsView(accounts=[present_account(each) for each in page[:PAGE]], next_cursor=next_cursor)


@put(
    "/{account:str}/role",
    summary="Set the role of an account",
    status_code=HTTP_200_OK,
    responses=problems(400, 401, 403, 404, 409, 413, 415, 503),
    request_max_body_size=LARGEST_REQUEST_BYTES,
)
async def set_account_role(
    assay: Assay, caller: CalledBy, account: FromPath[str], data: JSONBody[RoleBody]
) -> AccountWithRoleView:
    """Set the role of an account, given by its login or its id. It applies from the next request of the account.

    Administrators who sign in with GitHub are listed in `ASSAY_ADMIN_LOGINS`. You cannot change your own role.
    """
    if "\x00" in account:  # PostgreSQL refuses NUL characters with an error
        raise NotFound("There is no such account.", code="account_not_found")
    async with assay.store.begin() as db:
        changed = await change_role(db, account, data.role, assay.settings.admin_logins, caller.name)
        if changed.id == caller.account_id:
            raise Conflict("You cannot change your own role. Ask another administrator.", code="own_role")
    return present_account(changed)


router = Router("/api/v1/admin/accounts", tags=["admin"], opt=ADMIN, route_handlers=[list_accounts, set_account_role])
