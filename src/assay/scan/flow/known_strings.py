"""Strings that a program puts together from constants, as far as they can be known without running it."""

import html
import re
from collections.abc import Callable
from urllib.parse import unquote_to_bytes

from assay.scan.decode.encodings import bytes_of_base64, bytes_of_hex, decode_rot13, inflate
from assay.scan.flow.known_values import UNKNOWN, Known, any_of, items_of
from assay.scan.flow.sensitive import name_set
from assay.scan.flow.taint import HOLE, NOTHING, TEXT_LIMIT, Origin, Taint, Taints, join_texts, merge_taints

# Words that nobody cuts in two except to keep them from being found.
_CUT_WORDS = name_set(
    "import exec eval compile os system popen subprocess socket base64 curl wget bash getattr builtins requests urllib"
    " __import__ pickle marshal ctypes environ child_process Function powershell"
)
_WORD_BEFORE = re.compile(r"\w{1,20}$")
_WORD_AFTER = re.compile(r"^\w{1,20}")
_FORMAT_FIELD = re.compile(r"\{(\w*)(?:[:!][^{}]*)?\}")
_PERCENT_FIELD = re.compile(r"%(?:\((\w+)\))?[-+0 #]*\d*(?:\.\d+)?[sdrfx]")


def concatenate(left: Known, right: Known, line: int) -> Known:
    """One text after the other; a sensitive word that is cut between them is noted."""
    if left.items is not None and right.items is not None:
        return Known((), merge_taints((left.taints, right.taints)), (), items_of(left.items + right.items))
    taints = merge_taints((left.taints, right.taints, cut_word(left.known, right.known, line)))
    if not left.texts and not right.texts:
        return Known((), taints)
    return Known(join_texts((left.texts, right.texts)), taints)


def cut_word(left: str | None, right: str | None, line: int) -> Taints:
    """The sensitive word that only stands there once both texts are joined."""
    if not left or not right:
        return NOTHING
    before, after = _WORD_BEFORE.search(left[-20:]), _WORD_AFTER.match(right[:20])
    if before and after and before[0] + after[0] in _CUT_WORDS:
        return frozenset({Taint(line, Origin.ASSEMBLED, f"{before[0]!r} + {after[0]!r}")})
    return NOTHING


def join_path(parts: list[Known]) -> Known:
    """One part below the other; an absolute part begins anew."""
    pieces: list[tuple[str, ...]] = []
    for part in parts:
        texts = tuple(text.rstrip("/") if len(text) > 1 else text for text in part.texts) or (HOLE,)
        if pieces and texts[0].startswith(("/", "~")):
            pieces = []
        pieces += [("/",), texts] if pieces else [texts]
    return Known(join_texts(pieces), merge_taints(p.taints for p in parts), ("pathlib.Path()",))


def repeat(value: Known, times: Known) -> Known:
    """A text so many times, if that stays small."""
    count = times.known
    if value.known is None or count is None or not count.isdigit() or len(value.known) * int(count[:6]) > TEXT_LIMIT:
        return Known((), value.taints)
    return Known((value.known * int(count),), value.taints)


def format_text(form: str, values: list[Known], named: dict[str, Known]) -> tuple[str, ...]:
    """str.format and %, with the texts that are known."""
    percent = "%" in form and not _FORMAT_FIELD.search(form)
    pattern = _PERCENT_FIELD if percent else _FORMAT_FIELD
    pieces: list[tuple[str, ...]] = []
    at = position = 0
    for match in pattern.finditer(form[:TEXT_LIMIT]):
        pieces.append((form[at : match.start()],))
        name = match[1] or ""
        if name.isdigit() and len(name) < 4:
            chosen = values[int(name)] if int(name) < len(values) else UNKNOWN
        elif name:
            chosen = named.get(name, UNKNOWN)
        else:
            chosen = values[position] if position < len(values) else UNKNOWN
            position += 1
        pieces.append(chosen.texts or (HOLE,))
        at = match.end()
    pieces.append((form[at:],))
    return join_texts(pieces)


def join_items(separator: Known, items: Known) -> Known:
    """str.join over a collection whose elements are known."""
    taints = merge_taints((items.taints, separator.taints))
    if not items.items or separator.known is None:
        return Known((), taints)
    pieces: list[tuple[str, ...]] = []
    for position, item in enumerate(items.items):
        if position and separator.known:
            pieces.append((separator.known,))
        pieces.append(item.texts or (HOLE,))
    joined = join_texts(pieces)
    cut: Taints = NOTHING
    if not separator.known and len(joined) == 1 and joined[0] in _CUT_WORDS and len(items.items) > 1:
        line = min((taint.line for taint in taints), default=1)
        cut = frozenset({Taint(line, Origin.ASSEMBLED, "joined pieces")})
    return Known(joined, merge_taints((taints, cut)))


def _each(value: Known, change: Callable[[str], str]) -> Known:
    return Known(tuple(dict.fromkeys(change(text) for text in value.texts)), value.taints, value.names)


def _replaced(value: Known, arguments: list[Known]) -> Known:
    old, new = (argument.known for argument in arguments[:2]) if len(arguments) >= 2 else (None, None)
    if not old or new is None:
        return Known((), value.taints)
    return _each(value, lambda text: text.replace(old, new)[:TEXT_LIMIT])


def string_method(method: str, value: Known, arguments: list[Known], keywords: dict[str, Known]) -> Known | None:
    """The result of a method of strings, or None if it is none of those that are followed."""
    match method:
        case "strip" | "rstrip" | "lstrip" if not arguments:
            return _each(value, str.strip)
        case "lower" | "upper" | "swapcase" | "title":
            return _each(
                value, {"lower": str.lower, "upper": str.upper, "swapcase": str.swapcase}.get(method, str.title)
            )
        case "decode" | "encode":
            if any("rot" in (a.known or "") for a in arguments):
                return _each(value, decode_rot13)
            return value
        case "replace":
            return _replaced(value, arguments)
        case "join":
            return join_items(value, arguments[0]) if arguments else None
        case "format" if value.texts:
            inner = merge_taints([value.taints, *(a.taints for a in (*arguments, *keywords.values()))])
            return Known(format_text(value.texts[0], arguments, keywords), inner)
        case "split" if value.known is not None and not arguments:
            parts = value.known.split()
            return Known((), value.taints, (), tuple(Known((part,), value.taints) for part in parts[:500]))
        case _:
            return None


def decode_value(name: str, value: Known, line: int) -> Known:
    """What a decoder gives back: the text if it is known, and the note that it was decoded."""
    decoders: dict[str, Callable[[bytes], bytes]] = {
        "b64decode": bytes_of_base64,
        "standard_b64decode": bytes_of_base64,
        "urlsafe_b64decode": bytes_of_base64,
        "decodebytes": bytes_of_base64,
        "a2b_base64": bytes_of_base64,
        "fromhex": lambda data: bytes_of_hex(data.decode("latin-1")),
        "unhexlify": lambda data: bytes_of_hex(data.decode("latin-1")),
        "a2b_hex": lambda data: bytes_of_hex(data.decode("latin-1")),
        "decompress": inflate,
        "unescape": lambda data: html.unescape(data.decode("latin-1")).encode("latin-1", "replace"),
        "unquote": unquote_to_bytes,
    }
    decoder = decoders.get(name)
    known = value.known
    decoded = decoder(known.encode("latin-1", "replace")).decode("latin-1") if decoder and known else ""
    # What only translates something that was read elsewhere keeps where it came from.
    taint = Taint(line, Origin.DECODED, name)
    return Known((decoded,) if decoded else (), merge_taints((value.taints, frozenset({taint}))))


def character(value: Known, line: int) -> Known:
    """chr() of a known number; letters written as numbers are written so to be overlooked."""
    number = value.known
    text = chr(int(number)) if number and number.isdigit() and len(number) < 7 and int(number) < 0x110000 else ""
    return Known((text,) if text else (), value.taints | {Taint(line, Origin.DECODED, "chr")})


def characters(values: Known, line: int) -> Known:
    """bytes([…]) or map(chr, […]): one letter for each number."""
    letters = [character(item, line) for item in values.items or ()]
    joined = "".join(letter.texts[0] if letter.texts else HOLE for letter in letters)[:TEXT_LIMIT]
    taints = values.taints | {Taint(line, Origin.DECODED, "letters written as numbers")}
    return Known((joined,) if letters else (), taints, (), tuple(letters) or None)


def element_of(collection: Known) -> Known:
    """What a loop variable may be."""
    if collection.items is not None:
        chosen = any_of(collection.items)
        return Known(chosen.texts, merge_taints((chosen.taints, collection.taints)), chosen.names, chosen.items)
    if collection.known is not None and len(collection.texts[0]) < 200:
        return Known((), collection.taints)
    return Known((), collection.taints, tuple(n for n in collection.names if n != "os.environ"))
