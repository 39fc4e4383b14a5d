"""Ranges in GitHub's search qualifiers: `10..50`, `>=100`, `2026-01-01..*`."""

import operator
import re
from collections.abc import Callable, Iterator
from typing import Any

Comparison = Callable[[Any, Any], bool]

_SIGNS: dict[str, Comparison] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
    "": operator.eq,
}


class InvalidRangeError(ValueError):
    """A range that GitHub would not accept."""


def number_within(value: int, expression: str) -> bool:
    for compare, bound in _comparisons(expression):
        if not bound.isdecimal():
            raise InvalidRangeError(expression)
        if not compare(value, int(bound)):
            return False
    return True


def date_within(value: str, expression: str) -> bool:
    """Return whether an ISO date is in a range; a bound without a time means the whole day."""
    for compare, bound in _comparisons(expression):
        if not re.match(r"\d{4}-\d\d-\d\d", bound):
            raise InvalidRangeError(expression)
        if not compare(value[: len(bound)].upper(), bound.upper()):
            return False
    return True


def _comparisons(expression: str) -> Iterator[tuple[Comparison, str]]:
    low, dots, high = expression.partition("..")
    if dots:
        if low != "*":
            yield operator.ge, low
        if high != "*":
            yield operator.le, high
        return
    bound = expression.lstrip("<>=")
    sign = expression.removesuffix(bound) if bound else expression
    if sign not in _SIGNS:
        raise InvalidRangeError(expression)
    yield _SIGNS[sign], bound
