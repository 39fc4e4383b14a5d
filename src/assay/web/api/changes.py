"""The change feed and the keys that prove what was said."""

from typing import Annotated

from litestar import get
from litestar.params import QueryParameter

from assay.serve.changes import follow_changes
from assay.store.keys import list_keys
from assay.web.access import PUBLIC
from assay.web.api.problems import problems
from assay.web.api.views import ChangesView, ChangeView, KeysView, KeyView
from assay.web.given import Assay


@get("/api/v1/changes", summary="Follow every change", tags=["changes"], opt=PUBLIC, responses=problems(400, 503))
async def changes(
    assay: Assay,
    since: Annotated[int, QueryParameter(ge=0, le=2**62, description="The last serial you have.")] = 0,
    limit: Annotated[int, QueryParameter(ge=1, le=1000)] = 100,
) -> ChangesView:
    """Serials only grow, and a change that commits late is never skipped."""
    page = await follow_changes(assay.store, since=since, limit=limit)
    return ChangesView(
        changes=[
            ChangeView(
                serial=each.serial,
                kind=each.kind,
                skill_id=each.skill_id,
                data=dict(each.data),
                created_at=each.created_at,
            )
            for each in page.changes
        ],
        next_since=page.next_since,
    )


@get(
    "/.well-known/assay/keys.json",
    summary="Public keys of hallmarks",
    tags=["changes"],
    opt=PUBLIC,
    responses=problems(400, 503),
)
async def keys(assay: Assay) -> KeysView:
    """Whoever has these can check any hallmark offline."""
    async with assay.store.begin() as db:
        known = await list_keys(db)
    return KeysView(keys=[KeyView(id=key, public_key=pem, created_at=since) for key, pem, since in known])
