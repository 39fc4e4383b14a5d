"""The GitHub endpoints that Assay needs, with typed errors: a rate limit is never reported as "not found"."""

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TypeVar
from urllib.parse import quote

import aiohttp
import msgspec
from yarl import URL

from assay.github.auth import ANONYMOUS, Identity
from assay.github.headers import (
    RateLimits,
    is_exhausted,
    poll_pause,
    requested_pause,
    resource_of,
    window_of,
    windows_of,
)
from assay.github.response_cache import ResponseCache
from assay.github.token_budget import RETRY_WITH_ANOTHER_TOKEN, TokenBudget, rate_limited
from assay.github.trees import TRUNCATED, Tree, files_of
from assay.model.errors import NotFound, Refused, Unavailable
from assay.model.github import CallWindow
from assay.model.repository import Host, RepositoryFacts, RepositoryName, TreeEntry

LONGEST_SHA = 100
LARGEST_JSON_BYTES = 32 * 1024 * 1024
REDIRECTS = 3
FORBIDDEN_SECONDS = 600
# Raw files are limited by IP address, so after that limit another token would not help.
NOT_THIS_TOKEN = RETRY_WITH_ANOTHER_TOKEN - {"rate_limited"}

T = TypeVar("T", bound=msgspec.Struct)
Result = TypeVar("Result")


@dataclass(frozen=True)
class GitHubUrls:
    """Base URLs of GitHub's services; they differ for GitHub Enterprise and in tests."""

    api: str
    raw: str
    codeload: str


class _OwnerResponse(msgspec.Struct):
    id: int | None = None


class _RepositoryResponse(msgspec.Struct):
    id: int
    full_name: str
    default_branch: str
    stargazers_count: int
    owner: _OwnerResponse = msgspec.field(default_factory=_OwnerResponse)
    private: bool = False
    visibility: str = "public"


class _CommitResponse(msgspec.Struct):
    sha: str


@dataclass
class GitHub:
    """The client of one process: one connection pool, one budget, one response cache."""

    session: aiohttp.ClientSession
    urls: GitHubUrls
    budget: TokenBudget
    cache: ResponseCache = field(default_factory=ResponseCache)

    async def get_repository(self, name: RepositoryName) -> RepositoryFacts:
        """Return the repository under its current name, also if it was requested by a former one.

        Raises NotFound for a private repository, so that the operator's token does not reveal it to callers.
        """
        response = await self.get(f"{self.urls.api}/repos/{name}", _RepositoryResponse)
        if response.private or response.visibility != "public":
            raise _error_for(404, "", f"/repos/{name}")
        owner, _, plain = response.full_name.partition("/")
        current = RepositoryName(Host.GITHUB, owner, plain)
        return RepositoryFacts(
            current, response.id, response.default_branch, response.stargazers_count, response.owner.id
        )

    async def find_user_id(self, login: str) -> int | None:
        """Return the numeric id of the user or organisation that has a login now; None if it is free."""
        try:
            return (await self.get(f"{self.urls.api}/users/{quote(login, safe='')}", _OwnerResponse)).id
        except NotFound:
            return None

    async def get_head_commit(self, name: RepositoryName) -> str:
        """Return the newest commit of the default branch."""
        return (await self.get(f"{self.urls.api}/repos/{name}/commits/HEAD", _CommitResponse)).sha

    async def has_moved(self, name: RepositoryName, known: str) -> bool:
        """Return whether the newest commit of the default branch differs from `known`; costs no call if it does not."""
        url = f"{self.urls.api}/repos/{name}/commits/HEAD"
        # With this media type the commit id is the ETag, so it works without an earlier response.
        extra = {"Accept": "application/vnd.github.sha", "If-None-Match": f'"{known}"'}

        async def request(identity: Identity) -> bool:
            async with self._get(url, identity, extra, charged=True) as response:
                if response.status == 304:
                    return False
                return (await _read_at_most(response, LONGEST_SHA)).strip() != known.encode()

        return await self._with_best_token(url, request)

    async def get_rate_limits(self) -> list[list[CallWindow]]:
        """Return the calls left of each resource for each token, as GitHub counts them; costs no call."""
        return [list(await self._fetch_windows(identity)) for identity in self.budget.identities()]

    async def get_tree(self, name: RepositoryName, commit: str) -> list[TreeEntry]:
        """Return all files of a commit; raise Unavailable if GitHub truncated the list."""
        tree = await self.list_tree(name, commit, recursive=True)
        if tree.truncated:
            message = f"{name} has more files than GitHub lists in one response. Submit its skills by their paths."
            raise Unavailable(message, code=TRUNCATED)
        return files_of(tree)

    async def list_tree(self, name: RepositoryName, tree: str, *, recursive: bool) -> Tree:
        """Return the tree of a commit, or of one of its folders by tree id."""
        # A tree is immutable and may be long, so it is not cached.
        suffix = "?recursive=1" if recursive else ""
        return await self.get(f"{self.urls.api}/repos/{name}/git/trees/{tree}{suffix}", Tree, cached=False)

    async def get_raw_file(self, name: RepositoryName, commit: str, path: str, *, at_most: int) -> bytes:
        """Return the bytes of one file; raise NotFound if there is none, Unavailable if it exceeds `at_most` bytes."""
        url = f"{self.urls.raw}/{name}/{commit}/{quote(path)}"
        while True:
            identity = self.budget.choose_unmetered()
            try:
                async with self._get(url, identity) as response:
                    return await _read_at_most(response, at_most)
            except Unavailable as error:
                if error.code not in NOT_THIS_TOKEN:
                    raise

    @asynccontextmanager
    async def open_archive(self, name: RepositoryName, commit: str) -> AsyncIterator[aiohttp.StreamReader]:
        """Stream the tar.gz of a commit. No token is sent to the archive host."""
        async with self._get(f"{self.urls.codeload}/{name}/tar.gz/{commit}", ANONYMOUS) as response:
            yield response.content

    async def get(self, url: str, kind: type[T], *, cached: bool = True) -> T:
        """Request an API URL with the best token; conditionally if a response is cached."""
        return (await self._get_with_best_token(url, kind, cached=cached))[0]

    async def poll(self, url: str, kind: type[T]) -> tuple[T, float]:
        """Request an API URL and also return the seconds before GitHub allows the next poll."""
        return await self._get_with_best_token(url, kind, cached=True)

    async def close(self) -> None:
        """Share cached responses and unused calls with the other processes."""
        await self.cache.flush()
        await self.budget.close()

    async def _with_best_token(self, url: str, request: Callable[[Identity], Awaitable[Result]]) -> Result:
        """Make a request with the best token, and with the next best while GitHub rejects or limits that one."""
        while True:
            identity = await self.budget.choose(self._resource(url), self._fetch_windows)
            try:
                return await request(identity)
            except Unavailable as error:
                if error.code not in RETRY_WITH_ANOTHER_TOKEN:
                    raise

    async def _get_with_best_token(self, url: str, kind: type[T], *, cached: bool) -> tuple[T, float]:
        return await self._with_best_token(url, lambda identity: self._get_as(identity, url, kind, cached=cached))

    async def _get_as(self, identity: Identity, url: str, kind: type[T], *, cached: bool) -> tuple[T, float]:
        """Make a conditional request; an unchanged response costs no call."""
        # The cache is keyed by token because ETags differ between tokens.
        key = self.budget.key_of(identity)
        known = await self.cache.find(key, url, kind) if cached else None
        extra = {"If-None-Match": known[0]} if known else {}
        async with self._get(url, identity, extra, charged=True) as response:
            pause = poll_pause(response.headers)
            if known and response.status == 304:
                return known[1], pause
            value = msgspec.json.decode(await _read_at_most(response, LARGEST_JSON_BYTES), type=kind)
            if cached and (etag := response.headers.get("ETag")):
                await self.cache.add(key, url, etag, value)
            return value, pause

    async def _fetch_windows(self, identity: Identity) -> Sequence[CallWindow]:
        """Return the windows that GitHub reports; none if it counts no calls, as an Enterprise server may."""
        try:
            async with self._get(f"{self.urls.api}/rate_limit", identity) as response:
                limits = msgspec.json.decode(await _read_at_most(response, LARGEST_JSON_BYTES), type=RateLimits)
                return windows_of(limits, response.headers, self.budget.clock())
        except NotFound:
            return ()

    @asynccontextmanager
    async def _get(
        self, url: str, identity: Identity, extra: dict[str, str] | None = None, *, charged: bool = False
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        try:
            async with self._follow(url, identity, extra or {}, charged=charged) as response:
                await self._raise_for(response, identity)
                yield response
        except (aiohttp.ClientError, TimeoutError, msgspec.DecodeError) as error:
            # Drop the cause: its traceback shows the request and with it the token.
            reason = str(error) or type(error).__name__
            raise Unavailable(f"GitHub does not answer: {reason}", code="github_unavailable") from None

    @asynccontextmanager
    async def _follow(
        self, url: str, identity: Identity, extra: dict[str, str], *, charged: bool
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """Follow redirects of renamed repositories, on the same host only: a token is never sent to another one."""
        headers = {**(await self._headers(identity)), **extra}
        for hop in range(REDIRECTS):
            if charged and hop:
                await self.budget.spend(identity, self._resource(url), self._fetch_windows)
            async with self.session.get(url, headers=headers, allow_redirects=False) as response:
                if charged and (window := window_of(response.headers, self.budget.clock())):
                    was_free = response.status == 304 and identity is not ANONYMOUS
                    self.budget.observe(identity, window, was_free=was_free)
                if response.status not in (301, 302, 307, 308):
                    yield response
                    return
                url = _redirect_target(response)
        raise Unavailable("GitHub redirected too many times.", code="github_redirect")

    async def _headers(self, identity: Identity) -> dict[str, str]:
        """Return the credentials; an installation that gets no token is paused."""
        try:
            return (await identity.auth()).headers
        except Unavailable as error:
            if error.code == "github_bad_token":
                await self.budget.reject(identity)
            else:
                await self.budget.cool_down(identity, error.retry_after_seconds)
            raise

    async def _raise_for(self, response: aiohttp.ClientResponse, identity: Identity) -> None:
        if response.status in (200, 304):
            return
        message, now = await _error_message(response), self.budget.clock()
        is_ours = self.budget.owns(identity)
        window = window_of(response.headers, now)
        if window is not None and is_exhausted(response.status, response.headers):
            if is_ours:
                await self.budget.exhaust(identity, window)
            raise rate_limited(window.resets_at - now)
        pause = requested_pause(response.status, response.headers, message)
        if pause is not None:
            if is_ours:
                await self.budget.cool_down(identity, pause)
            raise rate_limited(pause)
        if response.status == 401 and is_ours:
            await self.budget.reject(identity)
        raise _error_for(response.status, message, response.url.path)

    def _resource(self, url: str) -> str:
        return resource_of(url.removeprefix(self.urls.api))


def _redirect_target(response: aiohttp.ClientResponse) -> str:
    location = response.headers.get("Location")
    try:
        # Without a location, `origin` below raises ValueError, too.
        target = response.url.join(URL(location)) if location else URL()
        is_same_host = target.origin() == response.url.origin()
    except ValueError:
        raise Unavailable(f"GitHub redirected to an invalid URL: {location!r:.200}", code="github_redirect") from None
    if not is_same_host:
        raise Unavailable(f"GitHub redirected to another host: {target.host}", code="github_redirect")
    return str(target)


async def _read_at_most(response: aiohttp.ClientResponse, limit: int) -> bytes:
    """Return the whole body; raise Unavailable as soon as it exceeds the limit."""
    parts, size = [], 0
    async for part in response.content.iter_chunked(65536):
        parts.append(part)
        size += len(part)
        if size > limit:
            raise Unavailable(f"GitHub sent more than {limit} bytes for {response.url.path}.", code="too_large")
    return b"".join(parts)


async def _error_message(response: aiohttp.ClientResponse) -> str:
    """Return the message in an error body, truncated."""
    body = (await response.content.read(4096)).decode(errors="replace")
    found = re.search(r'"message"\s*:\s*"([^"]{0,300})', body)
    return found.group(1) if found else f"status {response.status}"


def _error_for(status: int, message: str, path: str) -> NotFound | Unavailable:
    """Map an error status other than a rate limit; only a definite "no" becomes NotFound."""
    match status:
        case 404:
            return NotFound(
                f"GitHub has no {path}: it was deleted, is private, or never existed.", code="source_not_found"
            )
        case 410:
            return NotFound(f"GitHub reports that {path} is permanently gone.", code="source_gone")
        case 409 | 422:
            return NotFound(f"GitHub has no content at {path}: {message}", code="source_empty")
        case 451:
            return NotFound(f"GitHub blocks {path} for legal reasons.", code="source_taken_down")
        case 401:
            return Unavailable(f"GitHub rejected the token: {message}", code="github_bad_token")
        case 403:
            return Refused(
                f"GitHub denied access to {path}: {message}",
                code="github_forbidden",
                retry_after_seconds=FORBIDDEN_SECONDS,
            )
        case _:
            return Unavailable(f"GitHub answered with status {status}: {message}", code="github_unavailable")
