"""Lists and searches over the edge copy, with the same orders and cursors as the database queries."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from uuid import UUID

from assay.model.skill import repository_key
from assay.model.submission import Submission, SubmissionFilters, SubmissionSort
from assay.serve.cursor import decode_cursor, encode_cursor
from assay.serve.operations.edge_copy import Card, Snapshot
from assay.serve.queue.queue import QueueQuery
from assay.serve.skills.query import SkillQuery

# The list name in the cursors of the unfiltered list.
CURSORS = SkillQuery().fingerprint
# As in the database search, because common words match everything.
CANDIDATES = 2_000


@dataclass(frozen=True)
class CardPage:
    cards: list[Card]
    next_cursor: str | None


def page_of_cards(snapshot: Snapshot, *, cursor: str | None, limit: int) -> CardPage:
    """Return a page, last updated first; accepts the cursors of the database list and vice versa."""
    cards: Sequence[Card] = snapshot.cards
    if cursor is not None:
        before = decode_cursor(cursor, CURSORS, tuple[datetime, UUID])
        cards = [card for card in cards if (card.updated_at, card.id) < before]
    page = list(cards[:limit])
    more = encode_cursor(CURSORS, (page[-1].updated_at, page[-1].id)) if len(cards) > limit else None
    return CardPage(page, more)


def search_cards(snapshot: Snapshot, query: str) -> list[Card]:
    """Return exact names first, then skills of the repository, then those with every word (up to CANDIDATES)."""
    query = query.lower()
    words, ending, beginning = query.split(), f"/{query}", f"{query}/"
    called = [card for card in snapshot.cards if card.name.endswith(ending) or card.name == query]
    of_repository = [card for card in snapshot.cards if card.name.startswith(beginning)][:CANDIDATES]
    matching = (card for card in snapshot.cards if all(word in card.text for word in words))
    found = sorted(islice(matching, CANDIDATES), key=lambda card: not all(word in card.name for word in words))
    return list({card.name: card for card in (*called, *of_repository, *found)}.values())


def page_of_submissions(under_way: Sequence[Submission], query: QueueQuery) -> tuple[list[Submission], int]:
    """Return the page of matching submissions from the offset, and the number of all matches."""
    found = [each for each in under_way if _matches(each, query.filters)]
    order = query.order
    match order.sort:
        case SubmissionSort.UPDATED_AT:
            found.sort(key=lambda each: (each.updated_at, each.id), reverse=order.descending)
        case SubmissionSort.SKILL_NAME:
            found.sort(key=lambda each: (each.skill_name, each.id), reverse=order.descending)
        case SubmissionSort.STATE:
            found.sort(key=lambda each: (each.state, each.id), reverse=order.descending)
        case SubmissionSort.PROCESSING_ORDER:
            # Stable: the copy returns them in the order of their jobs.
            found.sort(key=lambda each: -each.priority)
        case SubmissionSort.CREATED_AT:
            found.sort(key=lambda each: (each.created_at, each.id), reverse=order.descending)
    start = query.offset or 0
    return found[start : start + query.limit], len(found)


def _matches(submission: Submission, filters: SubmissionFilters) -> bool:
    repository = submission.repository.name
    reason = submission.reason.code if submission.reason else None
    text = f"{submission.skill_name} {repository_key(repository)}".lower()
    return (
        (filters.states is None or submission.state in filters.states)
        and (filters.reason is None or filters.reason == reason)
        and (filters.repository is None or filters.repository.key == repository.key)
        and (filters.words is None or filters.words.lower() in text)
        and (filters.origin is None or filters.origin is submission.origin)
        and (filters.submitter is None or filters.submitter == submission.submitter)
    )
