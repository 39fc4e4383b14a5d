"""What a reader asks of the queue, from the parameters of the API or of the page."""

import re

from assay.model.account import Caller
from assay.model.errors import Invalid, Unauthenticated
from assay.model.submission import CATEGORIES, Category, Origin, State
from assay.model.submission_list import Direction, Filters, Sort, order_by
from assay.serve.queue.queue import QueueQuery
from assay.serve.skills.query import normalised
from assay.submit.validate import parse_repository_url

REASON = r"^[\w.:-]{1,100}$"


def queue_query(
    *,
    web_url: str,
    git_hosts: tuple[str, ...] = (),
    caller: Caller,
    state: State | None = None,
    category: Category | None = None,
    reason: str | None = None,
    repo_url: str | None = None,
    q: str | None = None,
    source: Origin | None = None,
    mine: bool = False,
    sort: Sort = Sort.CREATED_AT,
    direction: Direction | None = None,
    limit: int = 50,
    cursor: str | None = None,
    offset: int | None = None,
) -> QueueQuery:
    """The query, or Invalid with the name of the parameter that is wrong."""
    if state is not None and category is not None:
        raise Invalid("state, category: give either state or category, not both.", code="bad_filter")
    if reason is not None and not re.match(REASON, reason):
        raise Invalid("reason: give the code of a reason.", code="bad_filter")
    filters = Filters(
        states=frozenset({state}) if state else CATEGORIES[category] if category else None,
        reason=reason,
        repository=parse_repository_url(repo_url, web_url, git_hosts)[0] if repo_url is not None else None,
        words=normalised(q, web_url) if q is not None else None,
        origin=source,
        submitter=_submitter(caller) if mine else None,
    )
    return QueueQuery(filters, order_by(sort, direction), limit, cursor, offset)


def one_direction(direction: Direction | None, alias: Direction | None) -> Direction | None:
    """`dir` and `sortDir` are two names of one parameter."""
    if direction is not None and alias is not None:
        raise Invalid("dir, sortDir: they are the same; give one of them.", code="repeated_parameter")
    return direction or alias


def is_mine(submitter: str | None, caller: Caller) -> bool:
    """Whether the caller is the person who submitted it."""
    return submitter is not None and caller.account_id is not None and submitter == str(caller.account_id)


def _submitter(caller: Caller) -> str:
    if caller.account_id is None:
        raise Unauthenticated("mine: sign in to see your own submissions.")
    return str(caller.account_id)
