"""Width: how long the longest match of a regular expression may be, so that nobody looks farther for it."""

import re

# A repeat, once no repeat is without a bound.
_REPEAT = re.compile(rb"\?|\{(?:\d+,)?(\d+)\}")
_ESCAPE = re.compile(rb"\\(?:x[0-9a-fA-F]{2}|.)", re.DOTALL)
_CLASS = re.compile(rb"\[\^?\]?(?:\\.|[^\]\\])*\]")
# What only looks around itself, or is no more than a remark.
_NO_WIDTH = re.compile(rb"\(\?(?:[=!#]|<[=!])")
_GROUP = re.compile(rb"\((?:\?[imsx-]*:|\?P<\w+>)?")
_PLACES = (b"\\b", b"\\B", b"\\A", b"\\Z")


def width_of(regex: bytes) -> int:
    """The bytes of its longest match; every repeat in it must have a bound."""
    width, end = _branches(regex, 0)
    assert end == len(regex)
    return width


def _branches(regex: bytes, place: int) -> tuple[int, int]:
    """The width of what stands from here to the end of its group, and where that is."""
    widest = width = 0
    while place < len(regex) and regex[place] != ord(")"):
        if regex[place] == ord("|"):
            widest, width, place = max(widest, width), 0, place + 1
            continue
        one, place = _item(regex, place)
        repeat = _REPEAT.match(regex, place)
        if repeat:
            one, place = one * int(repeat[1] or 1), repeat.end()
            # A repeat that takes as little as it can.
            place += regex[place : place + 1] == b"?"
        width += one
    return max(widest, width), place


def _item(regex: bytes, place: int) -> tuple[int, int]:
    if regex[place] == ord("("):
        around = _NO_WIDTH.match(regex, place)
        group = around or _GROUP.match(regex, place)
        assert group
        width, end = _branches(regex, group.end())
        return 0 if around else width, end + 1
    if escape := _ESCAPE.match(regex, place):
        return int(escape[0] not in _PLACES), escape.end()
    if characters := _CLASS.match(regex, place):
        return 1, characters.end()
    return int(regex[place] not in b"^$"), place + 1
