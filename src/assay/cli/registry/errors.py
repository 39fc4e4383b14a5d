"""Conversion of HTTP error responses to the errors they mean."""

import json
import math
from contextlib import suppress
from typing import Any

import aiohttp

from assay.cli.registry.credentials import Credential
from assay.model.errors import (
    AssayError,
    Conflict,
    Forbidden,
    Gone,
    Invalid,
    NoSkill,
    NotFound,
    Throttled,
    Unavailable,
)

Json = dict[str, Any]
MAX_RESPONSE_BYTES = 64 * 1024 * 1024
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


class RegistryUnreachable(Unavailable):
    """No registry answers at the URL."""

    code = "no_answer"


async def read_refusal(response: aiohttp.ClientResponse, base_url: str, credential: Credential) -> AssayError:
    """Return the error for a response: from its status, `Retry-After`, problem document, and the credential sent."""
    if 300 <= response.status < 400:
        location = response.headers.get("Location", "another URL")
        return RegistryUnreachable(f"{base_url} redirects to {location}: use that URL instead.")
    problem = await _read_problem(response)
    if problem is None:
        return not_a_registry(base_url)
    detail, code = problem
    if response.status == 401:
        return credential.refused(base_url, detail)
    if kind := KINDS.get(response.status):
        return kind(detail, code=code)
    seconds = _retry_after_seconds(response)
    if response.status == 429:
        return Throttled(detail, retry_after_seconds=seconds, code=code)
    return Unavailable(detail, retry_after_seconds=seconds, code=code)


async def read_object(response: aiohttp.ClientResponse) -> Json:
    """Return the JSON object in a response. Raises ValueError if it is anything else, or too large."""
    content = bytearray()
    async for chunk in response.content.iter_any():
        content += chunk
        if len(content) > MAX_RESPONSE_BYTES:
            raise ValueError("response too large")
    document = json.loads(content)
    if not isinstance(document, dict):
        raise ValueError("not an object")
    return document


def not_a_registry(base_url: str) -> RegistryUnreachable:
    """Return the error for a server that responds, but not like a registry."""
    return RegistryUnreachable(
        f"The server at {base_url} does not respond like an Assay registry.", retry_after_seconds=math.inf
    )


async def _read_problem(response: aiohttp.ClientResponse) -> tuple[str, str] | None:
    """Return detail and code of the problem document; None if there is none."""
    with suppress(ValueError, KeyError):
        problem = await read_object(response)
        return str(problem["detail"]), str(problem["code"])
    return None


def _retry_after_seconds(response: aiohttp.ClientResponse) -> float:
    value = response.headers.get("Retry-After", "")
    return float(value) if value.isascii() and value.isdigit() else math.inf
