"""Calls of shell commands."""

from dataclasses import dataclass, replace

from assay.scan.flow.shell.state import ShellState
from assay.scan.flow.taint import HOLE, Taint, TaintOrigin, Taints, Value, merge_taints


@dataclass(frozen=True, slots=True)
class ShellCall:
    name: str
    arguments: list[Value]
    stdin: Value
    line: int
    state: ShellState
    depth: int = 0

    @property
    def base(self) -> str:
        return self.name.rsplit("/", 1)[-1]

    @property
    def line_of_arguments(self) -> str:
        """The arguments as one line, to search for options."""
        return " ".join(argument.texts[0] if argument.texts else HOLE for argument in self.arguments)[:2000]

    @property
    def taints(self) -> Taints:
        return merge_taints(argument.taints for argument in self.arguments)

    def argument(self, position: int) -> Value:
        return self.arguments[position] if position < len(self.arguments) else Value()

    def renamed(self, words: list[Value]) -> "ShellCall":
        """Return the call that these words make: `sudo cmd …` calls cmd."""
        if self.depth > 10:
            return replace(self, name="", arguments=[])
        name = words[0].texts[0] if words[0].texts else ""
        self.state.run(words[0].taints, self.line, f"command {name}")
        return replace(self, name=name, arguments=words[1:], depth=self.depth + 1)

    def printing(self, origin: TaintOrigin, text: str) -> Value:
        """Return an output of unknown text with this origin."""
        return Value((), frozenset({Taint(self.line, origin, text)}))


def operands(arguments: list[Value]) -> list[Value]:
    """Return the arguments that are not options."""
    return [a for a in arguments if not any(text.startswith("-") and text != "-" for text in a.texts)]


def is_option(argument: Value, options: tuple[str, ...]) -> bool:
    return any(text in options for text in argument.texts)
