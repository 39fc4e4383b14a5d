"""The blocklist while the database is away: a client that asks before it installs must not be told that all is well."""

from typing import Any

from litestar import Response

from assay.model.blocklist import Target
from assay.model.errors import Invalid
from assay.model.naming import repository_key, slug_of
from assay.serve.operations.edge_copy import Origin
from assay.submit.validate import parse_repository_url
from assay.web.http.degraded_mark import Mark
from assay.web.http.degraded_request import Asked
from assay.web.moderation.blocklist_json import present_entry


async def blocklist(asked: Asked) -> Response[dict[str, Any]]:
    """`GET /api/v1/blocklist`. Where its changes go on is not known."""
    entries = await asked.assay.copy.blocklist()
    mark = await _mark(asked)
    shown = [present_entry(entry, asked.assay.settings.github_web_url) for entry in entries]
    return mark.json({"entries": shown, "count": len(shown), "lastUpdated": mark.as_of, "serial": 0})


async def check(asked: Asked) -> Response[dict[str, Any]]:
    """`GET /api/v1/blocklist/check`. What was refused is not in the copy: that is unknown, which is not "no"."""
    web_url = asked.assay.settings.github_web_url
    name, url, digest = asked.text("name"), asked.text("repoUrl"), asked.text("digest")
    if name is None and url is None and digest is None:
        raise Invalid("Give at least one of name, repoUrl and digest.", code="nothing_to_check")
    repository = repository_key(parse_repository_url(url, web_url, asked.assay.settings.git_hosts)[0]) if url else None
    if repository is None and name and name.count("/") == 2:
        repository = name.lower().rpartition("/")[0]
    about = Target(digest, repository, slug_of(name.rpartition("/")[2]) if name else None)
    entry = next((each for each in await asked.assay.copy.blocklist() if each.target.is_about(about)), None)
    body = {
        "blocked": entry is not None,
        "entry": present_entry(entry, web_url) if entry else None,
        "rejected": None,
        "rejection": None,
        "tainted": False,
        "taintReason": None,
    }
    return (await _mark(asked)).json(body)


async def _mark(asked: Asked) -> Mark:
    return Mark(Origin.ENUMERATION, await asked.assay.copy.as_of(), asked.ignored)
