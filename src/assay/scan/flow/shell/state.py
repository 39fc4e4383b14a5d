"""What is known while a script is read: its variables, its files, its functions and what was found so far."""

from dataclasses import dataclass, field

from assay.scan.flow.reading_state import ReadingState
from assay.scan.flow.sensitive import is_token_name
from assay.scan.flow.taint import (
    NAMED,
    NO_VALUE,
    NOTHING,
    Origin,
    Taint,
    Taints,
    Value,
    merge_taints,
    merge_texts,
    one_of,
)

_HOST_VARIABLES = {"USER", "LOGNAME", "HOSTNAME", "USERNAME", "COMPUTERNAME", "SSH_CONNECTION", "SSH_CLIENT"}


@dataclass(slots=True)
class Function:
    """What a function was called with and what it prints, joined over all calls."""

    arguments: dict[int, Value] = field(default_factory=dict)
    output: Value = NO_VALUE


@dataclass(slots=True)
class ShellState(ReadingState):
    variables: dict[str, Value] = field(default_factory=dict)
    functions: dict[str, Function] = field(default_factory=dict)

    def variable(self, name: str, line: int) -> Value:
        """The value of a variable; one that is not set here comes from the environment."""
        if name in self.variables:
            return self.variables[name]
        if name == "HOME":
            return Value(("~",))
        unknown = f"{NAMED}{name}{NAMED}"
        if name in _HOST_VARIABLES:
            return Value((unknown,), frozenset({Taint(line, Origin.HOST, f"${name}")}))
        if is_token_name(name):
            return Value((unknown,), frozenset({Taint(line, Origin.TOKEN, name)}))
        return Value((unknown,))

    def content(self, path: Value, line: int) -> Taints:
        """What stands in a file."""
        return merge_taints(self.held_by(path.texts, line))

    def key_of(self, path: str) -> str:
        """Without quotes, too."""
        return ReadingState.key_of(self, path.strip("'\""))

    def write(self, path: Value, content: Value, line: int, sink: str) -> None:
        """Keep what a file now holds, and report a file that is obeyed later."""
        for text in path.texts:
            key = self.key_of(text)
            if key.startswith("/dev/"):
                continue
            self.files[key] = merge_taints((self.files.get(key, NOTHING), content.taints))
            self.report_if_kept(text, content.texts, content.taints, line, sink)

    def keep_call(self, name: str, arguments: list[Value]) -> Value:
        """What a function of the script prints, after noting what it is called with."""
        function = self.functions[name]
        for position, value in enumerate(arguments[:9], start=1):
            function.arguments[position] = join_values((function.arguments.get(position, Value()), value))
        return function.output


def join_values(values: tuple[Value, ...] | list[Value]) -> Value:
    """One value that may be any of these."""
    return Value(merge_texts(v.texts for v in values), one_of(v.taints for v in values))
