"""HTTP client of a registry, with bounded retries; failures raise the errors that have exit codes."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import aiohttp

from assay.cli.registry.address import invalid_url, registry_url
from assay.cli.registry.credentials import Credential, reader_credential
from assay.cli.registry.errors import Json, RegistryUnreachable, not_a_registry, read_object, read_refusal
from assay.cli.ui.terminal import print_note
from assay.model.errors import Unavailable

# The registry allows GitHub 30 seconds to list a repository, and uploading a large archive takes time.
TIMEOUT = aiohttp.ClientTimeout(total=120, sock_connect=10)
TRIES, MAX_PAUSE_SECONDS = 4, 60


@dataclass(frozen=True)
class RegistryResponse:
    status: int
    body: Json


@dataclass(frozen=True)
class Registry:
    base_url: str
    session: aiohttp.ClientSession
    credential: Credential
    _noted: set[str] = field(default_factory=set)

    async def get(self, path: str, **query: object) -> Json:
        """Send a GET request; parameters that are None are omitted."""
        params = {name: str(value) for name, value in query.items() if value is not None}
        return (await self._request("GET", path, lambda: {"params": params})).body

    async def post(self, path: str, body: Mapping[str, object]) -> RegistryResponse:
        """Send a POST request with a JSON body; fields that are None are omitted."""
        fields = {name: value for name, value in body.items() if value is not None}
        return await self._request("POST", path, lambda: {"json": fields})

    async def delete(self, path: str) -> Json:
        return (await self._request("DELETE", path, dict)).body

    async def upload(self, path: str, archive: bytes, filename: str, **fields: str | None) -> RegistryResponse:
        """Send an archive as a multipart form; fields that are None are omitted."""

        def form() -> Json:
            data = aiohttp.FormData({name: value for name, value in fields.items() if value is not None})
            data.add_field("archive", archive, filename=filename, content_type="application/gzip")
            return {"data": data}

        return await self._request("POST", path, form)

    def page_of(self, submission_id: UUID) -> str:
        """Return the URL of a submission's page."""
        return f"{self.base_url}/submissions/{submission_id}"

    @asynccontextmanager
    async def open_response(self, method: str, path: str, **options: Any) -> AsyncIterator[aiohttp.ClientResponse]:
        """Yield a successful response before its body is read. Raises the error that a refusal or a failure means."""
        url = f"{self.base_url}{path}"
        try:
            # Redirects are not followed: the credentials are for this address only.
            async with self.session.request(method, url, allow_redirects=False, **options) as response:
                if response.status >= 300:
                    raise await read_refusal(response, self.base_url, self.credential)
                yield response
        except aiohttp.InvalidURL:
            raise invalid_url(self.base_url) from None
        except aiohttp.ClientSSLError as problem:
            raise RegistryUnreachable(f"The certificate of {self.base_url} is not valid.", cause=str(problem)) from None
        except (aiohttp.ClientConnectionError, TimeoutError):
            message = f"No registry answers at {self.base_url}: start it with `make up`, or set --url."
            raise RegistryUnreachable(message) from None
        except (aiohttp.ClientError, ValueError):
            raise not_a_registry(self.base_url) from None

    async def _request(self, method: str, path: str, options: Callable[[], Json]) -> RegistryResponse:
        """Send a request, retrying a few times after the requested delay; all requests are idempotent."""
        tries_left = TRIES
        while True:
            try:
                async with self.open_response(method, path, timeout=TIMEOUT, **options()) as response:
                    return RegistryResponse(response.status, await read_object(response))
            except Unavailable as error:
                tries_left -= 1
                if not tries_left or not _is_worth_waiting_for(error):
                    raise
                await self._pause(error)

    async def _pause(self, error: Unavailable) -> None:
        """Wait, after printing the reason once: many requests may wait for the same one."""
        if error.message not in self._noted:
            self._noted.add(error.message)
            print_note(f"{error.message} Retrying in {error.retry_after_seconds:.0f} s.")
        await asyncio.sleep(error.retry_after_seconds)


@asynccontextmanager
async def open_registry(
    url: str | None, choose: Callable[[str], Credential] = reader_credential
) -> AsyncIterator[Registry]:
    """Connect to the registry at `url`, or to the one on this machine, sending the chosen credential."""
    base_url = registry_url(url)
    credential = choose(base_url)
    async with aiohttp.ClientSession(headers=credential.headers, cookie_jar=aiohttp.DummyCookieJar()) as session:
        yield Registry(base_url, session, credential)


def _is_worth_waiting_for(error: Unavailable) -> bool:
    """Return whether the registry is reachable and asked to be retried soon."""
    return not isinstance(error, RegistryUnreachable) and error.retry_after_seconds <= MAX_PAUSE_SECONDS
