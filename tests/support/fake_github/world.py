"""The world a test builds: repositories, tokens, limits and failures of one fake GitHub."""

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
from tests.support.fake_github.repository import FakeRepository
from tests.support.fake_github.request import Request

Hit = TypeVar("Hit")


class FakeGitHub:
    """One GitHub. Tests change it from their thread while a server's thread answers from it."""

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
        """GitHub answers 403 or 429 when a limit is used up."""
        self.etags_differ_by_token = True
        """As GitHub's do: an ETag got with one token gives no 304 with another."""
        self.anonymous_304_is_free = True
        """GitHub promises free 304s only to authorized requests; set False to be as strict."""
        self.incomplete_results = False
        """What searches say of themselves."""
        self.organisations: set[str] = set()
        """Owners that are no people, in lower case."""
        self.events: list[dict[str, object]] = []
        """What happened, the oldest first; entered by `happen`."""
        self.poll_seconds = 60
        """How long GitHub wants to be left alone between two looks at events."""
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
        """A new repository with one commit; without files it is empty. `readers` are tokens."""
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
            self.forget_searches()
            return repository

    def happen(self, full_name: str, kind: str = "PushEvent") -> None:
        """Something happens to a repository now, for the public lists of events."""
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
        """Accept a token; `limit` is core calls an hour, the search limits are calls a minute."""
        with self.lock:
            self.limits.add_token(token, limit, search_limit, code_search_limit, used)
        return token

    def add_app(self, app_id: str, public_key: str, *installations: int, limit: int = 5000) -> None:
        """Register a GitHub App (public key in PEM) that is installed under these numbers."""
        with self.lock:
            granted = {number: grant(f"installation ID {number}", limit, 30, 10) for number in installations}
            self.apps.known[app_id] = FakeApp(public_key, granted)

    def add_oauth_app(self, client_id: str, client_secret: str, callback_url: str) -> None:
        """Register an application with which people sign in."""
        with self.lock:
            self.oauth.apps[client_id] = OAuthApp(client_id, client_secret, callback_url)

    def visit(self, github_id: int, login: str, *, denies: bool = False) -> None:
        """From now on this is the person at the browser."""
        with self.lock:
            self.oauth.visitor, self.oauth.visitor_denies = Person(github_id, login), denies

    def give_token(self, client_id: str, github_id: int, login: str) -> str:
        """A token of this person for an application, as by the flow for devices."""
        with self.lock:
            return self.add_token(self.oauth.give(self.oauth.apps[client_id], Person(github_id, login)))

    def exchange(self, request: Request) -> Answer:
        """A token for a code; it has a rate limit of its own."""
        answer, token = self.oauth.exchange(request, self.now())
        if token is not None:
            self.add_token(token)
        return answer

    def revoke_token(self, token: str) -> None:
        """From now on the token is bad credentials."""
        with self.lock:
            self.limits.revoke_token(token)

    def limit_anonymous(self, limit: int, search_limit: int = 10) -> None:
        """Change what a client without a token may do, with fresh windows."""
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
        """Answer a route with an error; `times` None until `heal`."""
        content = body.encode() if isinstance(body, str) else body
        self._add_fault(route, faults.failure(route, status, times, retry_after, content))

    def fail_every(self, number: int) -> None:
        """Each so-many-th answer of the API is a server error, until `heal`."""
        with self.lock:
            self.faults.every = number

    def secondary_limit(self, route: str, retry_after: int | None = 2, times: int | None = 1) -> None:
        """Refuse a route as GitHub refuses clients that are too quick."""
        self._add_fault(route, faults.secondary_limit(times, retry_after))

    def drop_connection(self, route: str, times: int | None = 1, after_bytes: int | None = None) -> None:
        """Close the connection before answering, or when so many bytes of the body were sent."""
        self._add_fault(route, faults.dropped_connection(times, after_bytes))

    def truncate_archive(self, times: int | None = 1, keep_bytes: int | None = None) -> None:
        """Send only the first bytes of an archive, by default half, as a complete answer."""
        self._add_fault("archive", faults.truncation(times, keep_bytes))

    def latency(self, route: str, seconds: float) -> None:
        """Hold a route's answers back."""
        with self.lock:
            self.faults.latency_seconds[_known(route)] = seconds

    def heal(self) -> None:
        """Forget all failures and delays."""
        with self.lock:
            self.faults.clear()

    def count(self, route: str | None = None) -> int:
        """How many calls a route got, or all."""
        with self.lock:
            return self.calls.by_route.total() if route is None else self.calls.by_route[_known(route)]

    def count_api(self) -> int:
        """How many calls were charged to a rate limit."""
        with self.lock:
            return self.calls.charged

    def reset_calls(self) -> None:
        """Count from nothing again."""
        with self.lock:
            self.calls.clear()

    def serve_at(self, base_url: str) -> None:
        """Say where the world is reached, since answers carry addresses."""
        with self.lock:
            self.base_url = base_url
            self.forget_searches()
            for repository in self.directory.all():
                repository.forget_answers()

    def remembered_search(self, key: object, make: Callable[[], Answer]) -> Answer:
        """A search's answer, made once and given again until some repository changes."""
        answer = self._searches.get(key)
        if answer is None:
            answer = self._searches[key] = make()
        return answer

    def remembered_hits(self, key: object, make: Callable[[], list[Hit]]) -> list[Hit]:
        """What a question finds, looked for once for all of its pages."""
        hits: list[Hit] | None = self._hits.get(key)
        if hits is None:
            hits = self._hits[key] = make()
        return hits

    def forget_searches(self) -> None:
        """Search anew."""
        self._searches.clear()
        self._hits.clear()

    def _add_fault(self, route: str, fault: faults.Fault) -> None:
        with self.lock:
            self.faults.add(_known(route), fault)


def _known(route: str) -> str:
    if route not in ROUTES:
        raise ValueError(f"{route} is no route; there are {', '.join(ROUTES)}.")
    return route
