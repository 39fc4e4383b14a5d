"""Calls in a Python program, and the functions that the program defines."""

import ast
from dataclasses import dataclass

from assay.scan.flow.program_state import ProgramState
from assay.scan.flow.program_values import UNKNOWN, ProgramValue, Routine
from assay.scan.flow.taint import Taints, merge_taints


@dataclass(slots=True, kw_only=True)
class PyRoutine(Routine):
    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


@dataclass(slots=True)
class PyCall:
    """One call: the names of the function, its arguments, and the object that it is a method of."""

    names: tuple[str, ...]
    method: str
    receiver: ProgramValue
    arguments: list[ProgramValue]
    keywords: dict[str, ProgramValue]
    node: ast.Call
    state: ProgramState

    @property
    def line(self) -> int:
        return self.node.lineno

    def argument(self, position: int, name: str = "") -> ProgramValue:
        if position < len(self.arguments):
            return self.arguments[position]
        return self.keywords.get(name, UNKNOWN)

    @property
    def values(self) -> list[ProgramValue]:
        """All arguments, except the environment of a child process."""
        return [*self.arguments, *(value for name, value in self.keywords.items() if name not in ("env", "environ"))]

    @property
    def taints(self) -> Taints:
        return merge_taints(value.taints for value in self.values)
