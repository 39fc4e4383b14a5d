"""Functions of a JavaScript program: definitions and callbacks."""

from assay.scan.flow.javascript.calls import JsCall
from assay.scan.flow.javascript.cursor import Cursor
from assay.scan.flow.javascript.names import member_names
from assay.scan.flow.javascript.tokens import TokenKind
from assay.scan.flow.program_strings import element_of
from assay.scan.flow.program_values import UNKNOWN, ProgramValue, Routine, VariableScope, any_of
from assay.scan.flow.taint import merge_taints, picked_from


class Functions(Cursor):
    """Reads function definitions."""

    def function(self, end: int) -> ProgramValue:
        """Read function name(a, b) { … }."""
        begin = self.at
        self.at += 1
        if self.is_mark(self.at, "*"):
            self.at += 1
        name = ""
        if self.at < end and self.tokens[self.at].kind is TokenKind.NAME:
            name = self.tokens[self.at].text
            self.at += 1
        if not self.is_mark(self.at, "("):
            return UNKNOWN
        closing = min(self.partners[self.at], end)
        parameters = self.parameter_names(self.at + 1, closing)
        self.at = closing + 1
        self._skip_type_before_body(end)
        value = self.body(begin, parameters, end)
        if name:
            self.scope.variables[name] = value
        return value

    def _skip_type_before_body(self, end: int) -> None:
        if self.is_mark(self.at, ":"):
            while self.at < end and not self.is_mark(self.at, "{", ";", "=>"):
                self.at += 1

    def parameter_names(self, begin: int, end: int) -> list[str]:
        names: list[str] = []
        position, awaiting = begin, True
        while position < end:
            token = self.tokens[position]
            if token.kind is TokenKind.MARK and token.text in "{[(":
                inner = min(self.partners[position], end)
                if awaiting:
                    names.append(
                        "{" + ",".join(t.text for t in self.tokens[position:inner] if t.kind is TokenKind.NAME)
                    )
                position, awaiting = inner, False
            elif token.kind is TokenKind.NAME and awaiting:
                names.append(token.text)
                awaiting = False
            elif token.kind is TokenKind.MARK and token.text == ",":
                awaiting = True
            position += 1
        return names

    def body(self, begin: int, parameters: list[str], end: int) -> ProgramValue:
        """Read the body of a function with the arguments of all calls so far."""
        key = f"{begin}"
        routine = self.routines.setdefault(key, Routine())
        self.parameters[key] = parameters
        variables: dict[str, ProgramValue] = {}
        for position, parameter in enumerate(parameters):
            value = routine.parameters.get(str(position), UNKNOWN)
            if parameter.startswith("{"):
                for name in parameter[1:].split(","):
                    variables[name] = ProgramValue((), picked_from(value.taints, name), member_names(value.names, name))
            else:
                variables[parameter] = value
        outer = (self.scope, self.routine, self.nested, self.state.loops_forever)
        self.scope = VariableScope(key, variables, self.scope)
        self.routine, self.nested, self.state.loops_forever = routine, 0, int(routine.polled)
        if self.is_mark(self.at, "{"):
            self.deeper(min(self.partners[self.at], end))
        else:
            self.record_return(self.expression(end))
        self.scope, self.routine, self.nested, self.state.loops_forever = outer
        return ProgramValue(names=(f"def:{key}",))

    def call_callbacks(self, call: JsCall, result: ProgramValue) -> ProgramValue:
        """Call functions that are passed as arguments, with the values that the call works on."""
        returned = []
        for value in call.arguments:
            for name in value.names:
                if name.startswith("def:"):
                    passed = self._callback_arguments(call, result)
                    repeated = call.member == "setInterval" or "setInterval" in call.names
                    self.state.loops_forever += repeated
                    returned.append(self.call_routine(name[4:], passed))
                    self.state.loops_forever -= repeated
        return any_of(returned)

    @staticmethod
    def _callback_arguments(call: JsCall, result: ProgramValue) -> list[ProgramValue]:
        if call.member in ("forEach", "map", "filter", "flatMap", "some", "every", "find"):
            return [element_of(call.receiver)]
        if call.member == "reduce":
            return [UNKNOWN, element_of(call.receiver)]
        value = result if result.taints or result.names else call.receiver
        value = ProgramValue((), merge_taints((value.taints, call.receiver.taints)), value.names)
        return [value, value, value] if call.member not in ("catch",) else [UNKNOWN]
