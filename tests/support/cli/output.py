"""Output of commands."""

ANSI = "\x1b"


def one_line(text: str) -> str:
    """Return the single line of an error."""
    assert text.startswith("assay: ")
    assert text.count("\n") == 1, text
    return text.removeprefix("assay: ").rstrip("\n")
