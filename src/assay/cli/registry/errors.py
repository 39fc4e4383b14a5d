"""From a refusal over HTTP to the error that it means."""

import json
import math
from contextlib import suppress
from typing import Any

import aiohttp

from assay.model.errors import (
    AssayError,
    Conflict,
    Forbidden,
    Gone,
    Invalid,
    NoSkill,
    NotFound,
    Throttled,
    Unauthenticated,
    Unavailable,
)

Json = dict[str, Any]
LARGEST_ANSWER_BYTES = 64 * 1024 * 1024
KINDS: dict[int, type[AssayError]] = {
    400: Invalid,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    410: Gone,
    413: Invalid,
    415: Invalid,
    422: NoSkill,
}


class NoAnswer(Unavailable):
    """No registry answers at the address."""

    code = "no_answer"


async def read_refusal(answer: aiohttp.ClientResponse, base_url: str) -> AssayError:
    """Status, `Retry-After` and problem body as an error."""
    if 300 <= answer.status < 400:
        elsewhere = answer.headers.get("Location", "another address")
        return NoAnswer(f"{base_url} sends you on to {elsewhere}: give that address.")
    if answer.status == 401:
        return Unauthenticated(f"{base_url} does not accept this key: set ASSAY_INTERNAL_KEY to its own.")
    problem = await _read_problem(answer)
    if problem is None:
        return stranger(base_url)
    detail, code = problem
    if kind := KINDS.get(answer.status):
        return kind(detail, code=code)
    seconds = _retry_after_seconds(answer)
    if answer.status == 429:
        return Throttled(detail, retry_after_seconds=seconds, code=code)
    return Unavailable(detail, retry_after_seconds=seconds, code=code)


async def read_object(answer: aiohttp.ClientResponse) -> Json:
    """The JSON object of an answer; ValueError if it is something else, or without end."""
    content = bytearray()
    async for chunk in answer.content.iter_any():
        content += chunk
        if len(content) > LARGEST_ANSWER_BYTES:
            raise ValueError("too large for an answer of a registry")
    read = json.loads(content)
    if not isinstance(read, dict):
        raise ValueError("not an object")
    return read


def stranger(base_url: str) -> NoAnswer:
    """Something answers, but not as a registry does."""
    return NoAnswer(f"What answers at {base_url} is not a healthy Assay.", retry_after_seconds=math.inf)


async def _read_problem(answer: aiohttp.ClientResponse) -> tuple[str, str] | None:
    """Detail and code; None if the body has none."""
    with suppress(ValueError, KeyError):
        problem = await read_object(answer)
        return str(problem["detail"]), str(problem["code"])
    return None


def _retry_after_seconds(answer: aiohttp.ClientResponse) -> float:
    given = answer.headers.get("Retry-After", "")
    return float(given) if given.isascii() and given.isdigit() else math.inf
