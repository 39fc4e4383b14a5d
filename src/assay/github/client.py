"""GitHub's few endpoints that Assay needs, with typed errors: a rate limit is never "not found"."""

import re
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar
from urllib.parse import quote

import aiohttp
import msgspec
from yarl import URL

from assay.github.auth import ANONYMOUS, GitHubAuth
from assay.github.budget import TokenBudget, rate_limited
from assay.model.errors import NotFound, Unavailable
from assay.model.repository import Host, RepositoryName

REMEMBERED_ANSWERS = 2_000
LONGEST_SHA = 100
LARGEST_JSON_BYTES = 32 * 1024 * 1024
REDIRECTS = 3
DEFAULT_PAUSE_SECONDS = 60
LONGEST_PAUSE_SECONDS = 3600
# What one token is refused, another may be granted.
ASK_WITH_ANOTHER_TOKEN = frozenset({"rate_limited", "github_bad_token"})
REGULAR_MODES = frozenset({"100644", "100755", "100664"})

T = TypeVar("T", bound=msgspec.Struct)
Said = TypeVar("Said")


@dataclass(frozen=True)
class GitHubUrls:
    """Where GitHub's services are; other values for GitHub Enterprise and tests."""

    api: str
    raw: str
    codeload: str


@dataclass(frozen=True, slots=True)
class RepositoryFacts:
    """What GitHub says about a repository now."""

    name: RepositoryName
    host_id: int
    default_branch: str
    stars: int


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """One file of a commit; a symbolic link is not a regular one."""

    path: str
    size: int
    is_regular: bool


class _Repository(msgspec.Struct):
    id: int
    full_name: str
    default_branch: str
    stargazers_count: int


class _Commit(msgspec.Struct):
    sha: str


class _Rate(msgspec.Struct):
    remaining: int


class _Limits(msgspec.Struct):
    rate: _Rate


class _Item(msgspec.Struct):
    path: str
    mode: str
    type: str
    size: int = 0


class _Tree(msgspec.Struct):
    tree: list[_Item]
    truncated: bool


@dataclass
class GitHub:
    """A client for one process: one connection pool, one budget, one memory of ETags."""

    session: aiohttp.ClientSession
    urls: GitHubUrls
    budget: TokenBudget
    # ETags differ from token to token. Only what is read of an answer is kept, not its whole body.
    _answers: OrderedDict[tuple[GitHubAuth, str], tuple[str, Any]] = field(default_factory=OrderedDict)

    async def get_repository(self, name: RepositoryName) -> RepositoryFacts:
        """The repository under its present name, also if it was asked for by an old one."""
        answer = await self.get(f"{self.urls.api}/repos/{name}", _Repository)
        owner, _, plain = answer.full_name.partition("/")
        present = RepositoryName(Host.GITHUB, owner, plain)
        return RepositoryFacts(present, answer.id, answer.default_branch, answer.stargazers_count)

    async def get_head_commit(self, name: RepositoryName) -> str:
        """The newest commit of the default branch."""
        return (await self.get(f"{self.urls.api}/repos/{name}/commits/HEAD", _Commit)).sha

    async def has_moved(self, name: RepositoryName, known: str) -> bool:
        """Whether the newest commit of the default branch is another one. If it is not, that costs no call."""
        url = f"{self.urls.api}/repos/{name}/commits/HEAD"
        # To this form of the answer, the commit itself is the ETag: it need not have been asked before.
        extra = {"Accept": "application/vnd.github.sha", "If-None-Match": f'"{known}"'}

        async def ask(auth: GitHubAuth) -> bool:
            async with self._answer(url, auth, extra, charged=True) as response:
                if response.status == 304:
                    return False
                return (await _read_at_most(response, LONGEST_SHA)).strip() != known.encode()

        return await self._with_a_token(ask)

    async def get_allowances(self) -> list[int]:
        """The calls that each token has left this hour, as GitHub counts them; to ask costs none."""
        left = []
        for auth in self.budget.all():
            async with self._answer(f"{self.urls.api}/rate_limit", auth) as response:
                said = msgspec.json.decode(await _read_at_most(response, LARGEST_JSON_BYTES), type=_Limits)
            left.append(said.rate.remaining)
        return left

    async def get_tree(self, name: RepositoryName, commit: str) -> list[TreeEntry]:
        """All files of a commit; Unavailable if GitHub cut the list short."""
        url = f"{self.urls.api}/repos/{name}/git/trees/{commit}?recursive=1"
        # The tree of a commit never changes and may be long, so it is not worth remembering.
        answer = await self.get(url, _Tree, remember=False)
        if answer.truncated:
            raise Unavailable(f"GitHub does not list all files of {name}: it has too many.", code="tree_truncated")
        files = (each for each in answer.tree if each.type == "blob")
        return [TreeEntry(each.path, each.size, each.mode in REGULAR_MODES) for each in files]

    async def get_raw_file(self, name: RepositoryName, commit: str, path: str, *, at_most: int) -> bytes:
        """The bytes of one file; NotFound if there is none, and never more than asked for."""
        url = f"{self.urls.raw}/{name}/{commit}/{quote(path)}"
        async with self._answer(url, self.budget.lend()) as response:
            return await _read_at_most(response, at_most)

    @asynccontextmanager
    async def open_archive(self, name: RepositoryName, commit: str) -> AsyncIterator[aiohttp.StreamReader]:
        """The tar.gz of a commit, as a stream. No token goes to the archive host."""
        async with self._answer(f"{self.urls.codeload}/{name}/tar.gz/{commit}", ANONYMOUS) as response:
            yield response.content

    async def get(self, url: str, kind: type[T], *, remember: bool = True) -> T:
        """What the API answers at this address, with the best token, conditionally where an answer is remembered."""
        return await self._with_a_token(lambda auth: self._get_with(auth, url, kind, remember=remember))

    async def _with_a_token(self, ask: Callable[[GitHubAuth], Awaitable[Said]]) -> Said:
        """Ask with the best token, and with the next best if GitHub does not want that one now."""
        while True:
            auth = self.budget.choose()
            try:
                return await ask(auth)
            except Unavailable as problem:
                if problem.code not in ASK_WITH_ANOTHER_TOKEN:
                    raise

    async def _get_with(self, auth: GitHubAuth, url: str, kind: type[T], *, remember: bool) -> T:
        """A conditional request: an answer that has not changed costs no call of the budget."""
        known = self._answers.get((auth, url))
        extra = {"If-None-Match": known[0]} if known else {}
        async with self._answer(url, auth, extra, charged=True) as response:
            if known and response.status == 304:
                self._answers.move_to_end((auth, url))
                value: T = known[1]
                return value
            value = msgspec.json.decode(await _read_at_most(response, LARGEST_JSON_BYTES), type=kind)
            if remember and (etag := response.headers.get("ETag")):
                self._remember(auth, url, etag, value)
            return value

    def _remember(self, auth: GitHubAuth, url: str, etag: str, value: object) -> None:
        self._answers[auth, url] = (etag, value)
        self._answers.move_to_end((auth, url))
        if len(self._answers) > REMEMBERED_ANSWERS:
            self._answers.popitem(last=False)

    @asynccontextmanager
    async def _answer(
        self, url: str, auth: GitHubAuth, extra: dict[str, str] | None = None, *, charged: bool = False
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        try:
            async with self._follow(url, {**auth.headers, **(extra or {})}) as response:
                if charged:
                    self.budget.learn(auth, response.headers)
                await self._raise_for(response, auth)
                yield response
        except (aiohttp.ClientError, TimeoutError, msgspec.DecodeError) as problem:
            said = str(problem) or type(problem).__name__
            raise Unavailable(f"GitHub does not answer: {said}", code="github_unavailable") from problem

    @asynccontextmanager
    async def _follow(self, url: str, headers: dict[str, str]) -> AsyncIterator[aiohttp.ClientResponse]:
        """Follow renames by hand, and only on the same host: a token never leaves for another one."""
        for _ in range(REDIRECTS):
            async with self.session.get(url, headers=headers, allow_redirects=False) as response:
                if response.status not in (301, 302, 307, 308):
                    yield response
                    return
                url = _redirect_target(response)
        raise Unavailable("GitHub redirects in circles.", code="github_redirect")

    async def _raise_for(self, response: aiohttp.ClientResponse, auth: GitHubAuth) -> None:
        if response.status in (200, 304):
            return
        said = await _message(response)
        wait = _asked_pause(response, said, self.budget.clock())
        if wait is not None:
            if self.budget.has(auth):
                self.budget.rest(auth, wait)
            raise rate_limited(wait)
        if response.status == 401 and self.budget.has(auth):
            self.budget.refuse(auth)
        raise _error(response.status, said, str(response.url.path))


def _redirect_target(response: aiohttp.ClientResponse) -> str:
    location = response.headers.get("Location")
    try:
        # Without a location there is no host either, and that is an error too.
        target = response.url.join(URL(location)) if location else URL()
        is_same_host = target.origin() == response.url.origin()
    except ValueError:
        raise Unavailable(f"GitHub redirects to nowhere: {location!r:.200}", code="github_redirect") from None
    if not is_same_host:
        raise Unavailable(f"GitHub redirects to another host: {target.host}", code="github_redirect")
    return str(target)


async def _read_at_most(response: aiohttp.ClientResponse, limit: int) -> bytes:
    """The whole body, or Unavailable as soon as it is longer than expected."""
    parts, size = [], 0
    async for part in response.content.iter_chunked(65536):
        parts.append(part)
        size += len(part)
        if size > limit:
            raise Unavailable(f"GitHub sent more than {limit} bytes for {response.url.path}.", code="too_large")
    return b"".join(parts)


async def _message(response: aiohttp.ClientResponse) -> str:
    body = (await response.content.read(4096)).decode(errors="replace")
    found = re.search(r'"message"\s*:\s*"([^"]{0,300})', body)
    return found.group(1) if found else f"status {response.status}"


def _asked_pause(response: aiohttp.ClientResponse, said: str, now: float) -> float | None:
    """Seconds GitHub wants us to wait, if this answer is a rate limit of the first or second kind."""
    if response.status not in (403, 429):
        return None
    if "Retry-After" in response.headers:
        return _pause(response.headers["Retry-After"])
    if response.headers.get("X-RateLimit-Remaining") == "0":
        return _pause(response.headers.get("X-RateLimit-Reset", ""), since=now)
    return DEFAULT_PAUSE_SECONDS if response.status == 429 or "rate limit" in said.lower() else None


def _pause(number: str, *, since: float = 0) -> float:
    """Whole seconds from a header, within reason; a proxy may have put a date there."""
    if not number.isdecimal():
        return DEFAULT_PAUSE_SECONDS
    return min(float(number) - since, LONGEST_PAUSE_SECONDS)


def _error(status: int, said: str, path: str) -> NotFound | Unavailable:
    match status:
        case 404 | 410:
            return NotFound(f"GitHub has no {path}: deleted, private or never there.", code="source_not_found")
        case 409 | 422:
            return NotFound(f"GitHub has nothing at {path}: {said}", code="source_empty")
        case 451:
            return NotFound(f"GitHub has taken {path} down for legal reasons.", code="source_taken_down")
        case 401:
            return Unavailable(f"GitHub refuses our token: {said}", code="github_bad_token")
        case _:
            return Unavailable(f"GitHub answered {status}: {said}", code="github_unavailable")
