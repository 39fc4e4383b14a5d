"""The interface of scan tools: how to run a program on many folders, and how to read its report."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from assay.deepscan.workspace import Workspace
from assay.model.deep_scan import DeepTool
from assay.model.finding import Finding


class ToolFailed(Exception):
    """One run of a tool failed, possibly because of a skill."""


class ToolBroken(Exception):
    """The tool also fails without any skill: the tool or this machine is the cause."""


@dataclass
class ToolReport:
    """Findings and failures of one run, by file name in the workspace."""

    findings: list[tuple[str, Finding]] = field(default_factory=list)
    # Files that the tool failed to examine, with the reason; not a property of the skill.
    failures: list[tuple[str, str]] = field(default_factory=list)


@dataclass(frozen=True)
class Tool:
    """A scan tool as installed on this machine."""

    name: DeepTool
    version: str
    program: Callable[[Workspace], Sequence[str]]
    read: Callable[[bytes], ToolReport]
    success_codes: frozenset[int]
    # Kinds of files that it examines; None for all.
    kinds: frozenset[str] | None
    # A file in which it must find something; otherwise it has not examined anything.
    canary: tuple[str, bytes]
    environment: Mapping[str, str] = field(default_factory=dict)
    readable: Sequence[Path] = ()
    # Prepared once for all runs; writable only before the first skill is examined.
    cache: Path | None = None
    # Report file in the scratch folder of the workspace; None for standard output.
    output_name: str | None = None

    def accepts(self, kind: str) -> bool:
        return self.kinds is None or kind in self.kinds
