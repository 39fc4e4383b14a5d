"""The numbers of the catalogue while the database is away: what the copy can count. The rest is unknown: null."""

from typing import Any

from litestar import Response

from assay.serve.operations.edge_copy import Origin
from assay.web.http.degraded_mark import Mark
from assay.web.http.degraded_request import Asked

UNKNOWN = (
    "versions",
    "authors",
    "installs",
    "installs7d",
    "installs30d",
    "byCategory",
    "byTier",
    "submissions",
)


async def catalogue_stats(asked: Asked) -> Response[dict[str, Any]]:
    """`GET /api/v1/stats`. What nobody here has examined is not counted."""
    snapshot = await asked.assay.copy.snapshot()
    is_known = snapshot.origin is not Origin.STARTER
    repositories = {card.name.rpartition("/")[0] for card in snapshot.cards}
    body = {
        **dict.fromkeys(UNKNOWN),
        "skills": len(snapshot.cards) if is_known else None,
        "repositories": len(repositories) if is_known else None,
        "generatedAt": snapshot.as_of,
    }
    return Mark(snapshot.origin, snapshot.as_of, asked.ignored).json(body)
