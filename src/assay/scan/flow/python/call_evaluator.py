"""Evaluation of calls in a Python program: of its own functions, and of others."""

import ast

from assay.scan.flow.program_values import UNKNOWN, ProgramValue, all_of, any_of, items_of
from assay.scan.flow.python.bindings import Bindings, several_tokens
from assay.scan.flow.python.call import PyCall, PyRoutine
from assay.scan.flow.python.calls import call_function
from assay.scan.flow.python.files import written_files
from assay.scan.flow.python.names import attribute_names
from assay.scan.flow.taint import NOTHING, TaintOrigin, merge_taints

# Prefixes of methods that add their arguments to the object they are called on.
_FILLING = ("append", "extend", "add", "update", "insert", "write", "attach", "set", "put", "push")


class CallEvaluator(Bindings):
    """Evaluates calls. Arguments of the program's own functions are recorded until their bodies are read."""

    def call(self, node: ast.Call) -> ProgramValue:
        receiver = self.value(node.func.value) if isinstance(node.func, ast.Attribute) else UNKNOWN
        function = self._function(node.func, receiver)
        arguments = self._arguments(node)
        keywords = {keyword.arg or "**": self.value(keyword.value) for keyword in node.keywords}
        routine = self._routine(node.func, function)
        if routine is not None:
            returned = self._call_routine(routine, arguments, keywords)
            others = tuple(name for name in function.names if not name.startswith(("def:", "class:")))
            if not others:
                return returned
            # The name may also refer to a function of another module.
            return any_of((returned, self._call_other(node, ProgramValue(names=others), receiver, arguments, keywords)))
        return self._call_other(node, function, receiver, arguments, keywords)

    def _call_other(
        self,
        node: ast.Call,
        function: ProgramValue,
        receiver: ProgramValue,
        arguments: list[ProgramValue],
        keywords: dict[str, ProgramValue],
    ) -> ProgramValue:
        """Evaluate a function that the program does not define."""
        method = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        call = PyCall(function.names, method, receiver, arguments, keywords, node, self.state)
        if function.taints:
            self._run_assembled(function, node)
        if method.startswith(_FILLING):
            self._accumulate(node, call)
        written_files(call)
        self._call_callbacks(call)
        return call_function(call)

    def _run_assembled(self, function: ProgramValue, node: ast.Call) -> None:
        """Report a call of a function whose name was assembled from pieces."""
        assembled = frozenset(taint for taint in function.taints if taint.origin is TaintOrigin.ASSEMBLED)
        self.state.run(assembled, node.lineno, "called by a name put together")

    def _function(self, node: ast.expr, receiver: ProgramValue) -> ProgramValue:
        if not isinstance(node, ast.Attribute):
            return self.value(node)
        if receiver.names and (imported := self.state.imported(receiver.names, node.attr)) is not None:
            return any_of((imported, self.state.field_of(self.field_key(node))))
        field = self.state.field_of(self.field_key(node))
        return ProgramValue((), NOTHING, (*field.names, *attribute_names(receiver.names, node.attr))[:4])

    def _arguments(self, node: ast.Call) -> list[ProgramValue]:
        arguments: list[ProgramValue] = []
        for argument in node.args:
            value = self.value(argument)
            if isinstance(argument, ast.Starred) and value.items is not None:
                arguments += value.items
            else:
                arguments.append(value)
        return arguments

    def _routine(self, node: ast.expr, function: ProgramValue) -> PyRoutine | None:
        for name in function.names:
            if name.startswith("def:") and name[4:] in self.routines:
                return self.routines[name[4:]]
        if isinstance(node, ast.Attribute):
            owner = node.value.id if isinstance(node.value, ast.Name) else ""
            if owner in ("self", "cls"):
                return self.routines.get(f"{self.scope.owner}.{node.attr}")
            for name in function.names:
                owner = name.split("()")[0].removeprefix("class:")
                if f"{owner}.{node.attr}" in self.routines:
                    return self.routines[f"{owner}.{node.attr}"]
        return None

    def _call_routine(
        self, routine: PyRoutine, arguments: list[ProgramValue], keywords: dict[str, ProgramValue]
    ) -> ProgramValue:
        names = [argument.arg for argument in (*routine.node.args.posonlyargs, *routine.node.args.args)]
        if names and names[0] in ("self", "cls"):
            names = names[1:]
        bound = dict(zip(names, arguments, strict=False))
        if routine.node.args.vararg and len(arguments) > len(names):
            bound[routine.node.args.vararg.arg] = all_of(arguments[len(names) :])
        accepted = {argument.arg for argument in routine.node.args.kwonlyargs} | set(names)
        bound |= {name: value for name, value in keywords.items() if name in accepted}
        for name, value in bound.items():
            before = routine.parameters.get(name, UNKNOWN)
            joined = any_of((before, value))
            if joined != before:
                routine.parameters[name] = joined
                self.state.changes += 1
        if self.state.polling and not routine.polled:
            routine.polled = True
            self.state.changes += 1
        return routine.returned

    def _call_callbacks(self, call: PyCall) -> None:
        """Call functions that are passed as arguments, with the other arguments."""
        for value in call.values:
            for name in value.names:
                if name.startswith("def:") and name[4:] in self.routines:
                    others = [v for v in (*call.values, call.receiver) if v is not value]
                    items = [item for other in others for item in other.items or ()]
                    self._call_routine(self.routines[name[4:]], items or others, {})

    def _accumulate(self, node: ast.Call, call: PyCall) -> None:
        """Add what is put into a collection, an archive or a message to its taints."""
        target = node.func.value if isinstance(node.func, ast.Attribute) else None
        if not isinstance(target, (ast.Name, ast.Attribute)) or "file(w)" in call.receiver.names:
            return
        before = call.receiver
        added = list(call.arguments)
        if call.method == "write" and added:  # `write` of an archive takes a path
            added.append(ProgramValue((), self.state.content(added[0], call.line)))
        taints = merge_taints([before.taints, *(several_tokens(value.taints) for value in added)])
        items = before.items
        if items is not None and call.method == "append" and len(items) < 200:
            items = items_of((*items, *added[:1]))
        elif items is not None and call.method == "extend" and added[:1] and added[0].items is not None:
            items = items_of((*items, *added[0].items))
        elif taints == before.taints:
            return
        self.assign(target, ProgramValue(before.texts, taints, before.names, items), certain=True)

    def record_return(self, routine: PyRoutine, value: ProgramValue) -> None:
        joined = any_of((routine.returned, value))
        if joined != routine.returned:
            routine.returned = joined
            self.state.changes += 1
