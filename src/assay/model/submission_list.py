"""What somebody wants to see of the queue: which submissions, and in which order."""

from dataclasses import dataclass
from enum import StrEnum

from assay.model.repository import RepositoryName
from assay.model.submission import Origin, State


class Sort(StrEnum):
    """What a list is ordered by."""

    CREATED_AT = "createdAt"
    UPDATED_AT = "updatedAt"
    SKILL_NAME = "skillName"
    STATE = "state"
    PROCESSING_ORDER = "processingOrder"


class Direction(StrEnum):
    """Which end of an order comes first."""

    ASC = "asc"
    DESC = "desc"


NEWEST_FIRST = frozenset({Sort.CREATED_AT, Sort.UPDATED_AT})


@dataclass(frozen=True, slots=True)
class Order:
    """By time the newest come first unless the direction says otherwise, by everything else the lowest.

    By state means in the order of the states, and the newest first within each, in both directions.
    """

    sort: Sort = Sort.CREATED_AT
    direction: Direction = Direction.DESC

    @property
    def descending(self) -> bool:
        """Whether the highest come first."""
        return self.direction is Direction.DESC


def order_by(sort: Sort, direction: Direction | None = None) -> Order:
    """An order, in its usual direction unless another is given."""
    return Order(sort, direction or (Direction.DESC if sort in NEWEST_FIRST else Direction.ASC))


@dataclass(frozen=True, slots=True)
class Filters:
    """Only submissions that match all of these."""

    states: frozenset[State] | None = None
    reason: str | None = None
    repository: RepositoryName | None = None
    words: str | None = None
    origin: Origin | None = None
    submitter: str | None = None

    @property
    def are_narrow(self) -> bool:
        """Whether more than the state is asked for, so that the counters do not know the total."""
        return any((self.reason, self.repository, self.words, self.origin, self.submitter))
