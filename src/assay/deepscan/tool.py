"""A tool: a program that looks at many folders at once, and how to read what it says."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from assay.deepscan.workplace import Workplace
from assay.model.deep_scan import DeepTool
from assay.model.finding import Finding


class ToolFailed(Exception):
    """One start of a tool did not end as it should; some skill may be the reason."""


class ToolBroken(Exception):
    """The tool fails without any skill, too: it, or this machine, is the reason."""


@dataclass
class Reading:
    """What one start of a tool said, by the name that a file has in the workplace."""

    findings: list[tuple[str, Finding]] = field(default_factory=list)
    # Files that could not be examined, and why: a failure of the tool, no property of the skill.
    failures: list[tuple[str, str]] = field(default_factory=list)


@dataclass(frozen=True)
class Tool:
    """One tool, as it is installed here."""

    name: DeepTool
    version: str
    program: Callable[[Workplace], Sequence[str]]
    read: Callable[[bytes], Reading]
    # Exit codes of a run that went well.
    good_exits: frozenset[int]
    # Kinds of files that it looks at; None: all.
    kinds: frozenset[str] | None
    # A file in which it must find something. If it does not, it has not looked at anything.
    canary: tuple[str, bytes]
    environment: Mapping[str, str] = field(default_factory=dict)
    readable: Sequence[Path] = ()
    # What it prepares once for all runs; written only before the first skill is seen.
    cache: Path | None = None
    # The output is in this file of the workplace's writable folder, not on standard output.
    output_name: str | None = None

    def looks_at(self, kind: str) -> bool:
        """Whether a file of this kind is one for this tool."""
        return self.kinds is None or kind in self.kinds
