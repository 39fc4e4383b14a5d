"""Base types of JSON requests and responses, and problem bodies (RFC 9457).

One definition serves validation, encoding and documentation. The types of each noun are in its own `json.py`.
"""

from datetime import datetime
from types import SimpleNamespace
from typing import Self

import msgspec

# Body limit of requests that carry a few fields.
LARGEST_REQUEST_BYTES = 64 * 1024


class View(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """A JSON response. Keys are camelCase."""

    @classmethod
    def of(cls, value: object, /, **fields: object) -> Self:
        """Build a view from the attributes of `value` with the same names; `fields` override or add to them.

        Nested values are converted to the declared types, so a list of dataclasses may become a list of views.
        """
        if not fields:
            return msgspec.convert(value, cls, from_attributes=True)
        values = {name: fields[name] if name in fields else getattr(value, name) for name in cls.__struct_fields__}
        return msgspec.convert(SimpleNamespace(**values), cls, from_attributes=True)


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
