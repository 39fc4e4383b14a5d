"""What is known while a program is read: its fields, its files, and what was found so far."""

from dataclasses import dataclass, field

from assay.scan.flow.known_values import UNKNOWN, Known, Scope, any_of, command_of, given_of
from assay.scan.flow.reading_state import ReadingState
from assay.scan.flow.sensitive import is_metadata_address
from assay.scan.flow.taint import (
    HOLE,
    NOTHING,
    FlowKind,
    Given,
    Import,
    Language,
    Origin,
    Part,
    Taint,
    Taints,
    flow_of,
    merge_taints,
)

_FILES = 500


@dataclass(slots=True)
class ProgramState(ReadingState):
    language: Language = field(kw_only=True)
    fields: dict[tuple[int, str], Known] = field(default_factory=dict)
    # A handler that posts log records was set up, so that logging is sending.
    logs_leave: bool = False
    # Of the files that the program consists of: which one is being read, and of each its outermost variables, what it
    # imports, and what it writes to its output.
    part: int = 0
    scopes: list[Scope] = field(default_factory=list)
    imports: list[dict[str, Import]] = field(default_factory=list)
    printed: list[Taints] = field(default_factory=list)
    # Counts what one pass leaves for the next, so that passes end when nothing new comes.
    changes: int = 0

    def __post_init__(self) -> None:
        parts = self.given.parts or (Part(1),)
        self.scopes = [Scope("", {}) for _ in parts]
        self.imports = [dict(part.imports) for part in parts]
        self.printed = [NOTHING for _ in parts]

    def import_of(self, names: tuple[str, ...]) -> Import | None:
        """The file that the one which is being read imports by one of these names."""
        known = self.imports[self.part]
        return next((known[name] for name in names if name in known), None) if known else None

    def imported(self, modules: tuple[str, ...], member: str) -> Known | None:
        """What an imported file calls so; if the name may mean another module, that is not forgotten."""
        found = self.import_of(modules)
        value = self.scopes[found.part].variables.get(member) if found is not None else None
        if value is None or found is None or found.is_sure:
            return value
        return any_of((value, Known(names=tuple(f"{module}.{member}" for module in modules))))

    def local(self, name: str) -> str:
        """A name that no other file of the program has."""
        return f"{name}#{self.part}" if self.part else name

    def print_out(self, taints: Taints) -> None:
        self.printed[self.part] = merge_taints((self.printed[self.part], taints))

    def field_of(self, key: str, part: int | None = None) -> Known:
        """What a field holds, in the file that is being read or in another one."""
        return self.fields.get((self.part if part is None else part, key), UNKNOWN)

    def hide(self, source: str, line: int, sink: str) -> None:
        self.report([flow_of(FlowKind.HIDDEN_NAME, source, line, line, sink)])

    def content(self, path: Known, line: int) -> Taints:
        """What stands in a file, or in all that a folder lists."""
        found = self.held_by(path.texts, line)
        if listed := [taint for taint in path.taints if taint.origin is Origin.LISTED]:
            found.append(frozenset({Taint(line, Origin.HOST, f"all files below {min(listed).text}")}))
        return merge_taints(found)

    def write(self, path: Known, content: Known, line: int, sink: str) -> None:
        """Keep what a file now holds, and report a file that is obeyed later."""
        for text in path.texts:
            self._keep(self.key_of(text), content.taints)
            self.report_if_kept(text, content.texts, content.taints, line, sink)

    def _keep(self, key: str, taints: Taints) -> None:
        before = self.files.get(key, NOTHING)
        held = merge_taints((before, taints))
        if held != before and (key in self.files or len(self.files) < _FILES):
            self.files[key] = held
            self.changes += 1

    def keep_field(self, key: str, value: Known) -> None:
        """Join what is assigned to a field with what it held."""
        before = self.field_of(key)
        joined = any_of((before, value))
        if joined != before:
            self.fields[self.part, key] = joined
            self.changes += 1

    def run_command(self, command: Known, line: int, fed: Known = UNKNOWN) -> Known:
        """Read a command line as shell code, fed with a value; the result is what it prints."""
        texts, taints = command_of(command)
        if fed.taints:
            texts = tuple(f"echo {HOLE} | {text}" for text in texts)
            taints = merge_taints((taints, fed.taints))
        outputs = []
        for text in texts:
            if not text.replace(HOLE, "").strip():
                continue
            reading = self.read(Language.SHELL, text, given_of(taints, text, self.files), line)
            self.report(list(reading.flows))
            for key, held in reading.files:
                self._keep(key, held)
            outputs.append(Known(reading.output.texts, reading.output.taints))
        return any_of(outputs)

    def run_code(self, code: Known, line: int) -> None:
        """Read a text that is executed as a program of the same language."""
        for text in code.texts:
            if text.strip():
                reading = self.read(self.language, text, Given(code.taints), line)
                self.report(list(reading.flows))

    def taint_of_url(self, url: Known, line: int) -> Known:
        """What an address answers with; some addresses answer with credentials."""
        text = url.texts[0] if url.texts else "an address"
        return self.taint(Origin.SECRET if is_metadata_address(text) else Origin.FETCHED, text, line)

    def taint(self, origin: Origin, text: str, line: int) -> Known:
        return Known((), frozenset({Taint(line, origin, text)}))
