"""Evaluating strings that a program builds from constants, without running it."""

import html
import re
from collections.abc import Callable
from urllib.parse import unquote_to_bytes

from assay.scan.decode.encodings import bytes_of_base64, bytes_of_hex, decode_rot13, inflate
from assay.scan.flow.program_values import UNKNOWN, ProgramValue, any_of, items_of
from assay.scan.flow.sensitive import name_set
from assay.scan.flow.taint import HOLE, NOTHING, TEXT_LIMIT, Taint, TaintOrigin, Taints, join_texts, merge_taints

# Words that are split only to prevent them from being found.
_CUT_WORDS = name_set(
    "import exec eval compile os system popen subprocess socket base64 curl wget bash getattr builtins requests urllib"
    " __import__ pickle marshal ctypes environ child_process Function powershell"
)
_WORD_BEFORE = re.compile(r"\w{1,20}$")
_WORD_AFTER = re.compile(r"^\w{1,20}")
_FORMAT_FIELD = re.compile(r"\{(\w*)(?:[:!][^{}]*)?\}")
_PERCENT_FIELD = re.compile(r"%(?:\((\w+)\))?[-+0 #]*\d*(?:\.\d+)?[sdrfx]")


def concatenate(left: ProgramValue, right: ProgramValue, line: int) -> ProgramValue:
    """Concatenate two values. A sensitive word that is split between them becomes a taint."""
    if left.items is not None and right.items is not None:
        return ProgramValue((), merge_taints((left.taints, right.taints)), (), items_of(left.items + right.items))
    taints = merge_taints((left.taints, right.taints, cut_word(left.known_text, right.known_text, line)))
    if not left.texts and not right.texts:
        return ProgramValue((), taints)
    return ProgramValue(join_texts((left.texts, right.texts)), taints)


def cut_word(left: str | None, right: str | None, line: int) -> Taints:
    """Return a taint if joining both texts forms a sensitive word."""
    if not left or not right:
        return NOTHING
    before, after = _WORD_BEFORE.search(left[-20:]), _WORD_AFTER.match(right[:20])
    if before and after and before[0] + after[0] in _CUT_WORDS:
        return frozenset({Taint(line, TaintOrigin.ASSEMBLED, f"{before[0]!r} + {after[0]!r}")})
    return NOTHING


def join_path(parts: list[ProgramValue]) -> ProgramValue:
    """Join path segments; an absolute segment restarts the path."""
    pieces: list[tuple[str, ...]] = []
    for part in parts:
        texts = tuple(text.rstrip("/") if len(text) > 1 else text for text in part.texts) or (HOLE,)
        if pieces and texts[0].startswith(("/", "~")):
            pieces = []
        pieces += [("/",), texts] if pieces else [texts]
    return ProgramValue(join_texts(pieces), merge_taints(p.taints for p in parts), ("pathlib.Path()",))


def repeat(value: ProgramValue, times: ProgramValue) -> ProgramValue:
    """Repeat a text, unless the result would exceed the limit."""
    count = times.known_text
    if (
        value.known_text is None
        or count is None
        or not count.isdigit()
        or len(value.known_text) * int(count[:6]) > TEXT_LIMIT
    ):
        return ProgramValue((), value.taints)
    return ProgramValue((value.known_text * int(count),), value.taints)


def format_text(form: str, values: list[ProgramValue], named: dict[str, ProgramValue]) -> tuple[str, ...]:
    """Evaluate `str.format` and `%` with the known texts."""
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


def join_items(separator: ProgramValue, items: ProgramValue) -> ProgramValue:
    """Evaluate `str.join` over a collection with known elements."""
    taints = merge_taints((items.taints, separator.taints))
    if not items.items or separator.known_text is None:
        return ProgramValue((), taints)
    pieces: list[tuple[str, ...]] = []
    for position, item in enumerate(items.items):
        if position and separator.known_text:
            pieces.append((separator.known_text,))
        pieces.append(item.texts or (HOLE,))
    joined = join_texts(pieces)
    cut: Taints = NOTHING
    if not separator.known_text and len(joined) == 1 and joined[0] in _CUT_WORDS and len(items.items) > 1:
        line = min((taint.line for taint in taints), default=1)
        cut = frozenset({Taint(line, TaintOrigin.ASSEMBLED, "joined pieces")})
    return ProgramValue(joined, merge_taints((taints, cut)))


def _each(value: ProgramValue, change: Callable[[str], str]) -> ProgramValue:
    return ProgramValue(tuple(dict.fromkeys(change(text) for text in value.texts)), value.taints, value.names)


def _replaced(value: ProgramValue, arguments: list[ProgramValue]) -> ProgramValue:
    old, new = (argument.known_text for argument in arguments[:2]) if len(arguments) >= 2 else (None, None)
    if not old or new is None:
        return ProgramValue((), value.taints)
    return _each(value, lambda text: text.replace(old, new)[:TEXT_LIMIT])


def string_method(
    method: str, value: ProgramValue, arguments: list[ProgramValue], keywords: dict[str, ProgramValue]
) -> ProgramValue | None:
    """Return the result of a string method, or None if the method is not supported."""
    match method:
        case "strip" | "rstrip" | "lstrip" if not arguments:
            return _each(value, str.strip)
        case "lower" | "upper" | "swapcase" | "title":
            return _each(
                value, {"lower": str.lower, "upper": str.upper, "swapcase": str.swapcase}.get(method, str.title)
            )
        case "decode" | "encode":
            if any("rot" in (a.known_text or "") for a in arguments):
                return _each(value, decode_rot13)
            return value
        case "replace":
            return _replaced(value, arguments)
        case "join":
            return join_items(value, arguments[0]) if arguments else None
        case "format" if value.texts:
            inner = merge_taints([value.taints, *(a.taints for a in (*arguments, *keywords.values()))])
            return ProgramValue(format_text(value.texts[0], arguments, keywords), inner)
        case "split" if value.known_text is not None and not arguments:
            parts = value.known_text.split()
            return ProgramValue(
                (), value.taints, (), tuple(ProgramValue((part,), value.taints) for part in parts[:500])
            )
        case _:
            return None


def decode_value(name: str, value: ProgramValue, line: int) -> ProgramValue:
    """Return the decoded text, if it is known, tainted as decoded."""
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
    known = value.known_text
    decoded = decoder(known.encode("latin-1", "replace")).decode("latin-1") if decoder and known else ""
    # Decoding keeps the taints of the input.
    taint = Taint(line, TaintOrigin.DECODED, name)
    return ProgramValue((decoded,) if decoded else (), merge_taints((value.taints, frozenset({taint}))))


def character(value: ProgramValue, line: int) -> ProgramValue:
    """Evaluate `chr()`. Characters written as numbers count as decoded, because this hides the text."""
    number = value.known_text
    text = chr(int(number)) if number and number.isdigit() and len(number) < 7 and int(number) < 0x110000 else ""
    return ProgramValue((text,) if text else (), value.taints | {Taint(line, TaintOrigin.DECODED, "chr")})


def characters(values: ProgramValue, line: int) -> ProgramValue:
    """Evaluate `bytes([…])` or `map(chr, […])`: one letter for each number."""
    letters = [character(item, line) for item in values.items or ()]
    joined = "".join(letter.texts[0] if letter.texts else HOLE for letter in letters)[:TEXT_LIMIT]
    taints = values.taints | {Taint(line, TaintOrigin.DECODED, "letters written as numbers")}
    return ProgramValue((joined,) if letters else (), taints, (), tuple(letters) or None)


def element_of(collection: ProgramValue) -> ProgramValue:
    """Return the value of a loop variable over this collection."""
    if collection.items is not None:
        chosen = any_of(collection.items)
        return ProgramValue(chosen.texts, merge_taints((chosen.taints, collection.taints)), chosen.names, chosen.items)
    if collection.known_text is not None and len(collection.texts[0]) < 200:
        return ProgramValue((), collection.taints)
    return ProgramValue((), collection.taints, tuple(n for n in collection.names if n != "os.environ"))
