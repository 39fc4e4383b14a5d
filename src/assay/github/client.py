"""GitHub's few endpoints that Assay needs, with typed errors: a rate limit is never "not found"."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TypeVar
from urllib.parse import quote

import aiohttp
import msgspec
from yarl import URL

from assay.github.auth import ANONYMOUS, Identity
from assay.github.budget import ASK_WITH_ANOTHER_TOKEN, TokenBudget, rate_limited
from assay.github.errors import error_of, message_in
from assay.github.headers import RateLimits, asked_pause, is_used_up, poll_pause, resource_of, window_of, windows_of
from assay.github.response_cache import Answers
from assay.github.trees import TRUNCATED, Tree, files_of
from assay.model.call_budget import Window
from assay.model.errors import NotFound, Unavailable
from assay.model.repository import Host, RepositoryFacts, RepositoryName, TreeEntry

LONGEST_SHA = 100
LARGEST_JSON_BYTES = 32 * 1024 * 1024
REDIRECTS = 3
# How fast raw files may be asked for is counted by our address, so another token would not help.
NOT_THIS_TOKEN = ASK_WITH_ANOTHER_TOKEN - {"rate_limited"}

T = TypeVar("T", bound=msgspec.Struct)
Said = TypeVar("Said")


@dataclass(frozen=True)
class GitHubUrls:
    """Where GitHub's services are; other values for GitHub Enterprise and tests."""

    api: str
    raw: str
    codeload: str


class _Repository(msgspec.Struct):
    id: int
    full_name: str
    default_branch: str
    stargazers_count: int


class _Commit(msgspec.Struct):
    sha: str


@dataclass
class GitHub:
    """A client for one process: one connection pool, one budget, one memory of ETags."""

    session: aiohttp.ClientSession
    urls: GitHubUrls
    budget: TokenBudget
    answers: Answers = field(default_factory=Answers)

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

        async def ask(identity: Identity) -> bool:
            async with self._answer(url, identity, extra, charged=True) as response:
                if response.status == 304:
                    return False
                return (await _read_at_most(response, LONGEST_SHA)).strip() != known.encode()

        return await self._with_a_token(url, ask)

    async def get_allowances(self) -> list[list[Window]]:
        """What each token has left of each resource, as GitHub counts it; to ask costs nothing."""
        return [list(await self._ask_allowance(identity)) for identity in self.budget.all()]

    async def get_tree(self, name: RepositoryName, commit: str) -> list[TreeEntry]:
        """All files of a commit; Unavailable if GitHub cut the list short."""
        answer = await self.list_tree(name, commit, recursive=True)
        if answer.truncated:
            message = f"GitHub does not list all files of {name}: it has too many. Name skills by their paths."
            raise Unavailable(message, code=TRUNCATED)
        return files_of(answer)

    async def list_tree(self, name: RepositoryName, tree: str, *, recursive: bool) -> Tree:
        """The tree of a commit, or one of its folders by its own id, as GitHub lists it."""
        # A tree never changes and may be long, so it is not worth remembering.
        suffix = "?recursive=1" if recursive else ""
        return await self.get(f"{self.urls.api}/repos/{name}/git/trees/{tree}{suffix}", Tree, remember=False)

    async def get_raw_file(self, name: RepositoryName, commit: str, path: str, *, at_most: int) -> bytes:
        """The bytes of one file; NotFound if there is none, and never more than asked for."""
        url = f"{self.urls.raw}/{name}/{commit}/{quote(path)}"
        while True:
            identity = self.budget.lend()
            try:
                async with self._answer(url, identity) as response:
                    return await _read_at_most(response, at_most)
            except Unavailable as problem:
                if problem.code not in NOT_THIS_TOKEN:
                    raise

    @asynccontextmanager
    async def open_archive(self, name: RepositoryName, commit: str) -> AsyncIterator[aiohttp.StreamReader]:
        """The tar.gz of a commit, as a stream. No token goes to the archive host."""
        async with self._answer(f"{self.urls.codeload}/{name}/tar.gz/{commit}", ANONYMOUS) as response:
            yield response.content

    async def get(self, url: str, kind: type[T], *, remember: bool = True) -> T:
        """What the API answers at this address, with the best token, conditionally where an answer is remembered."""
        return (await self._ask_with_a_token(url, kind, remember=remember))[0]

    async def poll(self, url: str, kind: type[T]) -> tuple[T, float]:
        """The same, and the seconds for which GitHub does not want to be asked for it again."""
        return await self._ask_with_a_token(url, kind, remember=True)

    async def close(self) -> None:
        """Leave to the other processes what this one took and learnt."""
        await self.answers.flush()
        await self.budget.close()

    async def _with_a_token(self, url: str, ask: Callable[[Identity], Awaitable[Said]]) -> Said:
        """Ask with the best token, and with the next best if GitHub does not want that one now."""
        while True:
            identity = await self.budget.choose(self._resource(url), self._ask_allowance)
            try:
                return await ask(identity)
            except Unavailable as problem:
                if problem.code not in ASK_WITH_ANOTHER_TOKEN:
                    raise

    async def _ask_with_a_token(self, url: str, kind: type[T], *, remember: bool) -> tuple[T, float]:
        return await self._with_a_token(url, lambda identity: self._get_with(identity, url, kind, remember=remember))

    async def _get_with(self, identity: Identity, url: str, kind: type[T], *, remember: bool) -> tuple[T, float]:
        """A conditional request: an answer that has not changed costs no call of the budget."""
        key = self.budget.key_of(identity)
        # ETags differ from token to token.
        known = await self.answers.find(key, url, kind) if remember else None
        extra = {"If-None-Match": known[0]} if known else {}
        async with self._answer(url, identity, extra, charged=True) as response:
            pause = poll_pause(response.headers)
            if known and response.status == 304:
                return known[1], pause
            value = msgspec.json.decode(await _read_at_most(response, LARGEST_JSON_BYTES), type=kind)
            if remember and (etag := response.headers.get("ETag")):
                await self.answers.keep(key, url, etag, value)
            return value, pause

    async def _ask_allowance(self, identity: Identity) -> Sequence[Window]:
        """What GitHub says is left; nothing if it counts nothing, as an Enterprise server may."""
        try:
            async with self._answer(f"{self.urls.api}/rate_limit", identity) as response:
                said = msgspec.json.decode(await _read_at_most(response, LARGEST_JSON_BYTES), type=RateLimits)
                return windows_of(said, response.headers, self.budget.clock())
        except NotFound:
            return ()

    @asynccontextmanager
    async def _answer(
        self, url: str, identity: Identity, extra: dict[str, str] | None = None, *, charged: bool = False
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        try:
            async with self._follow(url, identity, extra or {}, charged=charged) as response:
                await self._raise_for(response, identity)
                yield response
        except (aiohttp.ClientError, TimeoutError, msgspec.DecodeError) as problem:
            # Without the cause: a trace shows the request, and with it the token.
            said = str(problem) or type(problem).__name__
            raise Unavailable(f"GitHub does not answer: {said}", code="github_unavailable") from None

    @asynccontextmanager
    async def _follow(
        self, url: str, identity: Identity, extra: dict[str, str], *, charged: bool
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """Follow renames by hand, and only on the same host: a token never leaves for another one."""
        headers = {**(await self._headers(identity)), **extra}
        for turn in range(REDIRECTS):
            if charged and turn:
                await self.budget.spend(identity, self._resource(url), self._ask_allowance)
            async with self.session.get(url, headers=headers, allow_redirects=False) as response:
                if charged and (said := window_of(response.headers, self.budget.clock())):
                    was_free = response.status == 304 and identity is not ANONYMOUS
                    self.budget.learn(identity, said, was_free=was_free)
                if response.status not in (301, 302, 307, 308):
                    yield response
                    return
                url = _redirect_target(response)
        raise Unavailable("GitHub redirects in circles.", code="github_redirect")

    async def _headers(self, identity: Identity) -> dict[str, str]:
        """Who we are; an installation that gets no token is put aside."""
        try:
            return (await identity.auth()).headers
        except Unavailable as problem:
            if problem.code == "github_bad_token":
                await self.budget.refuse(identity)
            else:
                await self.budget.rest(identity, problem.retry_after_seconds)
            raise

    async def _raise_for(self, response: aiohttp.ClientResponse, identity: Identity) -> None:
        if response.status in (200, 304):
            return
        said, now = await message_in(response), self.budget.clock()
        is_ours = self.budget.has(identity)
        window = window_of(response.headers, now)
        if window is not None and is_used_up(response.status, response.headers):
            if is_ours:
                await self.budget.exhaust(identity, window)
            raise rate_limited(window.resets_at - now)
        pause = asked_pause(response.status, response.headers, said)
        if pause is not None:
            if is_ours:
                await self.budget.rest(identity, pause)
            raise rate_limited(pause)
        if response.status == 401 and is_ours:
            await self.budget.refuse(identity)
        raise error_of(response.status, said, response.url.path)

    def _resource(self, url: str) -> str:
        return resource_of(url.removeprefix(self.urls.api))


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
