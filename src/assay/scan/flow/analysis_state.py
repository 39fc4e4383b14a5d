"""State of the analysis of code in any language: files and flows."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from assay.scan.flow.sensitive import is_ordinary_startup, persistence_kind, personal_files, secret_of_path
from assay.scan.flow.taint import (
    HOLE,
    NOTHING,
    PRINTED_BY,
    AnalyseCode,
    CodeContext,
    Files,
    Flow,
    FlowKind,
    Taints,
    flow_of,
    flows_of_running,
    flows_of_sending,
    merge_taints,
)


@dataclass(slots=True)
class AnalysisState:
    read: AnalyseCode
    context: CodeContext
    files: dict[str, Taints] = field(default_factory=dict)
    flows: dict[tuple[FlowKind, int], Flow] = field(default_factory=dict)
    loops_forever: int = 0
    # Output of the other scripts of the skill by file name, built on first use.
    scripts: dict[str, list[tuple[str, Taints]]] | None = None

    @property
    def polling(self) -> bool:
        return self.loops_forever > 0

    def report(self, flows: list[Flow]) -> None:
        for flow in flows:
            self.flows.setdefault((flow.kind, flow.line), flow)

    def send(self, taints: Taints, line: int, sink: str, *, login: bool = False) -> None:
        self.report(flows_of_sending(taints, line, sink, login=login))

    def run(self, taints: Taints, line: int, sink: str) -> None:
        self.report(flows_of_running(taints, line, sink, polling=self.polling))

    def content_of(self, paths: Sequence[str], line: int) -> list[Taints]:
        """Return the taints of files: what was written to them here, and the secrets that they hold."""
        found: list[Taints] = []
        for path in paths:
            found.append(self.files.get(self.key_of(path), NOTHING))
            if secret := secret_of_path(path, line) or personal_files(path, line):
                found.append(frozenset({secret}))
        return found

    def printed_by(self, path: str) -> Taints:
        """Return the output of another script of the skill; of several with this name, those whose path matches."""
        if self.scripts is None:
            self.scripts = {}
            for key, held in self.context.files:
                if key.startswith(PRINTED_BY):
                    script = key.removeprefix(PRINTED_BY)
                    self.scripts.setdefault(script.rpartition("/")[2], []).append((script, held))
        named = self.scripts.get(path.rpartition("/")[2], [])
        there = [held for script, held in named if script.endswith(path.lstrip("./"))]
        return merge_taints(there or [held for _, held in named])

    def key_of(self, path: str) -> str:
        """Return the canonical spelling of a path: without `./`, and with `~` for the home folder."""
        while path.startswith("./"):
            path = path[2:]
        return path.replace("${HOME}", "~").replace("$HOME", "~")

    def written_files(self) -> Files:
        """Return the final content of files whose path is known."""
        held = ((path, taints) for path, taints in self.files.items() if taints and HOLE not in path)
        return tuple((path, taints) for path, taints in held if not path.startswith(("&", "/dev/")))

    def report_persistence(self, path: str, texts: Sequence[str], taints: Taints, line: int, sink: str) -> None:
        """Report a file that is executed or loaded later, unless the content is ordinary for it."""
        place = persistence_kind(path)
        if not place or (place == "startup" and texts and all(map(is_ordinary_startup, texts))):
            return
        known = [text for text in texts if text.strip(HOLE)]
        shown = min(taints).text if taints else known[0] if known else "content"
        self.report([flow_of(FlowKind.PERSISTED, shown, line, line, f"{sink} {path}")])
