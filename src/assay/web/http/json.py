"""Base types of JSON requests and responses, and problem bodies (RFC 9457).

One definition serves validation, encoding and documentation. The types of each noun are in its own `json.py`.
"""

from collections.abc import Sequence
from datetime import datetime
from functools import cache
from typing import Any, Self

import msgspec
import msgspec.inspect

# Body limit of requests that carry a few fields.
LARGEST_REQUEST_BYTES = 64 * 1024
SCALARS = (
    msgspec.inspect.BoolType,
    msgspec.inspect.IntType,
    msgspec.inspect.FloatType,
    msgspec.inspect.StrType,
    msgspec.inspect.NoneType,
    msgspec.inspect.EnumType,
    msgspec.inspect.LiteralType,
    msgspec.inspect.DateTimeType,
    msgspec.inspect.UUIDType,
)


class View(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """A JSON response. Keys are camelCase."""

    @classmethod
    def of(cls, value: object, /, **fields: object) -> Self:
        """Build a view from the attributes of `value` with the same names; `fields` override or add to them.

        Nested values are converted to the declared types, so a list of dataclasses may become a list of views.
        """
        scalars, nested = _fields_by_kind(cls)
        for name in scalars:
            if name not in fields:
                fields[name] = getattr(value, name)
        for name, kind in nested:
            given = fields[name] if name in fields else getattr(value, name)
            fields[name] = msgspec.convert(given, kind, from_attributes=True)
        return cls(**fields)


@cache
def _fields_by_kind(view: type[View]) -> tuple[Sequence[str], Sequence[tuple[str, Any]]]:
    """Return the scalar fields, which need no conversion, and the other fields with their types."""
    fields = msgspec.structs.fields(view)
    scalars = [field.name for field in fields if _is_scalar(msgspec.inspect.type_info(field.type))]
    return scalars, [(field.name, field.type) for field in fields if field.name not in scalars]


def _is_scalar(info: msgspec.inspect.Type) -> bool:
    if isinstance(info, msgspec.inspect.UnionType):
        return all(_is_scalar(each) for each in info.types)
    return isinstance(info, SCALARS)


class Body(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """A JSON request. Keys are camelCase, and unknown keys are refused."""


class ProblemView(msgspec.Struct, frozen=True):
    """An error (RFC 9457). `code` is stable and meant for programs; `detail` is a sentence for people."""

    type: str
    title: str
    status: int
    code: str
    detail: str


class ChoicesView(ProblemView, frozen=True):
    """The name is ambiguous. `choices` lists the full names of the matching skills."""

    choices: list[str]


class GoneProblemView(ProblemView, frozen=True):
    """The listing or version was removed. `reason` says why, and `since` says when."""

    reason: str | None
    since: datetime | None
