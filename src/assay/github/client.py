"""GitHub's few endpoints that Assay needs, with typed errors: a rate limit is never "not found"."""

import json
import re
from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import aiohttp
from yarl import URL

from assay.github.auth import ANONYMOUS, GitHubAuth
from assay.github.budget import TokenBudget, rate_limited
from assay.model.errors import NotFound, Unavailable
from assay.model.repository import Host, RepositoryName

REMEMBERED_ANSWERS = 2_000
LARGEST_JSON_BYTES = 32 * 1024 * 1024
REDIRECTS = 3


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
    """One file of a commit."""

    path: str
    size: int


@dataclass
class GitHub:
    """A client for one process: one connection pool, one budget, one memory of ETags."""

    session: aiohttp.ClientSession
    urls: GitHubUrls
    budget: TokenBudget
    _answers: OrderedDict[str, tuple[str, Any]] = field(default_factory=OrderedDict)

    async def get_repository(self, name: RepositoryName) -> RepositoryFacts:
        """The repository under its present name, also if it was asked for by an old one."""
        answer = await self._get_json(f"{self.urls.api}/repos/{name}")
        owner, _, plain = answer["full_name"].partition("/")
        return RepositoryFacts(
            RepositoryName(Host.GITHUB, owner, plain),
            answer["id"],
            answer["default_branch"],
            answer["stargazers_count"],
        )

    async def get_head_commit(self, name: RepositoryName) -> str:
        """The newest commit of the default branch."""
        answer = await self._get_json(f"{self.urls.api}/repos/{name}/commits/HEAD")
        return str(answer["sha"])

    async def get_tree(self, name: RepositoryName, commit: str) -> list[TreeEntry]:
        """All files of a commit; Unavailable if GitHub cut the list short."""
        answer = await self._get_json(f"{self.urls.api}/repos/{name}/git/trees/{commit}?recursive=1")
        if answer["truncated"]:
            raise Unavailable(
                f"GitHub does not list all files of {name}: it has too many.", code="tree_truncated"
            )
        return [TreeEntry(each["path"], each["size"]) for each in answer["tree"] if each["type"] == "blob"]

    async def get_raw_file(self, name: RepositoryName, commit: str, path: str, *, at_most: int) -> bytes:
        """The bytes of one file; NotFound if there is none, and never more than asked for."""
        url = f"{self.urls.raw}/{name}/{commit}/{path}"
        async with self._answer(url, self.budget.choose()) as response:
            return await _read_at_most(response, at_most)

    @asynccontextmanager
    async def open_archive(self, name: RepositoryName, commit: str) -> AsyncIterator[aiohttp.StreamReader]:
        """The tar.gz of a commit, as a stream. No token goes to the archive host."""
        async with self._answer(f"{self.urls.codeload}/{name}/tar.gz/{commit}", ANONYMOUS) as response:
            yield response.content

    async def _get_json(self, url: str) -> Any:
        """A conditional request: an answer that has not changed costs no call of the budget."""
        auth = self.budget.choose()
        known = self._answers.get(url)
        extra = {"If-None-Match": known[0]} if known else {}
        async with self._answer(url, auth, extra, charged=True) as response:
            if known and response.status == 304:
                self._answers.move_to_end(url)
                return known[1]
            body = json.loads(await _read_at_most(response, LARGEST_JSON_BYTES))
            if etag := response.headers.get("ETag"):
                self._answers[url] = (etag, body)
                if len(self._answers) > REMEMBERED_ANSWERS:
                    self._answers.popitem(last=False)
            return body

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
        except (aiohttp.ClientError, TimeoutError, json.JSONDecodeError) as problem:
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
                target = response.url.join(URL(response.headers["Location"]))
                if target.origin() != response.url.origin():
                    raise Unavailable(
                        f"GitHub redirects to another host: {target.host}", code="github_redirect"
                    )
                url = str(target)
        raise Unavailable("GitHub redirects in circles.", code="github_redirect")

    async def _raise_for(self, response: aiohttp.ClientResponse, auth: GitHubAuth) -> None:
        if response.status < 400:
            return
        said = await _message(response)
        wait = _asked_pause(response, said, self.budget.clock())
        if wait is not None:
            if self.budget.has(auth):
                self.budget.rest(auth, wait)
            raise rate_limited(wait)
        raise _error(response.status, said, str(response.url.path))


async def _read_at_most(response: aiohttp.ClientResponse, limit: int) -> bytes:
    """The whole body, or Unavailable as soon as it is longer than expected."""
    parts, size = [], 0
    async for part in response.content.iter_chunked(65536):
        parts.append(part)
        size += len(part)
        if size > limit:
            raise Unavailable(
                f"GitHub sent more than {limit} bytes for {response.url.path}.", code="too_large"
            )
    return b"".join(parts)


async def _message(response: aiohttp.ClientResponse) -> str:
    body = (await response.content.read(4096)).decode(errors="replace")
    found = re.search(r'"message"\s*:\s*"([^"]{0,300})', body)
    return found.group(1) if found else f"status {response.status}"


def _asked_pause(response: aiohttp.ClientResponse, said: str, now: float) -> float | None:
    """Seconds GitHub wants us to wait, if this answer is a rate limit of the first or second kind."""
    if response.status not in (403, 429):
        return None
    if retry_after := response.headers.get("Retry-After"):
        return float(retry_after)
    if response.headers.get("X-RateLimit-Remaining") == "0":
        return float(response.headers.get("X-RateLimit-Reset", "0")) - now
    return 60 if response.status == 429 or "rate limit" in said.lower() else None


def _error(status: int, said: str, path: str) -> NotFound | Unavailable:
    match status:
        case 404 | 410:
            return NotFound(
                f"GitHub has no {path}: deleted, private or never there.", code="source_not_found"
            )
        case 409 | 422:
            return NotFound(f"GitHub has nothing at {path}: {said}", code="source_empty")
        case 451:
            return NotFound(f"GitHub has taken {path} down for legal reasons.", code="source_taken_down")
        case 401:
            return Unavailable(f"GitHub refuses our token: {said}", code="github_bad_token")
        case _:
            return Unavailable(f"GitHub answered {status}: {said}", code="github_unavailable")
