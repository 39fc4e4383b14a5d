"""A file prepared for all rules: its lines, what they stand in, and the two views."""

from dataclasses import dataclass
from functools import cached_property

from assay.scan.context import Context, contexts_of, warnings_in
from assay.scan.files import UNREADABLE, FileKind, kind_of, text_of
from assay.scan.view import View, folded_view, raw_view


@dataclass(frozen=True)
class FileText:
    """Everything is worked out once and on demand, for most rules need little of it."""

    path: str
    kind: FileKind
    lines: list[str]

    @classmethod
    def read(cls, path: str, content: bytes) -> "FileText":
        """The text of a file, whatever its bytes are."""
        # A byte-order mark at the very beginning hides nothing.
        return cls(path, kind_of(path, content), text_of(content).removeprefix("\ufeff").split("\n"))

    @cached_property
    def raw(self) -> View:
        """The file as it is."""
        return raw_view(self.lines)

    @cached_property
    def folded(self) -> View:
        """The file as an agent takes it."""
        return folded_view(self.lines)

    @cached_property
    def warnings(self) -> list[int]:
        """Where words of warning end in the folded view."""
        return warnings_in(self.folded.text)

    @cached_property
    def has_rare_characters(self) -> bool:
        """Whether there is anything but ASCII; among bytes that are no text, such characters are only noise."""
        return self.kind not in UNREADABLE and not self.raw.text.isascii()

    @cached_property
    def contexts(self) -> tuple[list[Context], list[bool]]:
        """The context of each line, and whether the prose that introduces it warns of it."""
        if self.kind is FileKind.MARKDOWN:
            return contexts_of(self.lines)
        return [Context.SCRIPT] * len(self.lines), [False] * len(self.lines)
