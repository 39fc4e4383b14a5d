"""Programs: a script together with those that it imports, analysed as one.

A flow can be hidden by splitting it into modules: one collects data, one sends it, and a third, which contains nothing
suspicious, passes the data from one to the other.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from assay.scan.flow.flow import SIZE_LIMIT, analyse_code, unread
from assay.scan.flow.imports import ScriptIndex
from assay.scan.flow.script import Script
from assay.scan.flow.taint import Analysis, Files, Import, ProgramPart, Taints, merge_taints
from assay.scan.text.code_blocks import join_blocks


@dataclass(frozen=True)
class Program:
    """Scripts of one language that import each other, imported ones first, with the imports of each."""

    scripts: Sequence[Script]
    imports: Sequence[tuple[tuple[str, Import], ...]] = ()

    @cached_property
    def code(self) -> str:
        """The code of all scripts, one after the other."""
        if len(self.scripts) == 1:
            return self.scripts[0].code
        codes = ("" if _is_long(script) else script.code for script in self.scripts)
        return join_blocks(zip(self._starts, codes, strict=True))

    @cached_property
    def analysis(self) -> Analysis:
        """The flows in the program, and the files that it writes."""
        return self.read()

    def read(self, files: Files = ()) -> Analysis:
        """Analyse the program with files that other programs have written."""
        parts = tuple(ProgramPart(start, imports) for start, imports in zip(self._starts, self.imports, strict=False))
        analysis = analyse_code(self.scripts[0].language, self.code, files, parts)
        if len(self.scripts) == 1:
            return analysis
        places = zip(self._starts, self.scripts, strict=True)
        long = tuple(unread(script.language, script.code, start) for start, script in places if _is_long(script))
        return replace(analysis, flows=(*analysis.flows, *long))

    def locate(self, line: int) -> tuple[Script, int]:
        """Return the script that contains a line of the program, and the line within that script."""
        at = bisect_right(self._starts, line) - 1
        return self.scripts[at], line - self._starts[at] + 1

    def printed_by(self, number: int) -> Taints:
        """Return the taints of what a script prints, including the scripts that it imports."""
        printed = self.analysis.printed
        if not printed:
            return self.analysis.output.taints
        reached, waiting = {number}, [number]
        while waiting and self.imports:
            imported = {each.part for _, each in self.imports[waiting.pop()]} - reached
            reached |= imported
            waiting += imported
        return merge_taints(printed[each] for each in sorted(reached))

    @cached_property
    def _starts(self) -> list[int]:
        """The first line of each script."""
        starts = [1]
        for script in self.scripts[:-1]:
            # Leave one line between scripts for the separator.
            starts.append(starts[-1] + script.code.removesuffix("\n").count("\n") + 2)
        return starts


def _is_long(script: Script) -> bool:
    return len(script.code) > SIZE_LIMIT


def linked_programs(scripts: Sequence[Script]) -> list[Program]:
    """Group scripts into programs: each script with everything that it imports or that imports it."""
    shipped = ScriptIndex(scripts)
    imported: dict[int, list[tuple[str, Script, bool]]] = {id(script): [] for script in scripts}
    beside: dict[int, list[Script]] = {id(script): [] for script in scripts}
    for script in scripts:
        for name, other, is_sure in dict.fromkeys(shipped.imported_by(script)):
            imported[id(script)].append((name, other, is_sure))
            beside[id(script)].append(other)
            beside[id(other)].append(script)
    found = []
    for component in _components(scripts, beside):
        ordered = _imported_first(component, imported)
        places = {id(script): number for number, script in enumerate(ordered)}
        imports = [
            tuple((name, Import(places[id(other)], is_sure)) for name, other, is_sure in imported[id(script)])
            for script in ordered
        ]
        found.append(Program(ordered, imports if len(ordered) > 1 else ()))
    return found


def _components(scripts: Sequence[Script], beside: dict[int, list[Script]]) -> Iterator[list[Script]]:
    known: set[int] = set()
    for script in scripts:
        if id(script) in known:
            continue
        known.add(id(script))
        component = [script]
        for member in component:
            for other in beside[id(member)]:
                if id(other) not in known:
                    known.add(id(other))
                    component.append(other)
        yield component


def _imported_first(component: list[Script], imported: dict[int, list[tuple[str, Script, bool]]]) -> list[Script]:
    """Sort imported scripts first, as far as cycles allow."""
    ordered: list[Script] = []
    known: set[int] = set()
    for first in component:
        stack = [(first, False)]
        while stack:
            script, is_ready = stack.pop()
            if is_ready:
                ordered.append(script)
            elif id(script) not in known:
                known.add(id(script))
                stack.append((script, True))
                stack += [(other, False) for _, other, _ in imported[id(script)]]
    return ordered
