"""Opaque cursors: keyset positions in a list, stable while rows are inserted."""

import base64
import binascii
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TypeVar

import msgspec

from assay.model.errors import Invalid

PositionT = TypeVar("PositionT", bound=tuple[object, ...])


class _Cursor(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    """The content of a cursor: the list it belongs to, and a position in it."""

    list_name: str
    position: msgspec.Raw


def encode_cursor(list_name: str, position: Sequence[object]) -> str:
    raw = msgspec.json.encode(_Cursor(list_name, msgspec.Raw(msgspec.json.encode(position))))
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def decode_cursor(cursor: str, list_name: str, kind: type[PositionT]) -> PositionT:
    """Return the position; raises Invalid if the cursor is malformed or belongs to another list."""
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        decoded = msgspec.json.decode(base64.b64decode(padded, altchars=b"-_", validate=True), type=_Cursor)
        position = [_fit_for_database(value) for value in msgspec.json.decode(decoded.position, type=kind)]
    except (ValueError, OverflowError, binascii.Error):  # msgspec's errors are ValueErrors
        raise Invalid("cursor: use the `nextCursor` of a previous page.", code="bad_cursor") from None
    if decoded.list_name != list_name:
        message = "cursor: it belongs to another list. Keep the filters, sort and direction of the previous page."
        raise Invalid(message, code="bad_cursor")
    return kind(position)


def _fit_for_database(value: object) -> object:
    if isinstance(value, str) and "\x00" in value:
        raise ValueError(value)
    # In UTC, because a time in the year 9999 of another zone may be out of the database's range.
    return value.astimezone(UTC) if isinstance(value, datetime) else value
