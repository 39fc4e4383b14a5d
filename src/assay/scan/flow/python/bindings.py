"""Variables, fields and entries of a Python program, and assignments to them."""

import ast

from assay.scan.flow.program_state import ProgramState
from assay.scan.flow.program_values import UNKNOWN, ProgramValue, any_of
from assay.scan.flow.python.call import PyRoutine
from assay.scan.flow.taint import Taint, TaintOrigin, Taints, merge_taints

ENVIRONMENT = "os.environ"


class Bindings:
    """The values of names. `read_whole` is false if anything was nested too deeply to follow."""

    def __init__(self, state: ProgramState) -> None:
        self.state = state
        self.scope = state.scopes[0]
        self.routines: dict[str, PyRoutine] = {}
        self.depth = 0
        self.read_whole = True
        # Above 0 within a branch that tests for one name of a settings file: only that one value is meant.
        self.picking = 0
        self.accumulating = 0

    def value(self, node: ast.expr | None) -> ProgramValue:
        """Evaluate an expression; implemented by a subclass."""
        raise NotImplementedError

    def assign(self, target: ast.expr, value: ProgramValue, *, certain: bool = True) -> None:
        """Bind a value to a target. If the assignment may not be reached, the old value stays possible."""
        match target:
            case ast.Name():
                before = self.scope.variables.get(target.id)
                if not certain and before is not None:
                    value = any_of((before, value))
                self.scope.variables[target.id] = value
                if "global " + target.id in self.scope.variables:
                    self.state.record_field("." + target.id, value)
            case ast.Attribute():
                self.state.record_field(self.field_key(target), value)
                self._assign_member(target, value)
            case ast.Subscript():
                self._assign_entry(target, value)
            case ast.Tuple() | ast.List():
                self._unpack(target, value, certain=certain)
            case ast.Starred():
                self.assign(target.value, ProgramValue((), value.taints), certain=certain)

    def _assign_member(self, target: ast.Attribute, value: ProgramValue) -> None:
        """Assign a member of another file of the program in that file too."""
        found = self.state.import_of(self.value(target.value).names)
        if found is not None:
            variables = self.state.scopes[found.part].variables
            joined = any_of((variables.get(target.attr, UNKNOWN), value))
            self.state.changes += joined != variables.get(target.attr, UNKNOWN)
            variables[target.attr] = joined

    def _unpack(self, target: ast.Tuple | ast.List, value: ProgramValue, *, certain: bool) -> None:
        items = value.items if value.items is not None and len(value.items) == len(target.elts) else None
        for position, element in enumerate(target.elts):
            self.assign(element, items[position] if items else ProgramValue((), value.taints), certain=certain)

    def _assign_entry(self, target: ast.Subscript, value: ProgramValue) -> None:
        owner = self.value(target.value)
        key = self.value(target.slice)
        if ENVIRONMENT in owner.names:
            return
        if key.known_text is not None and value.texts:
            self.state.record_field(f"{ast.unparse(target.value)[:60]}[{key.known_text}]", value)
        taints = merge_taints((owner.taints, several_tokens(value.taints), key.taints))
        if taints != owner.taints and isinstance(target.value, (ast.Name, ast.Attribute)):
            self.assign(target.value, ProgramValue(owner.texts, taints, owner.names))

    def field_key(self, node: ast.Attribute) -> str:
        owner = node.value.id if isinstance(node.value, ast.Name) else ""
        return f"{self.scope.owner if owner in ('self', 'cls') else owner}.{node.attr}"


def several_tokens(taints: Taints) -> Taints:
    """Split a taint that names several tokens into one per token: a loop over them collects all."""
    if not any(taint.origin is TaintOrigin.TOKEN and "|" in taint.text for taint in taints):
        return taints
    spread = [
        Taint(taint.line, taint.origin, name)
        for taint in taints
        for name in (taint.text.split("|") if taint.origin is TaintOrigin.TOKEN else [taint.text])
    ]
    return merge_taints((frozenset(spread),))
