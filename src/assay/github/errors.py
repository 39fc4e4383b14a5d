"""From a status of GitHub's to the error that it is: only a plain no is a no, everything else is unknown."""

import re

import aiohttp

from assay.model.errors import NotFound, Refused, Unavailable

REFUSED_SECONDS = 600


async def message_in(response: aiohttp.ClientResponse) -> str:
    """GitHub's own words, cut short."""
    body = (await response.content.read(4096)).decode(errors="replace")
    found = re.search(r'"message"\s*:\s*"([^"]{0,300})', body)
    return found.group(1) if found else f"status {response.status}"


def error_of(status: int, said: str, path: str) -> NotFound | Unavailable:
    """What this answer means, if it is neither a success nor a limit."""
    match status:
        case 404:
            return NotFound(f"GitHub has no {path}: deleted, private or never there.", code="source_not_found")
        case 410:
            return NotFound(f"GitHub says that {path} is gone for good.", code="source_gone")
        case 409 | 422:
            return NotFound(f"GitHub has nothing at {path}: {said}", code="source_empty")
        case 451:
            return NotFound(f"GitHub has taken {path} down for legal reasons.", code="source_taken_down")
        case 401:
            return Unavailable(f"GitHub refuses our token: {said}", code="github_bad_token")
        case 403:
            return Refused(
                f"GitHub does not let us read {path}: {said}",
                code="github_forbidden",
                retry_after_seconds=REFUSED_SECONDS,
            )
        case _:
            return Unavailable(f"GitHub answered {status}: {said}", code="github_unavailable")
