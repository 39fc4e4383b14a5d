"""Joining the code blocks of a document to one script, because later blocks use what earlier ones set."""

from collections.abc import Iterable

# A line between two blocks, so that an unclosed quote in one block does not swallow the next.
_BREAK = "\f"


def join_blocks(blocks: Iterable[tuple[int, str]]) -> str:
    """Join blocks, each given with its first line in the document, to one text with the document's line numbers."""
    lines: list[str] = []
    for first_line, code in blocks:
        missing = first_line - 1 - len(lines)
        if missing > 0:
            lines += [""] * (missing - 1) + [_BREAK]
        lines += code.removesuffix("\n").split("\n")
    return "\n".join(lines)


def split_blocks(code: str) -> list[tuple[int, str]]:
    """Split a joined text into its blocks, each with its first line. Code that was not joined is one block."""
    if f"{_BREAK}\n" not in code:
        return [(1, code)]
    blocks: list[tuple[int, str]] = []
    line = 1
    for block in code.split(f"{_BREAK}\n"):
        if block.strip():
            blocks.append((line, block))
        line += block.count("\n") + 1
    return blocks or [(1, code)]
