"""Operands of JavaScript expressions: literals, names and brackets, with the members and calls that follow them."""

from assay.scan.flow.javascript.calls import JsCall, call_function
from assay.scan.flow.javascript.cursor import AssignmentTarget
from assay.scan.flow.javascript.functions import Functions
from assay.scan.flow.javascript.names import WHOLE_ENVIRONMENT, check_hidden_member, member_names, without_login
from assay.scan.flow.javascript.tokens import Token, TokenKind
from assay.scan.flow.program_values import UNKNOWN, ProgramValue, all_of, any_of
from assay.scan.flow.sensitive import is_token_name
from assay.scan.flow.taint import HOLE, NAMED, NOTHING, Taint, TaintOrigin, merge_taints, picked_from

ENDING = frozenset({",", ";", ")", "]", "}", ":"})
SKIPPED = frozenset({"export", "default", "async", "await", "typeof", "void", "delete", "throw", "yield", "static"})
_EMPTY_WORDS = frozenset({"true", "false", "null", "undefined"})
# The value of `process.execPath`.
_INTERPRETER = ("node",)
_HOST_VARIABLES = frozenset({"USER", "HOSTNAME", "USERNAME", "LOGNAME", "COMPUTERNAME"})


class Operands(Functions):
    """Reads operands."""

    def operand(self, end: int) -> tuple[ProgramValue, AssignmentTarget | None]:
        """Read one operand and the members, indexes and calls that follow it."""
        negated = False
        while self.at < end:
            token = self.tokens[self.at]
            if (token.kind is TokenKind.MARK and token.text in ("!", "+", "-", "~", "...", "++", "--")) or (
                token.kind is TokenKind.NAME and token.text in SKIPPED
            ):
                negated |= token.text == "!"
                self.at += 1
            else:
                break
        if self.at >= end:
            return UNKNOWN, None
        value, target = self._primary(end)
        value, target = self._followed(value, target, end)
        return (UNKNOWN if negated else value), target

    def _primary(self, end: int) -> tuple[ProgramValue, AssignmentTarget | None]:
        token = self.tokens[self.at]
        match token.kind:
            case TokenKind.TEXT:
                self.at += 1
                return ProgramValue((token.text,), self.state.context.taints if HOLE in token.text else NOTHING), None
            case TokenKind.NUMBER:
                self.at += 1
                return ProgramValue((_number(token.text),)), None
            case TokenKind.PATTERN:
                self.at += 1
                return UNKNOWN, None
            case TokenKind.NAME:
                return self._name(token, end)
            case TokenKind.MARK:
                return self._bracket(token, end), None

    def _name(self, token: Token, end: int) -> tuple[ProgramValue, AssignmentTarget | None]:
        if token.text == "function":
            return self.function(end), None
        if token.text == "new":
            self.at += 1
            return self._primary(end) if self.at < end else (UNKNOWN, None)
        if self.is_mark(self.at + 1, "=>"):
            begin = self.at
            self.at += 2
            return self.body(begin, [token.text], end), None
        self.at += 1
        if token.text in _EMPTY_WORDS:
            return UNKNOWN, None
        value = self.scope.find(token.text)
        if value is None:
            value = ProgramValue(names=(token.text,))
        if not value.texts and value.items is None:
            value = ProgramValue((f"{NAMED}{token.text}{NAMED}",), value.taints, value.names)
        return value, AssignmentTarget(token.text)

    def _bracket(self, token: Token, end: int) -> ProgramValue:
        if token.text not in ("(", "[", "{"):
            if token.text not in ENDING:
                self.at += 1
            return UNKNOWN
        opening, closing = self.at, min(self.partners[self.at], end)
        if token.text == "(" and self._is_arrow(closing, end):
            parameters = self.parameter_names(opening + 1, closing)
            self.at = closing + 1
            while self.at < end and not self.is_mark(self.at, "=>"):
                self.at += 1
            self.at += 1
            return self.body(opening, parameters, end)
        self.at += 1
        if token.text == "{":
            value = self._object(closing)
        else:
            values = self.elements(closing)
            value = all_of(values) if token.text == "[" else values[-1] if values else UNKNOWN
        self.at = closing + 1
        return value

    def _is_arrow(self, closing: int, end: int) -> bool:
        if self.is_mark(closing + 1, "=>"):
            return True
        # (a): Promise<void> => …
        return (
            self.is_mark(closing + 1, ":")
            and any(self.is_mark(position, "=>") for position in range(closing + 2, min(closing + 12, end)))
            and not self.ternaries
        )

    def elements(self, closing: int) -> list[ProgramValue]:
        values: list[ProgramValue] = []
        ternaries, self.ternaries = self.ternaries, 0
        while self.at < closing:
            before = self.at
            values.append(self.expression(closing))
            if self.at == before or self.is_mark(self.at, ",", ";"):
                self.at += 1
        self.ternaries = ternaries
        return values

    def _object(self, closing: int) -> ProgramValue:
        """Read { key: value, … }. A login stays a login, everything else is payload."""
        taints = []
        names: tuple[str, ...] = ()
        entries: dict[str, ProgramValue] = {}
        ternaries, self.ternaries = self.ternaries, 0
        while self.at < closing:
            before = self.at
            key = self.tokens[self.at].text
            if self.is_mark(self.at + 1, ":"):
                self.at += 2
                value = self.expression(closing)
                entries[key] = value
                taints.append(without_login(key, value.taints))
                if value.names and value.names[0].startswith("def:"):
                    names = value.names
            elif self.is_mark(self.at + 1, "(") and self.tokens[self.at].kind is TokenKind.NAME:  # a method
                begin, inner = self.at, min(self.partners[self.at + 1], closing)
                parameters = self.parameter_names(self.at + 2, inner)
                self.at = inner + 1
                entries[key] = self.body(begin, parameters, closing)
            else:
                entries[key] = self.expression(closing)
                taints.append(without_login(key, entries[key].taints))
            if self.at == before or self.is_mark(self.at, ",", ";", ":"):
                self.at += 1
        self.ternaries = ternaries
        self.entries = entries
        return ProgramValue((), merge_taints(taints), names)

    def _followed(
        self, value: ProgramValue, target: AssignmentTarget | None, end: int
    ) -> tuple[ProgramValue, AssignmentTarget | None]:
        receiver, member = UNKNOWN, ""
        while self.at < end:
            token = self.tokens[self.at]
            if token.kind is not TokenKind.MARK:
                break
            if token.text in (".", "?."):
                self.at += 1
                if self.is_mark(self.at, "(", "["):
                    continue
                if self.at >= end or self.tokens[self.at].kind is not TokenKind.NAME:
                    break
                receiver, member = value, self.tokens[self.at].text
                value, target = self._member(value, member, target)
                self.at += 1
            elif token.text == "[" and not token.begins_line:
                receiver = value
                value, member, target = self._index(value, target, end)
            elif token.text == "(" and not (token.begins_line and not member):
                value, target = self._call(value, receiver, member, end), None
                receiver, member = UNKNOWN, ""
            elif token.text == "!" and not token.begins_line:  # TypeScript's non-null assertion
                self.at += 1
            else:
                break
        return value, target

    def _member(
        self, value: ProgramValue, member: str, target: AssignmentTarget | None
    ) -> tuple[ProgramValue, AssignmentTarget | None]:
        line = self.tokens[self.at].line
        if WHOLE_ENVIRONMENT in value.names:
            return self.environment_variable(member, line), None
        if (imported := self.imported(value.names, member)) is not None:
            return imported, None
        names = member_names(value.names, member)
        if WHOLE_ENVIRONMENT in names:
            taint = Taint(line, TaintOrigin.SECRET, WHOLE_ENVIRONMENT)
            return ProgramValue((), frozenset({taint}), (WHOLE_ENVIRONMENT,)), None
        key = f"{target.name}.{member}" if target is not None and target.name else ""
        field = self.state.field_of(key) if key else UNKNOWN
        taints = merge_taints((value.taints, field.taints))
        if member == "length":
            taints = NOTHING
        following = AssignmentTarget(target.name, key) if key and target is not None else None
        texts = field.texts or ((f"{NAMED}{key}{NAMED}",) if key else ())
        if "process.execPath" in names:
            texts = _INTERPRETER
        return ProgramValue(texts, taints, (*field.names, *names)[:4], field.items), following

    def environment_variable(self, name: str, line: int) -> ProgramValue:
        if name in ("HOME", "USERPROFILE"):
            return ProgramValue(("~",))
        if name in _HOST_VARIABLES:
            return self.state.taint(TaintOrigin.HOST, f"process.env.{name}", line)
        return self.state.taint(TaintOrigin.TOKEN, name, line) if is_token_name(name) else UNKNOWN

    def _index(
        self, value: ProgramValue, target: AssignmentTarget | None, end: int
    ) -> tuple[ProgramValue, str, AssignmentTarget | None]:
        opening, closing = self.at, min(self.partners[self.at], end)
        self.at += 1
        values = self.elements(closing)
        self.at = closing + 1
        key = values[-1] if values else UNKNOWN
        known = key.known_text
        line = self.tokens[opening].line
        if WHOLE_ENVIRONMENT in value.names:
            tokens = [text for text in key.texts if is_token_name(text)]
            return (self.state.taint(TaintOrigin.TOKEN, "|".join(tokens), line) if tokens else UNKNOWN), "", None
        if known is None:
            return ProgramValue((), merge_taints((value.taints, key.taints))), "", target
        if known.isdigit() and value.items is not None and len(known) < 5 and int(known) < len(value.items):
            return value.items[int(known)], "", None
        check_hidden_member(self.state, value.names, key, line)
        names = member_names(value.names, known)
        following = (
            AssignmentTarget(target.name, f"{target.name}.{known}") if target is not None and target.name else None
        )
        if WHOLE_ENVIRONMENT in names:
            taint = Taint(line, TaintOrigin.SECRET, WHOLE_ENVIRONMENT)
            return ProgramValue((), frozenset({taint}), (WHOLE_ENVIRONMENT,)), "", None
        return ProgramValue((), picked_from(value.taints, known), names), known, following

    def _call(self, function: ProgramValue, receiver: ProgramValue, member: str, end: int) -> ProgramValue:
        opening, closing = self.at, min(self.partners[self.at], end)
        self.at += 1
        arguments = self.elements(closing)
        self.at = closing + 1
        for name in function.names:
            if name.startswith("def:"):
                return self.call_routine(name[4:], arguments)
        line = self.tokens[opening].line
        call = JsCall(function.names, member, receiver, arguments, line, self.state)
        result = call_function(call)
        returned = self.call_callbacks(call, result)
        return any_of((result, returned)) if returned is not UNKNOWN else result


def _number(text: str) -> str:
    try:
        return str(int(text, 0)) if len(text) < 20 else text[:40]
    except ValueError:
        return text
