"""The REST API: authentication, rate limits and conditional requests."""

from tests.support.fake_github.answer import (
    BAD_CREDENTIALS,
    DOCS,
    NO_USER_AGENT,
    Answer,
    Handled,
    Header,
    etag_of,
    json_answer,
    problem,
)
from tests.support.fake_github.endpoints import respond
from tests.support.fake_github.limits import Allowance, Bucket
from tests.support.fake_github.request import Request
from tests.support.fake_github.world import FakeGitHub

_API_HEADERS: tuple[Header, ...] = (
    (b"server", b"github.com"),
    (b"vary", b"Accept, Authorization, Cookie, X-GitHub-OTP"),
)
_LIMIT_DOCS = f"{DOCS}/overview/rate-limits-for-the-rest-api"
_ANONYMOUS_HINT = (
    " (But here's the good news: Authenticated requests get a higher rate limit."
    " Check out the documentation for more details.)"
)


def answer_api(world: FakeGitHub, request: Request) -> Handled:
    """Respond to an API request and charge it to its token or client."""
    route = _route(request.parts)
    if route == "installation" and request.method == "POST":
        granted = world.faults.apply(route, lambda: world.apps.grant(request, world.limits, world.now()))
        return Handled(route, granted, _API_HEADERS)
    if route == "check" and request.method == "POST":
        checked = world.faults.apply(route, lambda: world.oauth.check(request, world.limits.knows))
        return Handled(route, checked, _API_HEADERS)
    world.apps.expire(world.limits, world.now())
    known = request.token is None or world.limits.knows(request.token)
    allowance = world.limits.allowance(request.token, request.client)
    bucket = _bucket(allowance, request.parts)
    bucket.roll_over(world.now())
    if not request.user_agent:
        return Handled(route, NO_USER_AGENT)
    if route == "rate_limit" and known:
        answer = world.faults.apply(route, lambda: _rate_limit(world, allowance))
        return _handled(route, answer, bucket, charged=False)
    if not known:
        return _handled(route, BAD_CREDENTIALS, bucket, charged=bucket.remaining > 0)
    if bucket.remaining == 0:
        world.calls.refused[bucket.resource] += 1
        return _handled(route, _limit_exceeded(world, request, allowance), bucket, charged=False)
    answer = world.faults.apply(route, lambda: respond(world, request, route))
    if answer.plain_etag:
        known = b'"%s"' % answer.plain_etag in request.if_none_match
        found = Answer(304) if known else answer
        free = known and (request.token is not None or world.anonymous_304_is_free)
        return _handled(route, found, bucket, (b"etag", b'"%s"' % answer.plain_etag), charged=not free)
    if not answer.digest:
        return _handled(route, answer, bucket)
    return _handled_conditionally(world, request, route, answer, bucket)


def _handled_conditionally(world: FakeGitHub, request: Request, route: str, answer: Answer, bucket: Bucket) -> Handled:
    etag = etag_of(answer.digest, request.token if world.etags_differ_by_token else None)
    header = (b"etag", b'W/"%s"' % etag)
    if etag not in request.if_none_match:
        return _handled(route, answer, bucket, header)
    free = request.token is not None or world.anonymous_304_is_free
    kept = tuple(each for each in answer.headers if not each[0].startswith(b"content-"))
    return _handled(route, Answer(304, headers=kept), bucket, header, charged=not free)


def _handled(route: str, answer: Answer, bucket: Bucket, *headers: Header, charged: bool = True) -> Handled:
    if charged:
        bucket.used += 1
    return Handled(route, answer, _API_HEADERS + bucket.headers() + headers, charged)


def _route(parts: list[str]) -> str:
    match parts[1:]:
        case ["repos", _, _, *rest] | ["repositories", _, *rest]:
            match rest:
                case []:
                    return "repo"
                case ["commits", _, *_]:
                    return "commit"
                case ["git", "trees", _, *_]:
                    return "tree"
        case ["search", "repositories" | "code"]:
            return "search"
        case ["app", "installations", _, "access_tokens"]:
            return "installation"
        case ["applications", _, "token"]:
            return "check"
        case ["orgs" | "users", _, "repos"]:
            return "owner"
        case ["users", _]:
            return "account"
        case ["user", "memberships", "orgs", _]:
            return "membership"
        case ["events"] | ["orgs", _, "events"] | ["users", _, "events", "public"]:
            return "events"
        case ["rate_limit" | "user" as route]:
            return route
    return "unknown"


def _bucket(allowance: Allowance, parts: list[str]) -> Bucket:
    if parts[1:2] != ["search"]:
        return allowance.core
    return allowance.code_search if parts[-1] == "code" else allowance.search


def _rate_limit(world: FakeGitHub, allowance: Allowance) -> Answer:
    for bucket in allowance.buckets():
        bucket.roll_over(world.now())
    resources = {bucket.resource: bucket.describe() for bucket in allowance.buckets()}
    return json_answer(200, {"resources": resources, "rate": resources["core"]})


def _limit_exceeded(world: FakeGitHub, request: Request, allowance: Allowance) -> Answer:
    hint = _ANONYMOUS_HINT if request.token is None else ""
    return problem(world.exhausted_status, f"API rate limit exceeded for {allowance.owner}.{hint}", _LIMIT_DOCS)
