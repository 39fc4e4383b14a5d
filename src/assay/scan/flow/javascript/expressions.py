"""JavaScript expressions: operators and assignments."""

from assay.scan.flow.javascript.cursor import DEPTH, AssignmentTarget
from assay.scan.flow.javascript.operands import ENDING, Operands
from assay.scan.flow.javascript.tokens import Token, TokenKind
from assay.scan.flow.program_strings import concatenate
from assay.scan.flow.program_values import UNKNOWN, ProgramValue, VariableScope, any_of
from assay.scan.flow.taint import Taint, TaintOrigin, merge_taints

_ASSIGNING = frozenset({"=", "+=", "||=", "&&=", "??=", "-=", "*=", "|=", "&="})
_ALTERNATIVE = frozenset({"||", "??", "&&"})
_COMPARING = frozenset({"==", "===", "!=", "!==", "<", ">", "<=", ">="})


class JsExpressions(Operands):
    """Reads whole expressions."""

    def expression(self, end: int) -> ProgramValue:
        """Read operands and operators up to a token that ends the expression."""
        if self.depth > DEPTH:
            self.read_whole = False
            self._skip_expression(end)
            return UNKNOWN
        self.depth += 1
        value, target = self.operand(end)
        while self.at < end:
            token = self.tokens[self.at]
            if token.kind is TokenKind.MARK and token.text in _ASSIGNING:
                value = self._assignment(token.text, value, target, end)
            elif (token.kind is TokenKind.MARK and token.text not in ENDING and token.text not in "{([") or (
                token.kind is TokenKind.MARK and token.text == ":" and self.ternaries
            ):
                value, target = self.operator(token, value, end), None
            elif token.kind is TokenKind.NAME and token.text in ("instanceof", "in", "as", "satisfies"):
                self.at += 1
                self.operand(end)
            else:
                break
        self.depth -= 1
        return value

    def _skip_expression(self, end: int) -> None:
        while self.at < end and not self.is_mark(self.at, ",", ";", ")", "]", "}"):
            if self.is_mark(self.at, "(", "[", "{"):
                self.at = min(self.partners[self.at], end)
            self.at += 1

    def _assignment(
        self, operator: str, value: ProgramValue, target: AssignmentTarget | None, end: int
    ) -> ProgramValue:
        line = self.tokens[self.at].line
        self.at += 1
        self.entries = {}
        assigned = self.expression(end)
        if operator == "+=":
            assigned = concatenate(value, assigned, line)
        if target is not None:
            self.assign(target, assigned, joined=operator != "=")
            if target.key == "module.exports":
                self.export_all(assigned)
        return assigned

    def assign(self, target: AssignmentTarget, value: ProgramValue, *, joined: bool) -> None:
        if target.key:
            self.state.record_field(target.key, value)
        if not target.name:
            return
        scope: VariableScope | None = self.scope
        while scope is not None and target.name not in scope.variables:
            scope = scope.outer
        owner = scope or self.scope
        before = owner.variables.get(target.name, UNKNOWN)
        if target.key:  # assigning a member taints the whole object
            value = ProgramValue(before.texts, merge_taints((before.taints, value.taints)), before.names)
        elif owner is not self.scope or (self.nested and not joined):
            value = any_of((before, value))
        if owner.variables.get(target.name) != value:
            owner.variables[target.name] = value
            self.state.changes += owner is not self.scope

    def operator(self, token: Token, value: ProgramValue, end: int) -> ProgramValue:
        self.at += 1
        if token.text == "?":
            self.ternaries += 1
            chosen = self.expression(end)
            self.ternaries -= 1
            if self.is_mark(self.at, ":"):
                self.at += 1
                return any_of((chosen, self.expression(end)))
            return chosen
        if token.text in ("++", "--"):
            return value
        other, _ = self.operand(end)
        match token.text:
            case "+":
                return concatenate(value, other, token.line)
            case text if text in _ALTERNATIVE:
                return any_of((value, other))
            case "^":
                return ProgramValue((), value.taints | other.taints | {Taint(token.line, TaintOrigin.DECODED, "xor")})
            case text if text in _COMPARING:
                return UNKNOWN
            case _:
                return ProgramValue((), merge_taints((value.taints, other.taints)))
