"""State of the analysis of a Python or JavaScript program."""

from dataclasses import dataclass, field

from assay.scan.flow.analysis_state import AnalysisState
from assay.scan.flow.program_values import UNKNOWN, ProgramValue, VariableScope, any_of, command_context, command_of
from assay.scan.flow.sensitive import is_metadata_address
from assay.scan.flow.taint import (
    HOLE,
    NOTHING,
    CodeContext,
    FlowKind,
    Import,
    Language,
    ProgramPart,
    Taint,
    TaintOrigin,
    Taints,
    flow_of,
    merge_taints,
)

_FILES = 500


@dataclass(slots=True)
class ProgramState(AnalysisState):
    language: Language = field(kw_only=True)
    fields: dict[tuple[int, str], ProgramValue] = field(default_factory=dict)
    # True once a handler that sends log records is installed: logging then counts as sending.
    logs_leave: bool = False
    # The index of the file that is being read, and for each file of the program its global scope, its imports and the
    # taints of its output.
    part: int = 0
    scopes: list[VariableScope] = field(default_factory=list)
    imports: list[dict[str, Import]] = field(default_factory=list)
    printed: list[Taints] = field(default_factory=list)
    # Counts the changes of a pass, so that passes end when nothing changes.
    changes: int = 0

    def __post_init__(self) -> None:
        parts = self.context.parts or (ProgramPart(1),)
        self.scopes = [VariableScope("", {}) for _ in parts]
        self.imports = [dict(part.imports) for part in parts]
        self.printed = [NOTHING for _ in parts]

    def import_of(self, names: tuple[str, ...]) -> Import | None:
        """Return the file that the current file imports by one of these names."""
        known = self.imports[self.part]
        return next((known[name] for name in names if name in known), None) if known else None

    def imported(self, modules: tuple[str, ...], member: str) -> ProgramValue | None:
        """Return a member of an imported file; if the import is uncertain, it may also be one of another module."""
        found = self.import_of(modules)
        value = self.scopes[found.part].variables.get(member) if found is not None else None
        if value is None or found is None or found.is_sure:
            return value
        return any_of((value, ProgramValue(names=tuple(f"{module}.{member}" for module in modules))))

    def local(self, name: str) -> str:
        """Return a name that is unique among the files of the program."""
        return f"{name}#{self.part}" if self.part else name

    def record_output(self, taints: Taints) -> None:
        self.printed[self.part] = merge_taints((self.printed[self.part], taints))

    def field_of(self, key: str, part: int | None = None) -> ProgramValue:
        """Return the value of a field, in the current file or another one."""
        return self.fields.get((self.part if part is None else part, key), UNKNOWN)

    def report_hidden_name(self, source: str, line: int, sink: str) -> None:
        self.report([flow_of(FlowKind.HIDDEN_NAME, source, line, line, sink)])

    def content(self, path: ProgramValue, line: int) -> Taints:
        """Return the taints of a file's content, or of all files that a folder lists."""
        found = self.content_of(path.texts, line)
        if listed := [taint for taint in path.taints if taint.origin is TaintOrigin.LISTED]:
            found.append(frozenset({Taint(line, TaintOrigin.HOST, f"all files below {min(listed).text}")}))
        return merge_taints(found)

    def write(self, path: ProgramValue, content: ProgramValue, line: int, sink: str) -> None:
        """Record the content of a file, and report a file that is executed or loaded later."""
        for text in path.texts:
            self._keep(self.key_of(text), content.taints)
            self.report_persistence(text, content.texts, content.taints, line, sink)

    def _keep(self, key: str, taints: Taints) -> None:
        before = self.files.get(key, NOTHING)
        held = merge_taints((before, taints))
        if held != before and (key in self.files or len(self.files) < _FILES):
            self.files[key] = held
            self.changes += 1

    def record_field(self, key: str, value: ProgramValue) -> None:
        """Join a value with what the field held."""
        before = self.field_of(key)
        joined = any_of((before, value))
        if joined != before:
            self.fields[self.part, key] = joined
            self.changes += 1

    def run_command(self, command: ProgramValue, line: int, fed: ProgramValue = UNKNOWN) -> ProgramValue:
        """Analyse a command line as shell code, with `fed` as its input, and return what it prints."""
        texts, taints = command_of(command)
        if fed.taints:
            texts = tuple(f"echo {HOLE} | {text}" for text in texts)
            taints = merge_taints((taints, fed.taints))
        outputs = []
        for text in texts:
            if not text.replace(HOLE, "").strip():
                continue
            analysis = self.read(Language.SHELL, text, command_context(taints, text, self.files), line)
            self.report(list(analysis.flows))
            for key, held in analysis.files:
                self._keep(key, held)
            outputs.append(ProgramValue(analysis.output.texts, analysis.output.taints))
        return any_of(outputs)

    def run_code(self, code: ProgramValue, line: int) -> None:
        """Analyse a text that is executed as a program of the same language."""
        for text in code.texts:
            if text.strip():
                analysis = self.read(self.language, text, CodeContext(code.taints), line)
                self.report(list(analysis.flows))

    def taint_of_url(self, url: ProgramValue, line: int) -> ProgramValue:
        """Return the response of a URL. Cloud metadata URLs respond with credentials."""
        text = url.texts[0] if url.texts else "an address"
        return self.taint(TaintOrigin.SECRET if is_metadata_address(text) else TaintOrigin.FETCHED, text, line)

    def taint(self, origin: TaintOrigin, text: str, line: int) -> ProgramValue:
        return ProgramValue((), frozenset({Taint(line, origin, text)}))
