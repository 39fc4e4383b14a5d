"""Evaluation of the expressions of a Python program."""

import ast
from collections.abc import Callable
from typing import Any

from assay.scan.flow.program_state import ProgramState
from assay.scan.flow.program_strings import concatenate, element_of, format_text, join_path, repeat
from assay.scan.flow.program_values import UNKNOWN, ProgramValue, VariableScope, all_of, any_of, items_of
from assay.scan.flow.python.bindings import ENVIRONMENT, several_tokens
from assay.scan.flow.python.call import PyCall, PyRoutine
from assay.scan.flow.python.call_evaluator import CallEvaluator
from assay.scan.flow.python.calls import read_variable
from assay.scan.flow.python.names import attribute_names, is_hidden_entry, name_from_table
from assay.scan.flow.taint import HOLE, NAMED, NOTHING, Taint, TaintOrigin, join_texts, merge_taints, picked_from

# Maximum nesting of expressions; deeper code is reported as not fully read.
_DEPTH = 60
# The value of `sys.executable`.
_INTERPRETER = ("python3",)
_BUILTINS = {"__builtins__": "builtins", "__builtin__": "builtins"}


class PyExpressions(CallEvaluator):
    """Evaluates expressions."""

    def __init__(self, state: ProgramState) -> None:
        super().__init__(state)
        comprehensions = dict.fromkeys((ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp), self._comprehension)
        self.readers: dict[type[ast.expr], Callable[[Any], ProgramValue]] = {
            ast.Constant: self._constant,
            ast.Name: self._name,
            ast.Attribute: self._attribute,
            ast.Call: self.call,
            ast.BinOp: self._operation,
            ast.JoinedStr: self._formatted,
            ast.Subscript: self._subscript,
            ast.Dict: self._dictionary,
            ast.Compare: self._comparison,
            ast.BoolOp: self._alternatives,
            ast.IfExp: self._choice,
            ast.NamedExpr: self._named,
            ast.Lambda: self._lambda,
            ast.UnaryOp: self._negation,
            **dict.fromkeys((ast.List, ast.Tuple, ast.Set), self._collection),
            **dict.fromkeys((ast.Await, ast.Starred, ast.YieldFrom, ast.Yield, ast.FormattedValue), self._inner),
            **comprehensions,
        }

    def value(self, node: ast.expr | None) -> ProgramValue:
        read = self.readers.get(type(node)) if node is not None else None
        if node is None or read is None:
            return UNKNOWN
        if self.depth > _DEPTH:
            self.read_whole = False
            return UNKNOWN
        self.depth += 1
        found = read(node)
        self.depth -= 1
        return found

    def _collection(self, node: ast.List | ast.Tuple | ast.Set) -> ProgramValue:
        return all_of([self.value(element) for element in node.elts])

    def _inner(self, node: ast.Await | ast.Starred | ast.YieldFrom | ast.Yield | ast.FormattedValue) -> ProgramValue:
        return self.value(node.value)

    def _comparison(self, node: ast.Compare) -> ProgramValue:
        for operand in (node.left, *node.comparators):
            self.value(operand)
        return UNKNOWN

    def _alternatives(self, node: ast.BoolOp) -> ProgramValue:
        return any_of([self.value(operand) for operand in node.values])

    def _choice(self, node: ast.IfExp) -> ProgramValue:
        self.value(node.test)
        return any_of((self.value(node.body), self.value(node.orelse)))

    def _named(self, node: ast.NamedExpr) -> ProgramValue:
        value = self.value(node.value)
        self.assign(node.target, value)
        return value

    def _negation(self, node: ast.UnaryOp) -> ProgramValue:
        self.value(node.operand)
        return UNKNOWN

    def _constant(self, node: ast.Constant) -> ProgramValue:
        if isinstance(node.value, str):
            return ProgramValue((node.value,), self.state.context.taints if HOLE in node.value else NOTHING)
        if isinstance(node.value, bytes):
            return ProgramValue((node.value.decode("latin-1"),))
        if isinstance(node.value, int) and not isinstance(node.value, bool) and node.value.bit_length() < 200:
            return ProgramValue((str(node.value),))
        return UNKNOWN

    def _name(self, node: ast.Name) -> ProgramValue:
        if node.id == HOLE:
            return ProgramValue((), self.state.context.taints)
        value = self.scope.find(node.id)
        if value is None:
            value = ProgramValue(names=(_BUILTINS.get(node.id, node.id),))
        if self.picking:
            value = ProgramValue(value.texts, picked_from(value.taints, ""), value.names, value.items)
        if value.texts or value.items is not None:
            return value
        return ProgramValue((f"{NAMED}{self.scope.name}.{node.id}{NAMED}",), value.taints, value.names)

    def _attribute(self, node: ast.Attribute) -> ProgramValue:
        owner = self.value(node.value)
        if owner.names and (imported := self.state.imported(owner.names, node.attr)) is not None:
            return any_of((imported, self.state.field_of(self.field_key(node))))
        field = self.state.field_of(self.field_key(node))
        names = attribute_names(owner.names, node.attr)
        if ENVIRONMENT in names or "os.environb" in names:
            taint = Taint(node.lineno, TaintOrigin.SECRET, ENVIRONMENT)
            return ProgramValue((), frozenset({taint}), (ENVIRONMENT,))
        texts = _INTERPRETER if "sys.executable" in names else self._path_attribute(owner, node.attr) or field.texts
        if not texts and isinstance(node.value, ast.Name):
            texts = (f"{NAMED}{node.value.id}.{node.attr}{NAMED}",)
        taints = merge_taints((owner.taints, field.taints))
        return ProgramValue(texts, taints, (*field.names, *names)[:4], field.items)

    @staticmethod
    def _path_attribute(owner: ProgramValue, attribute: str) -> tuple[str, ...]:
        if attribute == "parent" and "pathlib.Path()" in owner.names:
            return tuple(text.rsplit("/", 1)[0] if "/" in text else "." for text in owner.texts)
        return ()

    def _operation(self, node: ast.BinOp) -> ProgramValue:
        if isinstance(node.op, ast.Add):
            return self._sum(node)
        left, right = self.value(node.left), self.value(node.right)
        taints = merge_taints((left.taints, right.taints))
        match node.op:
            case ast.Div() if "pathlib.Path()" in left.names or (left.texts and right.texts):
                return join_path([left, right])
            case ast.Mod() if left.texts:
                values = list(right.items) if right.items is not None else [right]
                return ProgramValue(format_text(left.texts[0], values, {}), taints)
            case ast.Mult() if left.texts and right.texts:
                return repeat(left, right)
            case ast.BitXor():
                return ProgramValue((), taints | {Taint(node.lineno, TaintOrigin.DECODED, "xor")})
            case _:
                return ProgramValue((), taints)

    def _sum(self, node: ast.BinOp) -> ProgramValue:
        """Evaluate a + b + c …, which nests as deep as it is long, from left to right."""
        terms: list[ast.expr] = [node.right]
        left: ast.expr = node.left
        while isinstance(left, ast.BinOp) and isinstance(left.op, ast.Add):
            terms.append(left.right)
            left = left.left
        total = self.value(left)
        for term in reversed(terms):
            total = concatenate(total, self.value(term), node.lineno)
        return total

    def _formatted(self, node: ast.JoinedStr) -> ProgramValue:
        values = [self.value(piece) for piece in node.values]
        taints = merge_taints(value.taints for value in values)
        return ProgramValue(join_texts(value.texts or (HOLE,) for value in values), taints)

    def _dictionary(self, node: ast.Dict) -> ProgramValue:
        values = [self.value(value) for value in node.values]
        keys = [self.value(key) for key in node.keys if key is not None]
        taints = merge_taints([*(value.taints for value in values), *(key.taints for key in keys)])
        return ProgramValue((), taints)

    def _subscript(self, node: ast.Subscript) -> ProgramValue:
        owner = self.value(node.value)
        if isinstance(node.slice, ast.Slice):
            return self._slice(owner, node.slice, node.lineno)
        key = self.value(node.slice)
        if ENVIRONMENT in owner.names:
            return self._variable(key, node)
        entry = name_from_table(owner, key)
        if entry is not None:
            if is_hidden_entry(key, node.slice):
                self.state.report_hidden_name(ast.unparse(node)[:200], node.lineno, key.known_text or "")
            return entry
        index = key.known_text
        if owner.items and index is not None and index.isdigit() and len(index) < 5 and int(index) < len(owner.items):
            item = owner.items[int(index)]
            return ProgramValue(item.texts, item.taints, item.names, item.items)
        field = self.state.field_of(f"{ast.unparse(node.value)[:60]}[{index}]") if index else UNKNOWN
        taints = merge_taints((owner.taints, key.taints if key.known_text is None else NOTHING, field.taints))
        return ProgramValue(field.texts, picked_from(taints, index) if index else taints)

    def _variable(self, key: ProgramValue, node: ast.Subscript) -> ProgramValue:
        call = PyCall((), "", UNKNOWN, [key], {}, _call_at(node), self.state)
        return read_variable(key, call)

    def _slice(self, owner: ProgramValue, part: ast.Slice, line: int) -> ProgramValue:
        if part.step is not None and owner.known_text is not None and part.lower is None and part.upper is None:
            step = ast.unparse(part.step)
            if step.lstrip("-").isdigit() and len(step) < 4 and int(step):
                taint = Taint(line, TaintOrigin.DECODED, f"every {step}th letter" if step != "-1" else "reversed text")
                return ProgramValue((owner.known_text[:: int(step)],), owner.taints | {taint})
        if owner.items is not None:
            return ProgramValue((), owner.taints, (), None)
        return ProgramValue((), owner.taints, owner.names)

    def _comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> ProgramValue:
        outer, self.scope = self.scope, VariableScope(self.scope.name, {}, self.scope, self.scope.owner)
        self.accumulating += 1
        collections = []
        for generator in node.generators:
            collections.append(self.value(generator.iter))
            self.assign(generator.target, element_of(collections[-1]))
            for condition in generator.ifs:
                self.value(condition)
        if isinstance(node, ast.DictComp):
            element = any_of((self.value(node.value), self.value(node.key)))
        else:
            element = self.value(node.elt)
        items = self._letters(node, collections)
        self.accumulating -= 1
        self.scope = outer
        return ProgramValue(
            (), several_tokens(element.taints), (), items_of(items if items is not None else (element,))
        )

    def _letters(self, node: ast.expr, collections: list[ProgramValue]) -> tuple[ProgramValue, ...] | None:
        """Evaluate a simple comprehension for each known element, such as `chr(x) for x in [..]`."""
        if not isinstance(node, (ast.ListComp, ast.GeneratorExp)) or len(node.generators) != 1:
            return None
        items, target = collections[0].items, node.generators[0].target
        if not items or not isinstance(target, ast.Name) or len(items) > 500 or node.generators[0].ifs:
            return None
        if self.accumulating > 1 or sum(1 for _ in ast.walk(node.elt)) > 12:
            return None
        found = []
        for item in items:
            self.scope.variables[target.id] = item
            found.append(self.value(node.elt))
        return tuple(found)

    def _lambda(self, node: ast.Lambda) -> ProgramValue:
        name = f"lambda:{node.lineno}:{node.col_offset}"
        routine = self.routines.setdefault(name, PyRoutine(node=node))
        names = [argument.arg for argument in node.args.args]
        variables = {n: routine.parameters.get(n, UNKNOWN) for n in names}
        outer, self.scope = self.scope, VariableScope(name, variables, self.scope, self.scope.owner)
        self.record_return(routine, self.value(node.body))
        self.scope = outer
        return ProgramValue(names=(f"def:{name}",))


def _call_at(node: ast.expr) -> ast.Call:
    return ast.copy_location(ast.Call(node, [], []), node)
