"""The blocklist while the database is down. Clients check it before installing, so unknown must not look like clean."""

from typing import Any

from litestar import Response

from assay.model.blocklist import BlocklistTarget
from assay.model.skill import repository_key, slug_of
from assay.serve.operations.edge_copy import EdgeOrigin
from assay.web.http.degraded import DegradedMark, DegradedRequest
from assay.web.moderation.json import present_entry
from assay.web.moderation.query import BlocklistCheckParameters


async def blocklist(request: DegradedRequest) -> Response[dict[str, Any]]:
    """Return the blocklist of the edge copy; the serial of its last change is unknown."""
    entries = await request.assay.copy.blocklist()
    mark = await _mark(request)
    views = [present_entry(entry, request.assay.settings.github_web_url) for entry in entries]
    return mark.json({"entries": views, "count": len(views), "lastUpdated": mark.as_of, "serial": 0})


async def check(request: DegradedRequest) -> Response[dict[str, Any]]:
    """Check the blocklist of the edge copy. It has no refusals, so `rejected` is null instead of false."""
    params = request.parameters(BlocklistCheckParameters)
    name, repository = params.name, params.repository(request.assay.settings)
    key = repository_key(repository) if repository else None
    if key is None and name and name.count("/") == 2:
        key = name.lower().rpartition("/")[0]
    target = BlocklistTarget(params.digest, key, slug_of(name.rpartition("/")[2]) if name else None)
    entry = next((each for each in await request.assay.copy.blocklist() if each.target.applies_to(target)), None)
    body = {
        "blocked": entry is not None,
        "entry": present_entry(entry, request.assay.settings.github_web_url) if entry else None,
        "rejected": None,
        "rejection": None,
        "tainted": False,
        "taintReason": None,
    }
    return (await _mark(request, "name", "repoUrl", "digest")).json(body)


async def _mark(request: DegradedRequest, *heeded: str) -> DegradedMark:
    return DegradedMark(EdgeOrigin.ENUMERATION, await request.assay.copy.as_of(), request.ignored(*heeded))
