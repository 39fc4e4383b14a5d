"""Query parameters of submission lists, declared once for the API, the queue page, reviews and degraded answers."""

from dataclasses import dataclass, field
from typing import Annotated, Any

from litestar.params import QueryParameter

from assay.model.account import Caller
from assay.model.errors import Invalid, Unauthenticated
from assay.model.submission import (
    STATE_GROUPS,
    Origin,
    SortDirection,
    State,
    StateGroup,
    SubmissionFilters,
    SubmissionSort,
    submission_order,
)
from assay.serve.queue.queue import QueueQuery
from assay.serve.skills.query import normalised
from assay.settings import Settings
from assay.submit.validate import parse_repository_url

REASON = r"^[\w.:-]{1,100}$"


@dataclass(frozen=True)
class _StateParameters:
    # Litestar reserves the name `state`.
    in_state: Annotated[
        State | None, QueryParameter(name="state", description="Only submissions in this state; not with `category`.")
    ] = None
    category: Annotated[StateGroup | None, QueryParameter(description="Only submissions in this group of states.")] = (
        None
    )


@dataclass(frozen=True)
class SubmissionFilterParameters:
    """The filters that all lists of submissions share."""

    reason: Annotated[
        str | None, QueryParameter(pattern=REASON, description="Only submissions with this reason code.")
    ] = None
    repo_url: Annotated[
        str | None,
        QueryParameter(
            name="repoUrl",
            max_length=500,
            description="Only submissions of this repository, given by any form of its URL.",
        ),
    ] = None
    q: Annotated[
        str | None,
        QueryParameter(
            max_length=500,
            description="Part of the skill's name or of `owner/repo`, 2 to 100 characters. Example: `pdf`.",
        ),
    ] = None
    source: Annotated[
        Origin | None, QueryParameter(description="Only submissions that came in this way, such as `cli`.")
    ] = None

    def filters(self, settings: Settings, **others: Any) -> SubmissionFilters:
        """Return the filters; raise Invalid with the name of the parameter that is wrong."""
        repository = None
        if self.repo_url is not None:
            repository, _ = parse_repository_url(self.repo_url, settings.github_web_url, settings.git_hosts)
        return SubmissionFilters(
            reason=self.reason,
            repository=repository,
            words=normalised(self.q, settings.github_web_url) if self.q is not None else None,
            origin=self.source,
            **others,
        )


@dataclass(frozen=True)
class SubmissionListParameters(SubmissionFilterParameters, _StateParameters):
    """The parameters of `GET /api/v1/submissions`."""

    mine: Annotated[bool, QueryParameter(description="Only my own submissions; requires an account.")] = False
    sort: Annotated[SubmissionSort, QueryParameter(description="The sort key.")] = SubmissionSort.CREATED_AT
    direction: Annotated[
        SortDirection | None,
        QueryParameter(name="dir", description="Defaults to `desc` for times and to `asc` for everything else."),
    ] = None
    sort_dir: Annotated[SortDirection | None, QueryParameter(name="sortDir", description="Another name of `dir`.")] = (
        None
    )
    limit: Annotated[int, QueryParameter(ge=1, le=500, description="Submissions per page.")] = 50
    cursor: Annotated[
        str | None,
        QueryParameter(max_length=1000, description="`nextCursor` of the previous page of the same list."),
    ] = None
    offset: Annotated[
        int | None, QueryParameter(description="Submissions to skip, at most 10,000; not with `cursor`.")
    ] = None

    def query(self, settings: Settings, caller: Caller) -> QueueQuery:
        """Return the query; raise Invalid with the name of the parameter that is wrong."""
        if self.direction is not None and self.sort_dir is not None:
            raise Invalid("dir, sortDir: they are the same; give only one of them.", code="repeated_parameter")
        if self.in_state is not None and self.category is not None:
            raise Invalid("state, category: give only one of them.", code="bad_filter")
        states = STATE_GROUPS[self.category] if self.category else None
        filters = self.filters(
            settings,
            states=frozenset({self.in_state}) if self.in_state else states,
            submitter=_submitter(caller) if self.mine else None,
        )
        order = submission_order(self.sort, self.direction or self.sort_dir)
        return QueueQuery(filters, order, self.limit, self.cursor, self.offset)


@dataclass(frozen=True)
class QueuePageParameters(SubmissionListParameters):
    """The parameters of the page `/queue`: those of the list, without the fields below."""

    in_state: State | None = field(default=None, init=False)
    sort_dir: SortDirection | None = field(default=None, init=False)
    limit: int = field(default=50, init=False)
    offset: int | None = field(default=None, init=False)


def is_mine(submitter: str | None, caller: Caller) -> bool:
    """Return whether the caller is the submitter."""
    return submitter is not None and caller.account_id is not None and submitter == str(caller.account_id)


def _submitter(caller: Caller) -> str:
    if caller.account_id is None:
        raise Unauthenticated("mine: sign in to see your own submissions.")
    return str(caller.account_id)
