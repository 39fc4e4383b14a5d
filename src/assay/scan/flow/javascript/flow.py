"""Dataflow in JavaScript programs: several passes over the tokens, without a syntax tree."""

from bisect import bisect_left

from assay.scan.flow.javascript.expressions import JsExpressions
from assay.scan.flow.javascript.names import WHOLE_ENVIRONMENT, import_names, member_names, module_name
from assay.scan.flow.javascript.operands import SKIPPED
from assay.scan.flow.javascript.tokens import TokenKind, read_tokens
from assay.scan.flow.program_state import ProgramState
from assay.scan.flow.program_strings import element_of
from assay.scan.flow.program_values import UNKNOWN, ProgramValue, any_of
from assay.scan.flow.taint import AnalyseCode, Analysis, CodeContext, Language, Value, merge_taints, picked_from

_PASSES = 3
_DECLARING = frozenset({"const", "let", "var"})
_LOOPS = frozenset({"for", "while"})
_OPENING = frozenset({"if", "else", "do", "try", "catch", "finally", "switch", "case"})


def find_javascript_flows(code: str, read: AnalyseCode, context: CodeContext) -> tuple[Analysis, bool]:
    """Return the result, and whether all of the program could be read."""
    state = ProgramState(read, context, language=Language.JAVASCRIPT, files=dict(context.files))
    tokens, partners = read_tokens(code)
    reader = _Statements(tokens, partners, state)
    for number in range(_PASSES):
        before = state.changes
        reader.pass_over()
        # A function may be called above its definition, so programs with functions need a second pass.
        if state.changes == before and (number or not reader.routines):
            break
    printed = Value((), merge_taints(state.printed))
    analysis = Analysis(tuple(state.flows.values()), printed, state.written_files(), tuple(state.printed))
    return analysis, reader.read_whole


class _Statements(JsExpressions):
    """Reads statements in order, whether or not they are reached."""

    def pass_over(self) -> None:
        """Read every file of the program."""
        self.at = 0
        starts = [part.line for part in self.state.context.parts[1:]]
        ends = [bisect_left(self.tokens, start, key=lambda token: token.line) for start in starts]
        for number, end in enumerate((*ends, len(self.tokens))):
            self.state.part, self.scope = number, self.state.scopes[number]
            self.statements(end)

    def statements(self, end: int) -> None:
        """Read all statements up to a position. Always proceeds, whatever the tokens are."""
        while self.at < end:
            before = self.at
            self._statement(end)
            if self.at == before:
                self.at += 1

    def _statement(self, end: int) -> None:
        token = self.tokens[self.at]
        if token.kind is TokenKind.MARK and token.text in "{};,)]:":
            self.at += 1
        elif token.kind is not TokenKind.NAME:
            self.expression(end)
        elif token.text in _DECLARING:
            self.at += 1
            self._declaration(end)
        elif token.text == "import" and not self.is_mark(self.at + 1, "(", "."):
            self._import(end)
        elif token.text == "return":
            self.at += 1
            value = self.expression(end) if not self.is_mark(self.at, ";", "}") else UNKNOWN
            self.record_return(value)
        elif token.text in _LOOPS:
            self._loop(end)
        elif token.text in ("function", "class") or token.text in SKIPPED:
            self._definition(end)
        elif token.text in _OPENING:
            self.at += 1
        else:
            self.expression(end)

    def _definition(self, end: int) -> None:
        token = self.tokens[self.at]
        if token.text == "function":
            self.function(end)
        elif token.text == "class":
            self.at += 1
        elif token.text == "export":
            self._export(end)
        else:
            self.at += 1
            if self.at < end and self.tokens[self.at].text not in ("function", "class", *_DECLARING, *SKIPPED):
                self.expression(end)

    def _export(self, end: int) -> None:
        """Read export default …, {a as b}, {c} from 'module', * from 'module', but not exported declarations."""
        self.at += 1
        if self.at < end and self.tokens[self.at].text == "default":
            self.at += 1
            self.entries = {}
            self.export_all(self.expression(end))
        elif self.is_mark(self.at, "{", "*"):
            closing = min(self.partners[self.at], end) if self.is_mark(self.at, "{") else self.at
            words = [token.text for token in self.tokens[self.at : closing + 1]]
            self.at = closing + 1
            module = ""
            if (
                self.at + 1 < end
                and self.tokens[self.at].text == "from"
                and self.tokens[self.at + 1].kind is TokenKind.TEXT
            ):
                module = module_name(self.tokens[self.at + 1].text)
                self.at += 2
            self._hand_on(words, module)

    def _hand_on(self, words: list[str], module: str) -> None:
        """Re-export names of this file or another one."""
        file = self.state.import_of((module,)) if module else None
        if words == ["*"] and file is not None:
            self.scope.variables |= self.state.scopes[file.part].variables
        for name, (_, member) in import_names(words, module).items():
            value = self.imported((module,), member) if module else self.scope.find(member)
            if value is not None and name == "default":
                self.state.record_field("module.exports", value)
            elif value is not None:
                self.scope.variables[name] = value

    def _declaration(self, end: int) -> None:
        """Read const a = …, {b, c: d} = …, [e] = …;"""
        while self.at < end:
            if self.is_mark(self.at, "{", "["):
                opening, closing = self.at, min(self.partners[self.at], end)
                self.at = closing + 1
                self.skip_type(end)
                value = self._initial(end)
                self._destructure(opening, closing, value)
            elif self.tokens[self.at].kind is TokenKind.NAME:
                name = self.tokens[self.at].text
                self.at += 1
                self.skip_type(end)
                if self.at < end and self.tokens[self.at].text == "of":
                    self.at += 1
                    self.declare(name, element_of(self.expression(end)))
                else:
                    self.declare(name, self._initial(end, name))
            if not self.is_mark(self.at, ","):
                break
            self.at += 1

    def declare(self, name: str, value: ProgramValue) -> None:
        if self.nested and name in self.scope.variables:
            value = any_of((self.scope.variables[name], value))
        self.scope.variables[name] = value

    def _initial(self, end: int, name: str = "") -> ProgramValue:
        if self.at < end and self.tokens[self.at].text == "of":
            self.at += 1
            return element_of(self.expression(end))
        if not self.is_mark(self.at, "="):
            return UNKNOWN
        self.at += 1
        return self.expression(end)

    def _destructure(self, opening: int, closing: int, value: ProgramValue) -> None:
        position = opening + 1
        index = 0
        while position < closing:
            token = self.tokens[position]
            if token.kind is TokenKind.NAME:
                name = token.text
                if self.is_mark(position + 1, ":") and position + 2 < closing:
                    position += 2
                    name = self.tokens[position].text
                self.declare(name, self._member_of(value, token.text, index, self.tokens[opening].text == "["))
            elif self.is_mark(position, "{", "[", "("):
                position = min(self.partners[position], closing)
            elif self.is_mark(position, ","):
                index += 1
            elif self.is_mark(position, "="):
                position += 1
            position += 1

    def _member_of(self, value: ProgramValue, name: str, index: int, by_position: bool) -> ProgramValue:
        if by_position:
            if value.items is not None and index < len(value.items):
                return value.items[index]
            return ProgramValue((), value.taints)
        if WHOLE_ENVIRONMENT in value.names:
            return self.environment_variable(name, self.tokens[min(self.at, len(self.tokens) - 1)].line)
        if (imported := self.imported(value.names, name)) is not None:
            return imported
        return ProgramValue((), picked_from(value.taints, name), member_names(value.names, name))

    def _import(self, end: int) -> None:
        """Read import a, {b as c} from 'module'."""
        begin = self.at + 1
        position = begin
        limit = min(end, begin + 400)
        while position < limit and self.tokens[position].kind is not TokenKind.TEXT and not self.is_mark(position, ";"):
            position += 1
        self.at = position + 1
        if position < limit and self.tokens[position].kind is TokenKind.TEXT:
            words = [token.text for token in self.tokens[begin:position]]
            for name, (module, member) in import_names(words, self.tokens[position].text).items():
                imported = self.imported((module,), member)
                full = module if member in ("*", "default") else f"{module}.{member}"
                self.scope.variables[name] = imported if imported is not None else ProgramValue(names=(full,))

    def _loop(self, end: int) -> None:
        """Read while (…) and for (…), and mark the body of an endless loop."""
        keyword = self.tokens[self.at].text
        self.at += 1
        if self.is_mark(self.at, "("):
            closing = min(self.partners[self.at], end)
            inside = "".join(token.text for token in self.tokens[self.at + 1 : min(closing, self.at + 4)])
            forever = (keyword == "while" and inside in ("true", "1", "!0")) or inside == ";;"
            self.at += 1
            self.nested += 1
            self.statements(closing)
            self.at = closing + 1
            if self.is_mark(self.at, "{"):
                body_end = min(self.partners[self.at], end)
                self.state.loops_forever += forever
                self.deeper(body_end)
                self.state.loops_forever -= forever
            self.nested -= 1
