"""Where the reading of a JavaScript program stands: its tokens, its variables and its functions."""

from dataclasses import dataclass

from assay.scan.flow.javascript.tokens import Kind, Token
from assay.scan.flow.known_values import UNKNOWN, Known, Routine, any_of
from assay.scan.flow.program_state import ProgramState

# What is nested deeper than this is not followed; the code is then reported as not wholly read.
DEPTH = 40


@dataclass(frozen=True, slots=True)
class Place:
    """Where a value can be assigned to: a variable, or with a key a member of it."""

    name: str = ""
    key: str = ""


class Cursor:
    """A place in the tokens; what reads statements and expressions is built on it."""

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
        # What the last object that was written out holds, by its keys.
        self.entries: dict[str, Known] = {}

    def call_routine(self, key: str, arguments: list[Known]) -> Known:
        """Note what a function of the program is called with; the value is what it returns."""
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

    def imported(self, modules: tuple[str, ...], member: str) -> Known | None:
        """What a file of the program that is imported by one of these names exports so."""
        file = self.state.import_of(modules)
        if file is None:
            return None
        names = ("module.exports",) if member == "default" else (f"exports.{member}", f"module.exports.{member}")
        exported = any_of(self.state.field_of(name, file.part) for name in names)
        return self.state.imported(modules, member) if exported is UNKNOWN else exported

    def export_all(self, value: Known) -> None:
        """This is what others get who import the file, and what it is written out to hold are its members."""
        self.state.keep_field("module.exports", value)
        for name, entry in self.entries.items():
            self.state.keep_field(f"module.exports.{name}", entry)

    def keep_returned(self, value: Known) -> None:
        if self.routine is not None:
            joined = any_of((self.routine.returned, value))
            if joined != self.routine.returned:
                self.routine.returned = joined
                self.state.changes += 1

    def skip_type(self, end: int) -> None:
        """The type that TypeScript writes after a name."""
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
        return token.kind is Kind.MARK and token.text in marks

    def statements(self, end: int) -> None:
        """All statements up to a place; what reads them is built above."""
        raise NotImplementedError

    def expression(self, end: int) -> Known:
        """One expression; what reads it is built above."""
        raise NotImplementedError
