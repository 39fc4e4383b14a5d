"""Responses, and the common error responses of GitHub."""

import hashlib
import json
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

Header = tuple[bytes, bytes]

DOCS = "https://docs.github.com/rest"
JSON_TYPE: Header = (b"content-type", b"application/json; charset=utf-8")
TEXT_TYPE: Header = (b"content-type", b"text/plain; charset=utf-8")
SHA_TYPE: Header = (b"content-type", b"application/vnd.github.sha; charset=utf-8")
HTML_TYPE: Header = (b"content-type", b"text/html; charset=utf-8")


@dataclass(frozen=True, slots=True)
class Answer:
    """Status, headers and body; rate limit headers are added per call."""

    status: int
    body: bytes = b""
    headers: tuple[Header, ...] = ()
    digest: bytes = b""
    """Digest of the body, if the response supports conditional requests."""
    plain_etag: bytes = b""
    """An ETag that is meaningful and equal for all tokens."""
    streamed: bool = False
    """Sent in chunks without Content-Length."""
    hang_up_after_bytes: int | None = None
    """Close the connection after this many bytes of the body."""


class Handled(NamedTuple):
    """A response with its route, and whether it was charged to a rate limit."""

    route: str
    answer: Answer
    headers: tuple[Header, ...] = ()
    charged: bool = False


def json_answer(status: int, value: object, *headers: Header, conditional: bool = False) -> Answer:
    """Build a JSON response; a conditional one carries an ETag."""
    body = json.dumps(value, separators=(",", ":")).encode()
    digest = hashlib.sha256(body).digest() if conditional else b""
    return Answer(status, body, (JSON_TYPE, *headers), digest)


def problem(status: int, message: str, docs: str = DOCS, **details: object) -> Answer:
    """Build an error response of the REST API."""
    return json_answer(status, {"message": message, **details, "documentation_url": docs, "status": str(status)})


def text_answer(status: int, text: str, *headers: Header) -> Answer:
    """Build a plain text response, as raw and codeload send for errors."""
    return Answer(status, text.encode(), (TEXT_TYPE, *headers))


def api_redirect(location: str) -> Answer:
    """Build the redirect of a renamed repository, by its id."""
    value = {
        "message": "Moved Permanently",
        "url": location,
        "documentation_url": f"{DOCS}/guides/best-practices-for-using-the-rest-api#follow-redirects",
    }
    return json_answer(301, value, (b"location", location.encode()))


@lru_cache(maxsize=10_000)
def etag_of(digest: bytes, token: str | None) -> bytes:
    """Return the opaque part of an ETag; GitHub's differ between tokens."""
    return hashlib.sha256(digest + (token or "").encode()).hexdigest().encode()


NO_ANSWER = Answer(status=0)
"""The connection is closed without a response."""
NOT_FOUND = problem(404, "Not Found")
EMPTY_REPOSITORY = problem(409, "Git Repository is empty.")
BAD_CREDENTIALS = problem(401, "Bad credentials")
BLOCKED = json_answer(
    451,
    {
        "message": "Repository access blocked",
        "block": {
            "reason": "dmca",
            "created_at": "2026-01-01T00:00:00Z",
            "html_url": "https://github.com/github/dmca/blob/master/2026/01/2026-01-01-example.md",
        },
    },
)
NO_USER_AGENT = text_answer(
    403,
    "Request forbidden by administrative rules. Please make sure your request has a User-Agent header.",
)
TEXT_NOT_FOUND = text_answer(404, "404: Not Found")
TEXT_BLOCKED = text_answer(451, "Repository access blocked")
