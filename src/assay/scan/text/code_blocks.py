"""The code blocks of one document read as one script: what one block sets, a later one uses."""

from collections.abc import Iterable

# Stands on a line of its own where one block ends, so that a quote left open in one does not swallow the next.
_BREAK = "\f"


def join_blocks(blocks: Iterable[tuple[int, str]]) -> str:
    """Blocks, each with the line of the document that it begins on, as one text with the lines of the document."""
    lines: list[str] = []
    for first_line, code in blocks:
        missing = first_line - 1 - len(lines)
        if missing > 0:
            lines += [""] * (missing - 1) + [_BREAK]
        lines += code.removesuffix("\n").split("\n")
    return "\n".join(lines)


def split_blocks(code: str) -> list[tuple[int, str]]:
    """The blocks of a joined text with the lines they begin on; code that was never joined is one block."""
    if f"{_BREAK}\n" not in code:
        return [(1, code)]
    blocks: list[tuple[int, str]] = []
    line = 1
    for block in code.split(f"{_BREAK}\n"):
        if block.strip():
            blocks.append((line, block))
        line += block.count("\n") + 1
    return blocks or [(1, code)]
