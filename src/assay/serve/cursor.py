"""Opaque positions in a list: where the next page starts, whatever is inserted meanwhile."""

import base64
import binascii
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TypeVar

import msgspec

from assay.model.errors import Invalid

Place = TypeVar("Place", bound=tuple[object, ...])


class _Written(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    """What a cursor holds: the list it is of, and the place in it."""

    of: str
    place: msgspec.Raw


def encode_cursor(of: str, place: Sequence[object]) -> str:
    """The place after a row of this list."""
    written = msgspec.json.encode(_Written(of, msgspec.Raw(msgspec.json.encode(place))))
    return base64.urlsafe_b64encode(written).decode().rstrip("=")


def decode_cursor(cursor: str, of: str, kind: type[Place]) -> Place:
    """The place, or Invalid if this is not a cursor of ours, or one of another list."""
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        written = msgspec.json.decode(base64.b64decode(padded, altchars=b"-_", validate=True), type=_Written)
        place = [_fit_for_database(value) for value in msgspec.json.decode(written.place, type=kind)]
    except (ValueError, OverflowError, binascii.Error):  # msgspec's errors are ValueErrors
        raise Invalid("cursor: take it from the `nextCursor` of a page.", code="bad_cursor") from None
    if written.of != of:
        message = "cursor: it is of another list; give the same filters, sort and direction as the page it is from."
        raise Invalid(message, code="bad_cursor")
    return kind(place)


def _fit_for_database(value: object) -> object:
    if isinstance(value, str) and "\x00" in value:
        raise ValueError(value)
    # In UTC, because a moment of the year 9999 elsewhere may be one that the database cannot hold.
    return value.astimezone(UTC) if isinstance(value, datetime) else value
