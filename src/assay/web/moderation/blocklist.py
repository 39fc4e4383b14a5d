"""The blocklist: read it, follow it, ask about one skill."""

from typing import Annotated

from litestar import Router, get
from litestar.params import QueryParameter

from assay.model.errors import Invalid
from assay.model.submission import Submission
from assay.serve.moderation.blocklist import check_skill, last_updated, read_blocklist, read_blocklist_changes
from assay.store.feed.changes import number_changes
from assay.submit.validate import parse_repository_url
from assay.web.http.access import PUBLIC
from assay.web.http.dependencies import Assay
from assay.web.http.present import repository_url
from assay.web.http.problems import problems
from assay.web.http.signing import SIGNED
from assay.web.moderation.blocklist_json import (
    BlocklistChangesView,
    BlocklistChangeView,
    BlocklistView,
    CheckedView,
    RefusalView,
    present_entry,
)


@get("/", summary="Everything that is blocked", opt=SIGNED, responses=problems(400, 503))
async def blocklist(assay: Assay) -> BlocklistView:
    """The whole list, signed, with an ETag: ask again with `If-None-Match`, or follow its changes from `serial`."""
    async with assay.store.begin() as db:
        await number_changes(db)
    async with assay.store.snapshot() as db:
        found = await read_blocklist(db)
    return BlocklistView(
        entries=[present_entry(entry, assay.settings.github_web_url) for entry in found.entries],
        count=len(found.entries),
        last_updated=last_updated(found),
        serial=found.last.serial if found.last else 0,
    )


@get("/changes", summary="What changed in the blocklist", opt=SIGNED, responses=problems(400, 503))
async def blocklist_changes(
    assay: Assay,
    since: Annotated[int, QueryParameter(ge=0, le=2**62, description="The last serial you have.")] = 0,
    limit: Annotated[int, QueryParameter(ge=1, le=1000)] = 1000,
) -> BlocklistChangesView:
    """Entries that were added (`block`) and lifted (`unblock`), signed."""
    async with assay.store.begin() as db:
        await number_changes(db)
    async with assay.store.snapshot() as db:
        found = await read_blocklist_changes(db, since, limit)
    changes = [
        BlocklistChangeView(serial=each.serial, kind=each.kind, data=dict(each.data), created_at=each.created_at)
        for each in found
    ]
    return BlocklistChangesView(changes=changes, next_since=changes[-1].serial if changes else since)


@get("/check", summary="Whether a skill is blocked or was refused", responses=problems(400, 503))
async def blocklist_check(
    assay: Assay,
    name: Annotated[
        str | None, QueryParameter(max_length=300, description="The skill, alone or as `owner/repo/skill`.")
    ] = None,
    repo_url: Annotated[str | None, QueryParameter(name="repoUrl", max_length=500)] = None,
    digest: Annotated[str | None, QueryParameter(pattern="^sha256:[0-9a-f]{64}$")] = None,
) -> CheckedView:
    """By any of what is known of it; the more is given, the more can be found."""
    if name is None and repo_url is None and digest is None:
        raise Invalid("Give at least one of name, repoUrl and digest.", code="nothing_to_check")
    web_url = assay.settings.github_web_url
    repository = parse_repository_url(repo_url, web_url, assay.settings.git_hosts)[0] if repo_url else None
    async with assay.store.snapshot() as db:
        found = await check_skill(db, name=name, repository=repository, digest=digest)
    return CheckedView(
        blocked=found.entry is not None,
        entry=present_entry(found.entry, web_url) if found.entry else None,
        rejected=found.refused is not None,
        rejection=_present_refusal(found.refused, web_url) if found.refused else None,
        tainted=False,
        taint_reason=None,
    )


def _present_refusal(refused: Submission, web_url: str) -> RefusalView:
    return RefusalView(
        skill_name=refused.skill_name,
        state=refused.state,
        reason=refused.reason.message if refused.reason else None,
        score=refused.score,
        rejected_at=refused.decided_at,
        repo_url=repository_url(refused.repository.name, web_url),
    )


router = Router(
    "/api/v1/blocklist",
    tags=["blocklist"],
    opt=PUBLIC,
    route_handlers=[blocklist, blocklist_changes, blocklist_check],
)
