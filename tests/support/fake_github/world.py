"""The state of one fake GitHub: repositories, tokens, limits and faults."""

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, TypeVar

from tests.support.fake_github import faults
from tests.support.fake_github.answer import Answer
from tests.support.fake_github.apps import Apps, FakeApp
from tests.support.fake_github.calls import ROUTES, CallLog
from tests.support.fake_github.commit import Content
from tests.support.fake_github.directory import Directory
from tests.support.fake_github.limits import Limits, grant
from tests.support.fake_github.oauth import OAuth, OAuthApp, Person
from tests.support.fake_github.repository import FakeRepository, id_of_login
from tests.support.fake_github.request import Request

Hit = TypeVar("Hit")


class FakeGitHub:
    """A fake GitHub. Tests change it from their thread while the server's thread reads it."""

    def __init__(
        self,
        *,
        now: Callable[[], float] = time.time,
        anonymous_limit: int = 60,
        anonymous_search_limit: int = 10,
        keep_calls: int = 100_000,
    ) -> None:
        self.lock = threading.RLock()
        self.now = now
        self.base_url = "http://127.0.0.1"
        self.directory = Directory()
        self.limits = Limits(anonymous_limit, anonymous_search_limit)
        self.faults = faults.Faults()
        self.calls = CallLog(keep_calls)
        self.oauth = OAuth()
        self.apps = Apps()
        self.exhausted_status = 403
        """Status when a rate limit is exhausted: GitHub sends 403 or 429."""
        self.etags_differ_by_token = True
        """As on GitHub, an ETag obtained with one token gives no 304 with another."""
        self.anonymous_304_is_free = True
        """GitHub guarantees free 304s only for authorised requests; set False to enforce that."""
        self.incomplete_results = False
        """Value of `incomplete_results` in searches."""
        self.owner_ids: dict[str, int] = {}
        """Numeric ids of users and organisations by login in lower case, if not `id_of_login`."""
        self.organisations: set[str] = set()
        """Owners that are organisations, in lower case."""
        self.events: list[dict[str, object]] = []
        """Events, oldest first; added by `add_event`."""
        self.poll_seconds = 60
        """Value of X-Poll-Interval for events."""
        self._searches: dict[object, Answer] = {}
        self._hits: dict[object, list[Any]] = {}

    def add_repository(
        self,
        full_name: str,
        files: Mapping[str, Content] | None = None,
        *,
        default_branch: str = "main",
        stars: int = 0,
        description: str = "",
        topics: Iterable[str] = (),
        private: bool = False,
        readers: Iterable[str] = (),
        created_at: str = "2026-01-01T00:00:00Z",
        pushed_at: str | None = None,
    ) -> FakeRepository:
        """Add a repository with one commit, or an empty one without files. `readers` are tokens."""
        with self.lock:
            repository = FakeRepository(self, self.directory.next_id, full_name)
            repository.default_branch = default_branch
            repository.stars = stars
            repository.description = description
            repository.topics = tuple(topics)
            repository.private = private
            repository.allow(readers)
            repository.created_at = repository.pushed_at = created_at
            if files:
                repository.push(files, message="Add files")
            if pushed_at:
                repository.pushed_at = pushed_at
            self.directory.add(repository)
            self.clear_searches()
            return repository

    def id_of_login(self, login: str) -> int:
        """Return the numeric id of a user or organisation."""
        return self.owner_ids.get(login.lower()) or id_of_login(login)

    def add_event(self, full_name: str, kind: str = "PushEvent") -> None:
        """Add a public event about a repository, at the current time."""
        stamp = datetime.fromtimestamp(self.now(), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        owner = full_name.partition("/")[0]
        with self.lock:
            number = str(len(self.events) + 1)
            repository = {"id": 0, "name": full_name, "url": f"{self.base_url}/api/repos/{full_name}"}
            self.events.append(
                {"id": number, "type": kind, "org": owner, "repo": repository, "payload": {}, "created_at": stamp}
            )

    def add_token(
        self,
        token: str,
        *,
        limit: int = 5000,
        used: int = 0,
        search_limit: int = 30,
        code_search_limit: int = 10,
    ) -> str:
        """Accept a token; `limit` is in core calls per hour, search limits are per minute."""
        with self.lock:
            self.limits.add_token(token, limit, search_limit, code_search_limit, used)
        return token

    def add_app(self, app_id: str, public_key: str, *installations: int, limit: int = 5000) -> None:
        """Register a GitHub App (public key in PEM) with these installation ids."""
        with self.lock:
            granted = {number: grant(f"installation ID {number}", limit, 30, 10) for number in installations}
            self.apps.known[app_id] = FakeApp(public_key, granted)

    def add_oauth_app(self, client_id: str, client_secret: str, callback_url: str) -> None:
        """Register an OAuth application for sign-in."""
        with self.lock:
            self.oauth.apps[client_id] = OAuthApp(client_id, client_secret, callback_url)

    def sign_in_as(self, github_id: int, login: str, *, denies: bool = False) -> None:
        """Set the person who is signed in to GitHub in the browser."""
        with self.lock:
            self.oauth.visitor, self.oauth.visitor_denies = Person(github_id, login), denies

    def issue_token(self, client_id: str, github_id: int, login: str) -> str:
        """Issue a token of a person to an application, as the device flow does."""
        with self.lock:
            return self.add_token(self.oauth.issue_token(self.oauth.apps[client_id], Person(github_id, login)))

    def exchange(self, request: Request) -> Answer:
        """Exchange a code for a token with its own rate limit."""
        answer, token = self.oauth.exchange(request, self.now())
        if token is not None:
            self.add_token(token)
        return answer

    def revoke_token(self, token: str) -> None:
        """Reject the token from now on."""
        with self.lock:
            self.limits.revoke_token(token)

    def limit_anonymous(self, limit: int, search_limit: int = 10) -> None:
        """Set the limits of clients without a token and reset their windows."""
        with self.lock:
            self.limits.limit_anonymous(limit, search_limit)

    def fail(
        self,
        route: str,
        status: int = 500,
        times: int | None = 1,
        retry_after: int | None = None,
        body: bytes | str | None = None,
    ) -> None:
        """Respond to a route with an error; `times` None lasts until `heal`."""
        content = body.encode() if isinstance(body, str) else body
        self._add_fault(route, faults.failure(route, status, times, retry_after, content))

    def fail_every(self, number: int) -> None:
        """Make every n-th API response a server error until `heal`."""
        with self.lock:
            self.faults.every = number

    def secondary_limit(self, route: str, retry_after: int | None = 2, times: int | None = 1) -> None:
        """Respond to a route with GitHub's secondary rate limit."""
        self._add_fault(route, faults.secondary_limit(times, retry_after))

    def drop_connection(self, route: str, times: int | None = 1, after_bytes: int | None = None) -> None:
        """Close the connection before the response, or after this many bytes of its body."""
        self._add_fault(route, faults.dropped_connection(times, after_bytes))

    def truncate_archive(self, times: int | None = 1, keep_bytes: int | None = None) -> None:
        """Send only the first bytes of an archive, by default half, as a complete response."""
        self._add_fault("archive", faults.truncation(times, keep_bytes))

    def latency(self, route: str, seconds: float) -> None:
        """Delay the responses of a route."""
        with self.lock:
            self.faults.latency_seconds[_known(route)] = seconds

    def heal(self) -> None:
        """Remove all faults and delays."""
        with self.lock:
            self.faults.clear()

    def count(self, route: str | None = None) -> int:
        """Return the number of calls to a route, or to all."""
        with self.lock:
            return self.calls.by_route.total() if route is None else self.calls.by_route[_known(route)]

    def count_api(self) -> int:
        """Return the number of calls charged to a rate limit."""
        with self.lock:
            return self.calls.charged

    def reset_calls(self) -> None:
        with self.lock:
            self.calls.clear()

    def serve_at(self, base_url: str) -> None:
        """Set the base URL, which responses contain."""
        with self.lock:
            self.base_url = base_url
            self.clear_searches()
            for repository in self.directory.all():
                repository.clear_answers()

    def cached_search(self, key: object, make: Callable[[], Answer]) -> Answer:
        """Return a search response that is cached until a repository changes."""
        answer = self._searches.get(key)
        if answer is None:
            answer = self._searches[key] = make()
        return answer

    def cached_hits(self, key: object, make: Callable[[], list[Hit]]) -> list[Hit]:
        """Return the hits of a query, cached for all of its pages."""
        hits: list[Hit] | None = self._hits.get(key)
        if hits is None:
            hits = self._hits[key] = make()
        return hits

    def clear_searches(self) -> None:
        self._searches.clear()
        self._hits.clear()

    def _add_fault(self, route: str, fault: faults.Fault) -> None:
        with self.lock:
            self.faults.add(_known(route), fault)


def _known(route: str) -> str:
    if route not in ROUTES:
        raise ValueError(f"Unknown route {route}; known routes: {', '.join(ROUTES)}.")
    return route
