"""JavaScript expressions: operands, the operators between them, and assignments."""

from assay.scan.flow.javascript.cursor import DEPTH, Place
from assay.scan.flow.javascript.operands import ENDING, Operands
from assay.scan.flow.javascript.tokens import Kind, Token
from assay.scan.flow.known_strings import concatenate
from assay.scan.flow.known_values import UNKNOWN, Known, Scope, any_of
from assay.scan.flow.taint import Origin, Taint, merge_taints

_ASSIGNING = frozenset({"=", "+=", "||=", "&&=", "??=", "-=", "*=", "|=", "&="})
_ALTERNATIVE = frozenset({"||", "??", "&&"})
_COMPARING = frozenset({"==", "===", "!=", "!==", "<", ">", "<=", ">="})


class Expressions(Operands):
    """Reads whole expressions."""

    def expression(self, end: int) -> Known:
        """Operands and operators up to a mark that ends them."""
        if self.depth > DEPTH:
            self.read_whole = False
            self._skip_expression(end)
            return UNKNOWN
        self.depth += 1
        value, place = self.operand(end)
        while self.at < end:
            token = self.tokens[self.at]
            if token.kind is Kind.MARK and token.text in _ASSIGNING:
                value = self._assignment(token.text, value, place, end)
            elif (token.kind is Kind.MARK and token.text not in ENDING and token.text not in "{([") or (
                token.kind is Kind.MARK and token.text == ":" and self.ternaries
            ):
                value, place = self.operator(token, value, end), None
            elif token.kind is Kind.NAME and token.text in ("instanceof", "in", "as", "satisfies"):
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

    def _assignment(self, operator: str, value: Known, place: Place | None, end: int) -> Known:
        line = self.tokens[self.at].line
        self.at += 1
        self.entries = {}
        assigned = self.expression(end)
        if operator == "+=":
            assigned = concatenate(value, assigned, line)
        if place is not None:
            self.assign(place, assigned, joined=operator != "=")
            if place.key == "module.exports":
                self.export_all(assigned)
        return assigned

    def assign(self, place: Place, value: Known, *, joined: bool) -> None:
        if place.key:
            self.state.keep_field(place.key, value)
        if not place.name:
            return
        scope: Scope | None = self.scope
        while scope is not None and place.name not in scope.variables:
            scope = scope.outer
        owner = scope or self.scope
        before = owner.variables.get(place.name, UNKNOWN)
        if place.key:  # a member was assigned: the whole carries it from now on
            value = Known(before.texts, merge_taints((before.taints, value.taints)), before.names)
        elif owner is not self.scope or (self.nested and not joined):
            value = any_of((before, value))
        if owner.variables.get(place.name) != value:
            owner.variables[place.name] = value
            self.state.changes += owner is not self.scope

    def operator(self, token: Token, value: Known, end: int) -> Known:
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
                return Known((), value.taints | other.taints | {Taint(token.line, Origin.DECODED, "xor")})
            case text if text in _COMPARING:
                return UNKNOWN
            case _:
                return Known((), merge_taints((value.taints, other.taints)))
