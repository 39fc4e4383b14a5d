"""A token of ours for one of GitHub's: how a command line signs a person in that has asked GitHub by itself."""

from typing import Any

from litestar import Request, Response, post
from litestar.params import JSONBody
from litestar.status_codes import HTTP_200_OK

from assay.accounts.login_throttle import count_sign_in
from assay.accounts.sign_in import know_by_github
from assay.accounts.tokens import exchange_token
from assay.web.http.access import PUBLIC
from assay.web.http.bearer import EXCHANGE_PATH
from assay.web.http.dependencies import Assay
from assay.web.http.headers import NEVER_KEEP
from assay.web.http.problems import problems
from assay.web.people.account_json import ExchangeBody, ExchangedView, present_exchanged
from assay.web.people.github import github_of
from assay.web.people.password import LARGEST_BYTES


@post(
    EXCHANGE_PATH,
    summary="Exchange a token of GitHub's",
    tags=["accounts"],
    opt=PUBLIC,
    status_code=HTTP_200_OK,
    responses=problems(400, 401, 403, 404, 409, 413, 415, 429, 503),
    request_max_body_size=LARGEST_BYTES,
)
async def exchange(
    assay: Assay, request: Request[Any, Any, Any], data: JSONBody[ExchangeBody]
) -> Response[ExchangedView]:
    """Only a token that GitHub has given to this registry's own app is taken, and it is not kept.

    One that another app was given would let that app come as each of its users.
    """
    github, now = github_of(assay), assay.clock.now()
    # Nobody has said a login: what comes from one address is counted together.
    await count_sign_in(assay.store, "", request.client.host if request.client else "", now)
    user = await github.recognise(data.github_token)
    async with assay.store.begin() as db:
        made = await exchange_token(db, await know_by_github(db, user, assay.settings.admin_logins), now)
    return Response(present_exchanged(made), headers={"Cache-Control": NEVER_KEEP})
