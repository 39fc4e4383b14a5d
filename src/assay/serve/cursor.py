"""Opaque positions in a list: where the next page starts, whatever is inserted meanwhile."""

import base64
import binascii
from datetime import UTC, datetime
from uuid import UUID

from assay.model.errors import Invalid


def encode_cursor(moment: datetime, number: UUID) -> str:
    """A position after a row that is ordered by time and id."""
    return base64.urlsafe_b64encode(f"{moment.isoformat()}|{number}".encode()).decode().rstrip("=")


def decode_cursor(cursor: str | None) -> tuple[datetime, UUID] | None:
    """The position, or Invalid if this is not one of ours."""
    if cursor is None:
        return None
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        moment, _, number = base64.urlsafe_b64decode(padded).decode().partition("|")
        # In UTC, because a moment of the year 9999 elsewhere may be one that the database cannot hold.
        return datetime.fromisoformat(moment).astimezone(UTC), UUID(number)
    except (ValueError, OverflowError, binascii.Error):
        raise Invalid("cursor: take it from the `nextCursor` of a page.", code="bad_cursor") from None
