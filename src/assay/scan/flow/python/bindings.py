"""The variables, fields and entries of a Python program: what is bound to them, and where it may still be another."""

import ast

from assay.scan.flow.known_values import UNKNOWN, Known, any_of
from assay.scan.flow.program_state import ProgramState
from assay.scan.flow.python.call import PyRoutine
from assay.scan.flow.taint import Origin, Taint, Taints, merge_taints

ENVIRONMENT = "os.environ"


class Bindings:
    """What names stand for; `read_whole` tells whether anything was too deep to follow."""

    def __init__(self, state: ProgramState) -> None:
        self.state = state
        self.scope = state.scopes[0]
        self.routines: dict[str, PyRoutine] = {}
        self.depth = 0
        self.read_whole = True
        # Inside a branch that asks for one name of a settings file, only that one value is meant.
        self.picking = 0
        self.accumulating = 0

    def value(self, node: ast.expr | None) -> Known:
        """What an expression may be; what reads it is built above."""
        raise NotImplementedError

    def assign(self, target: ast.expr, value: Known, *, certain: bool = True) -> None:
        """Bind a value to a target; where it is not certain that this is reached, the old value stays possible."""
        match target:
            case ast.Name():
                before = self.scope.variables.get(target.id)
                if not certain and before is not None:
                    value = any_of((before, value))
                self.scope.variables[target.id] = value
                if "global " + target.id in self.scope.variables:
                    self.state.keep_field("." + target.id, value)
            case ast.Attribute():
                self.state.keep_field(self.field_key(target), value)
                self._assign_member(target, value)
            case ast.Subscript():
                self._assign_entry(target, value)
            case ast.Tuple() | ast.List():
                self._unpack(target, value, certain=certain)
            case ast.Starred():
                self.assign(target.value, Known((), value.taints), certain=certain)

    def _assign_member(self, target: ast.Attribute, value: Known) -> None:
        """What is assigned to a name of another file, that file has, too."""
        found = self.state.import_of(self.value(target.value).names)
        if found is not None:
            variables = self.state.scopes[found.part].variables
            joined = any_of((variables.get(target.attr, UNKNOWN), value))
            self.state.changes += joined != variables.get(target.attr, UNKNOWN)
            variables[target.attr] = joined

    def _unpack(self, target: ast.Tuple | ast.List, value: Known, *, certain: bool) -> None:
        items = value.items if value.items is not None and len(value.items) == len(target.elts) else None
        for position, element in enumerate(target.elts):
            self.assign(element, items[position] if items else Known((), value.taints), certain=certain)

    def _assign_entry(self, target: ast.Subscript, value: Known) -> None:
        owner = self.value(target.value)
        key = self.value(target.slice)
        if ENVIRONMENT in owner.names:
            return
        if key.known is not None and value.texts:
            self.state.keep_field(f"{ast.unparse(target.value)[:60]}[{key.known}]", value)
        taints = merge_taints((owner.taints, several_tokens(value.taints), key.taints))
        if taints != owner.taints and isinstance(target.value, (ast.Name, ast.Attribute)):
            self.assign(target.value, Known(owner.texts, taints, owner.names))

    def field_key(self, node: ast.Attribute) -> str:
        owner = node.value.id if isinstance(node.value, ast.Name) else ""
        return f"{self.scope.owner if owner in ('self', 'cls') else owner}.{node.attr}"


def several_tokens(taints: Taints) -> Taints:
    """In a collection that a loop fills, what was one of several tokens becomes all of them."""
    if not any(taint.origin is Origin.TOKEN and "|" in taint.text for taint in taints):
        return taints
    spread = [
        Taint(taint.line, taint.origin, name)
        for taint in taints
        for name in (taint.text.split("|") if taint.origin is Origin.TOKEN else [taint.text])
    ]
    return merge_taints((frozenset(spread),))
