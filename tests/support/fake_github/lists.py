"""Lists of the REST API: repositories of an owner, and events."""

from collections.abc import Sequence

from tests.support.fake_github.answer import NOT_FOUND, Answer, Header, json_answer
from tests.support.fake_github.bodies import Json, full_repository
from tests.support.fake_github.request import Request
from tests.support.fake_github.world import FakeGitHub


def answer_owner(world: FakeGitHub, request: Request) -> Answer:
    """Respond to `/orgs/{owner}/repos` and `/users/{owner}/repos`; 404 for an owner without repositories."""
    owner = request.parts[2].lower()
    own = [each for each in world.directory.all() if each.owner.lower() == owner]
    if not own or (request.parts[1] == "orgs") != (owner in world.organisations):
        return NOT_FOUND
    listed = [each for each in own if each.visible_to(request.token) and not each.blocked]
    listed.sort(key=lambda repository: repository.pushed_at, reverse=True)
    bodies = [full_repository(each, world.base_url) for each in listed]
    return json_answer(200, _page(bodies, request), conditional=True)


def answer_account(world: FakeGitHub, login: str) -> Answer:
    """Respond to `/users/{login}`; 404 for a login that no repository and no test has."""
    known = {each.owner.lower() for each in world.directory.all()} | set(world.owner_ids)
    if login.lower() not in known:
        return NOT_FOUND
    return json_answer(200, {"login": login, "id": world.id_of_login(login), "type": "User"}, conditional=True)


def answer_events(world: FakeGitHub, request: Request) -> Answer:
    """Respond to `/events`, `/orgs/{owner}/events` and `/users/{owner}/events/public`; 404 for an owner without events."""
    owner = request.parts[2].lower() if len(request.parts) > 2 else None
    events = [each for each in reversed(world.events) if owner in (None, str(each["org"]).lower())]
    if owner and (not events or (request.parts[1] == "orgs") != (owner in world.organisations)):
        return NOT_FOUND
    interval: Header = (b"x-poll-interval", str(world.poll_seconds).encode())
    return json_answer(200, _page(events, request), interval, conditional=True)


def _page(items: Sequence[Json], request: Request) -> Sequence[Json]:
    parameters = request.parameters()
    per_page, page = (int(parameters.get(name, usual)) for name, usual in (("per_page", "30"), ("page", "1")))
    return items[(page - 1) * per_page : page * per_page]
