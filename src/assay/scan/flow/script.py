"""Scripts: the parts of a text that are analysed as programs, and their language."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath

from assay.scan.flow.taint import Language
from assay.scan.text.code_blocks import join_blocks
from assay.scan.text.region import Fence
from assay.scan.text.text import Text

_LANGUAGES = {
    **dict.fromkeys(("py", "pyw", "python", "python3"), Language.PYTHON),
    **dict.fromkeys(("sh", "bash", "zsh", "ksh", "shell", "console", "terminal", "shell-session"), Language.SHELL),
    **dict.fromkeys(
        ("js", "mjs", "cjs", "jsx", "ts", "mts", "tsx", "javascript", "typescript", "node"), Language.JAVASCRIPT
    ),
}
# Characters that some parsers treat as line breaks, but files do not.
_UNUSUAL_LINE_ENDS = str.maketrans(dict.fromkeys("\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029", " "))
_PAGE_BREAKS = re.compile(r"^\f++", re.MULTILINE)
# Signs of a language, for decoded programs without a file name. Anything else is read as shell.
_SIGNS = (
    (
        re.compile(rb"^(?:import|from)[ ]\w|^\s*def[ ]\w+\(|\b__import__\(|\bos\.\w|\bgetattr\(", re.MULTILINE),
        Language.PYTHON,
    ),
    (re.compile(rb"\brequire\(|=>|\b(?:const|let|var)[ ]\w|\bfunction\b.{0,40}\{|\bfetch\("), Language.JAVASCRIPT),
)
_SHEBANGS = ((b"python", Language.PYTHON), (b"node", Language.JAVASCRIPT), (b"sh", Language.SHELL))


@dataclass(frozen=True)
class Script:
    """One program: a file, or all blocks of one language in a document, with the line numbers of the text."""

    text: Text
    language: Language
    blocks: Sequence[Fence] = ()

    @cached_property
    def code(self) -> str:
        if self.text.is_prose:
            # Later blocks use what earlier ones set.
            return join_blocks(_lines(self.text, self.blocks))
        return _decode(self.text.data if self.text.hidden_as else self.text.content)


def scripts_of(text: Text) -> list[Script]:
    if not text.is_prose:
        language = _language_of(text)
        return [Script(text, language)] if language else []
    blocks: dict[Language, list[Fence]] = {}
    for fence in text.regions.fences:
        if language := _LANGUAGES.get(fence.language.partition(" ")[0]):
            blocks.setdefault(language, []).append(fence)
    return [Script(text, language, blocks[language]) for language in Language if language in blocks]


def _lines(text: Text, fences: Sequence[Fence]) -> Iterator[tuple[int, str]]:
    lines = text.content.split(b"\n")
    for fence in fences:
        first, last = text.line_at(fence.body), text.line_at(fence.end)
        yield first, _decode(b"\n".join(lines[first - 1 : last - 1]))


def _decode(code: bytes) -> str:
    text = code.decode("utf-8", errors="replace").replace("\r\n", "\n")
    if "\f" in text:
        # Python ignores form feeds at the start of a line, but would reject a space there.
        text = _PAGE_BREAKS.sub("", text)
    return text.translate(_UNUSUAL_LINE_ENDS)


def _language_of(text: Text) -> Language | None:
    known = _LANGUAGES.get(PurePosixPath(text.path).suffix.lower().removeprefix("."))
    if text.hidden_as and known is None:
        return next((language for sign, language in _SIGNS if sign.search(text.data)), Language.SHELL)
    if known or not text.data.startswith(b"#!"):
        return known
    first = text.data[: text.data.find(b"\n")]
    return next((language for mark, language in _SHEBANGS if mark in first), None)
