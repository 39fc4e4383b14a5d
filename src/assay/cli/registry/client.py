"""A registry over HTTP: one address, bounded waits, and errors of the kinds that the exit codes know."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import aiohttp

from assay.cli.registry.address import address_of, bad_address
from assay.cli.registry.errors import Json, NoAnswer, read_object, read_refusal, stranger
from assay.cli.ui.terminal import say
from assay.model.errors import Unavailable

# The registry itself gives GitHub 30 seconds to show a repository, and a large archive takes its time to go out.
TIMEOUT = aiohttp.ClientTimeout(total=120, sock_connect=10)
TRIES, LONGEST_PAUSE_SECONDS = 4, 60


@dataclass(frozen=True)
class Answer:
    """What a registry answered."""

    status: int
    body: Json


@dataclass(frozen=True)
class Registry:
    """A registry at an address."""

    base_url: str
    session: aiohttp.ClientSession
    _said: set[str] = field(default_factory=set)

    async def get(self, path: str, **query: object) -> Json:
        """Read something; what is None is not asked for."""
        given = {name: str(value) for name, value in query.items() if value is not None}
        return (await self._ask("GET", path, lambda: {"params": given})).body

    async def post(self, path: str, body: Mapping[str, object]) -> Answer:
        """Ask for something to be done; what is None is left out."""
        given = {name: value for name, value in body.items() if value is not None}
        return await self._ask("POST", path, lambda: {"json": given})

    async def delete(self, path: str) -> Json:
        """Ask for something to be ended."""
        return (await self._ask("DELETE", path, dict)).body

    async def upload(self, path: str, archive: bytes, filename: str, **fields: str | None) -> Answer:
        """Send an archive as a form."""

        def form() -> Json:
            data = aiohttp.FormData({name: value for name, value in fields.items() if value is not None})
            data.add_field("archive", archive, filename=filename, content_type="application/gzip")
            return {"data": data}

        return await self._ask("POST", path, form)

    def page_of(self, submission_id: UUID) -> str:
        """Where people look at a submission."""
        return f"{self.base_url}/submissions/{submission_id}"

    @asynccontextmanager
    async def opened(self, method: str, path: str, **given: Any) -> AsyncIterator[aiohttp.ClientResponse]:
        """An answer that has begun, if it is no refusal; a registry that is away, or none, is told in words."""
        try:
            # Never redirected: the proof is for this address only.
            async with self.session.request(method, f"{self.base_url}{path}", allow_redirects=False, **given) as answer:
                if answer.status >= 300:
                    raise await read_refusal(answer, self.base_url)
                yield answer
        except aiohttp.InvalidURL:
            raise bad_address(self.base_url) from None
        except aiohttp.ClientSSLError as problem:
            raise NoAnswer(f"{self.base_url} cannot be trusted.", cause=str(problem)) from None
        except (aiohttp.ClientConnectionError, TimeoutError):
            raise NoAnswer(f"No Assay answers at {self.base_url}: start it with `make up`.") from None
        except (aiohttp.ClientError, ValueError):
            raise stranger(self.base_url) from None

    async def _ask(self, method: str, path: str, given: Callable[[], Json]) -> Answer:
        """Everything may be asked twice, so what is unavailable is asked for again when it says, a few times."""
        tries_left = TRIES
        while True:
            try:
                async with self.opened(method, path, timeout=TIMEOUT, **given()) as answer:
                    return Answer(answer.status, await read_object(answer))
            except Unavailable as error:
                tries_left -= 1
                if not tries_left or not _is_worth_waiting_for(error):
                    raise
                await self._pause(error)

    async def _pause(self, error: Unavailable) -> None:
        """Says why, once: many requests may wait for the same."""
        if error.message not in self._said:
            self._said.add(error.message)
            say(f"{error.message} Asking again in {error.retry_after_seconds:.0f} s.")
        await asyncio.sleep(error.retry_after_seconds)


@asynccontextmanager
async def open_registry(url: str | None, proof: Mapping[str, str] | None = None) -> AsyncIterator[Registry]:
    """The registry at this address, or the one of this machine; the proof goes along with every request."""
    async with aiohttp.ClientSession(headers=proof) as session:
        yield Registry(address_of(url), session)


def _is_worth_waiting_for(error: Unavailable) -> bool:
    """A refusal with a time that is near; who is not there at all has given none."""
    return not isinstance(error, NoAnswer) and error.retry_after_seconds <= LONGEST_PAUSE_SECONDS
