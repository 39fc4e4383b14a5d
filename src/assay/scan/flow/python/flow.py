"""Dataflow in Python programs: a bounded number of passes over the syntax tree, with values joined across functions."""

import ast
import re
from bisect import bisect_right

from assay.scan.flow.program_state import ProgramState
from assay.scan.flow.program_strings import concatenate, element_of
from assay.scan.flow.program_values import UNKNOWN, ProgramValue, VariableScope, any_of
from assay.scan.flow.python.call import PyRoutine
from assay.scan.flow.python.expressions import PyExpressions
from assay.scan.flow.python.parsing import parse_python
from assay.scan.flow.taint import AnalyseCode, Analysis, CodeContext, Language, ProgramPart, Value, merge_taints

# Each pass carries values one call further; longer chains are not followed.
_PASSES = 4
_DEPTH = 40
_ASKS_FOR_NAME = re.compile(r"^[A-Z][A-Z0-9_]{2,60}=?$")


def find_python_flows(code: str, read: AnalyseCode, context: CodeContext) -> tuple[Analysis, bool]:
    """Return the result, and whether all of the program could be read."""
    module, whole = parse_python(code)
    state = ProgramState(read, context, language=Language.PYTHON, files=dict(context.files))
    walker = _Walker(state)
    files = _by_file(module.body, context.parts)
    for _ in range(_PASSES):
        before = state.changes
        walker.walk_files(files)
        if state.changes == before and not walker.routines:
            break
        if state.changes == before and walker.passes > 1:
            break
    printed = Value((), merge_taints(state.printed))
    analysis = Analysis(tuple(state.flows.values()), printed, state.written_files(), tuple(state.printed))
    return analysis, whole and walker.read_whole


class _Walker(PyExpressions):
    def __init__(self, state: ProgramState) -> None:
        super().__init__(state)
        self.passes = 0
        self.branches = 0
        self.statement_depth = 0
        self.routine: PyRoutine | None = None

    def walk_files(self, files: list[list[ast.stmt]]) -> None:
        self.passes += 1
        for number, statements in enumerate(files):
            self.state.part, self.scope = number, self.state.scopes[number]
            self.block(statements)

    def block(self, statements: list[ast.stmt]) -> None:
        if self.statement_depth > _DEPTH:
            self.read_whole = False
            return
        self.statement_depth += 1
        for statement in statements:
            self.statement(statement)
        self.statement_depth -= 1

    def branch(self, *bodies: list[ast.stmt]) -> None:
        """Read statements that may not be reached: their assignments are joined with the previous values."""
        self.branches += 1
        for body in bodies:
            self.block(body)
        self.branches -= 1

    def statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Expr():
                self.value(node.value)
            case ast.Assign():
                self._assign_all(node)
            case ast.AnnAssign():
                self.assign(node.target, self.value(node.value), certain=not self.branches)
            case ast.AugAssign():
                self._assign_sum(node)
            case ast.Return():
                value = self.value(node.value)
                if self.routine is not None:
                    self.record_return(self.routine, value)
            case ast.If():
                self._if(node)
            case ast.For() | ast.AsyncFor():
                self.assign(node.target, element_of(self.value(node.iter)), certain=not self.branches)
                self.branch(node.body, node.orelse)
            case ast.While():
                self._while(node)
            case ast.With() | ast.AsyncWith():
                self._with(node)
            case _:
                self._statement_rarer(node)

    def _statement_rarer(self, node: ast.stmt) -> None:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self._function_definition(node)
            case ast.ClassDef():
                self._class(node)
            case ast.Import():
                self._import(node)
            case ast.ImportFrom():
                self._import_from(node)
            case ast.Try() | ast.TryStar():
                self.block(node.body)
                self.branch(*(handler.body for handler in node.handlers), node.orelse)
                self.block(node.finalbody)
            case ast.Match():
                self.value(node.subject)
                self.branch(*(case.body for case in node.cases))
            case ast.Raise():
                self.value(node.exc)
            case ast.Assert():
                self.value(node.test)
            case ast.Global():
                for name in node.names:
                    self.scope.variables["global " + name] = UNKNOWN
            case _:
                pass

    def _assign_all(self, node: ast.Assign) -> None:
        value = self.value(node.value)
        for target in node.targets:
            self.assign(target, value, certain=not self.branches)

    def assign(self, target: ast.expr, value: ProgramValue, *, certain: bool = True) -> None:
        super().assign(target, value, certain=certain)
        if isinstance(target, ast.Name) and f"global {target.id}" in self.scope.variables:
            scope = self.scope
            while scope.outer is not None:
                scope = scope.outer
            before = scope.variables.get(target.id, UNKNOWN)
            joined = any_of((before, value))
            if joined != before:
                scope.variables[target.id] = joined
                self.state.changes += 1

    def _assign_sum(self, node: ast.AugAssign) -> None:
        before, added = self.value(node.target), self.value(node.value)
        if isinstance(node.op, ast.Add):
            value = concatenate(before, added, node.lineno)
        else:
            value = ProgramValue((), before.taints | added.taints, before.names)
        self.assign(node.target, value, certain=not self.branches or isinstance(node.op, ast.Add))

    def _if(self, node: ast.If) -> None:
        """Read `if` and its `elif` branches, which nest as deep as they are many, in a loop."""
        branch: ast.If | None = node
        while branch is not None:
            self.value(branch.test)
            picking = _asks_for_name(branch.test)
            self.picking += picking
            self.branch(branch.body)
            self.picking -= picking
            following = branch.orelse
            if len(following) == 1 and isinstance(following[0], ast.If):
                branch = following[0]
            else:
                self.branch(following)
                branch = None

    def _while(self, node: ast.While) -> None:
        self.value(node.test)
        forever = isinstance(node.test, ast.Constant) and bool(node.test.value)
        self.state.loops_forever += forever
        self.branch(node.body, node.orelse)
        self.state.loops_forever -= forever

    def _with(self, node: ast.With | ast.AsyncWith) -> None:
        for item in node.items:
            value = self.value(item.context_expr)
            if item.optional_vars is not None:
                self.assign(item.optional_vars, value, certain=not self.branches)
        self.block(node.body)

    def _function_definition(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        """Read the body with the arguments of all calls so far."""
        owner = self.scope.owner if self.scope.name == f"class {self.scope.owner}" else ""
        key = f"{owner}.{node.name}" if owner else self.state.local(node.name)
        routine = self.routines.get(key)
        if routine is None or routine.node is not node:
            routine = self.routines[key] = PyRoutine(node=node)
        self.scope.variables[node.name] = ProgramValue(names=(f"def:{key}",))
        for decorator in node.decorator_list:
            self.value(decorator)
        self._read_body(node, routine)

    def _read_body(self, node: ast.FunctionDef | ast.AsyncFunctionDef, routine: PyRoutine) -> None:
        arguments = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
        variables = {argument.arg: routine.parameters.get(argument.arg, UNKNOWN) for argument in arguments}
        defaults = dict(zip([a.arg for a in node.args.args][::-1], node.args.defaults[::-1], strict=False))
        for name, default in defaults.items():
            variables[name] = any_of((variables.get(name, UNKNOWN), self.value(default)))
        for extra in (node.args.vararg, node.args.kwarg):
            if extra is not None:
                variables[extra.arg] = routine.parameters.get(extra.arg, UNKNOWN)
        outer = (self.scope, self.routine, self.branches, self.state.loops_forever)
        self.scope = VariableScope(node.name, variables, self.scope, self.scope.owner)
        self.routine, self.branches, self.state.loops_forever = routine, 0, int(routine.polled)
        self.block(node.body)
        self.scope, self.routine, self.branches, self.state.loops_forever = outer

    def _class(self, node: ast.ClassDef) -> None:
        for decorator in (*node.decorator_list, *node.bases):
            self.value(decorator)
        owner = self.state.local(node.name)
        self.scope.variables[node.name] = ProgramValue(names=(f"class:{owner}",))
        outer, self.scope = self.scope, VariableScope(f"class {owner}", {}, self.scope, owner)
        self.block(node.body)
        fields, self.scope = self.scope.variables, outer
        for name, value in fields.items():
            if not any(known.startswith("def:") for known in value.names):
                self.state.record_field(f"{owner}.{name}", value)

    def _import(self, node: ast.Import) -> None:
        for alias in node.names:
            name = alias.asname or alias.name.split(".")[0]
            self.scope.variables[name] = ProgramValue(names=(alias.name if alias.asname else name,))

    def _import_from(self, node: ast.ImportFrom) -> None:
        module = self.state.import_of((node.module or "",))
        for alias in node.names:
            if alias.name == "*" and module is not None:
                self.scope.variables |= self.state.scopes[module.part].variables
            imported = self.state.imported((node.module or "",), alias.name)
            if imported is not None:
                self.scope.variables[alias.asname or alias.name] = imported
                continue
            full = f"{node.module}.{alias.name}" if node.module else alias.name
            full = {"builtins.exec": "exec", "builtins.eval": "eval", "pathlib.Path": "pathlib.Path"}.get(full, full)
            self.scope.variables[alias.asname or alias.name] = ProgramValue(names=(full,))


def _by_file(statements: list[ast.stmt], parts: tuple[ProgramPart, ...]) -> list[list[ast.stmt]]:
    """Group statements by the file of the program that contains them."""
    files: list[list[ast.stmt]] = [[] for _ in parts or (None,)]
    starts = [part.line for part in parts[1:]]
    for statement in statements:
        files[bisect_right(starts, statement.lineno)].append(statement)
    return files


def _asks_for_name(test: ast.expr) -> bool:
    """Return true if a condition compares with the name of a setting."""
    constants = (node for node in ast.walk(test) if isinstance(node, ast.Constant))
    return any(isinstance(node.value, str) and _ASKS_FOR_NAME.match(node.value) for node in constants)
