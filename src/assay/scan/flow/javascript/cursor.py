"""The position in a JavaScript program: its tokens, variables and functions."""

from dataclasses import dataclass

from assay.scan.flow.javascript.tokens import Token, TokenKind
from assay.scan.flow.program_state import ProgramState
from assay.scan.flow.program_values import UNKNOWN, ProgramValue, Routine, any_of

# Maximum nesting; deeper code is reported as not fully read.
DEPTH = 40


@dataclass(frozen=True, slots=True)
class AssignmentTarget:
    """The target of an assignment: a variable or, with a key, a member of it."""

    name: str = ""
    key: str = ""


class Cursor:
    """A position in the tokens; the base of the statement and expression readers."""

    def __init__(self, tokens: list[Token], partners: list[int], state: ProgramState) -> None:
        self.tokens = tokens
        self.partners = partners
        self.state = state
        self.at = 0
        self.depth = 0
        self.read_whole = True
        self.scope = state.scopes[0]
        self.routines: dict[str, Routine] = {}
        self.parameters: dict[str, list[str]] = {}
        self.routine: Routine | None = None
        self.nested = 0
        self.ternaries = 0
        # The entries of the last object literal.
        self.entries: dict[str, ProgramValue] = {}

    def call_routine(self, key: str, arguments: list[ProgramValue]) -> ProgramValue:
        """Record the arguments of a function of the program, and return its return value."""
        routine = self.routines.get(key)
        if routine is None:
            return UNKNOWN
        for position, value in enumerate(arguments[:12]):
            before = routine.parameters.get(str(position), UNKNOWN)
            joined = any_of((before, value))
            if joined != before:
                routine.parameters[str(position)] = joined
                self.state.changes += 1
        if self.state.polling and not routine.polled:
            routine.polled = True
            self.state.changes += 1
        return routine.returned

    def imported(self, modules: tuple[str, ...], member: str) -> ProgramValue | None:
        """Return a member that an imported file of the program exports."""
        file = self.state.import_of(modules)
        if file is None:
            return None
        names = ("module.exports",) if member == "default" else (f"exports.{member}", f"module.exports.{member}")
        exported = any_of(self.state.field_of(name, file.part) for name in names)
        return self.state.imported(modules, member) if exported is UNKNOWN else exported

    def export_all(self, value: ProgramValue) -> None:
        """Export a value as the module, and the entries of the last object literal as its members."""
        self.state.record_field("module.exports", value)
        for name, entry in self.entries.items():
            self.state.record_field(f"module.exports.{name}", entry)

    def record_return(self, value: ProgramValue) -> None:
        if self.routine is not None:
            joined = any_of((self.routine.returned, value))
            if joined != self.routine.returned:
                self.routine.returned = joined
                self.state.changes += 1

    def skip_type(self, end: int) -> None:
        """Skip a TypeScript type annotation."""
        if not self.is_mark(self.at, ":"):
            return
        while self.at < end and not self.is_mark(self.at, "=", ";", ",", ")"):
            if self.is_mark(self.at, "{", "(", "["):
                self.at = min(self.partners[self.at], end)
            self.at += 1

    def deeper(self, end: int) -> None:
        self.at += 1
        if self.depth > DEPTH:
            self.read_whole = False
        else:
            self.depth += 1
            self.statements(end)
            self.depth -= 1
        self.at = end + 1

    def is_mark(self, position: int, *marks: str) -> bool:
        if position >= len(self.tokens):
            return False
        token = self.tokens[position]
        return token.kind is TokenKind.MARK and token.text in marks

    def statements(self, end: int) -> None:
        """Read all statements up to a position; implemented by a subclass."""
        raise NotImplementedError

    def expression(self, end: int) -> ProgramValue:
        """Read one expression; implemented by a subclass."""
        raise NotImplementedError
