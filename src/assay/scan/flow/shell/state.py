"""State of the analysis of a shell script: variables, files, functions and flows."""

from dataclasses import dataclass, field

from assay.scan.flow.analysis_state import AnalysisState
from assay.scan.flow.sensitive import is_token_name
from assay.scan.flow.taint import (
    NAMED,
    NO_VALUE,
    NOTHING,
    Taint,
    TaintOrigin,
    Taints,
    Value,
    merge_taints,
    merge_texts,
    one_of,
)

_HOST_VARIABLES = {"USER", "LOGNAME", "HOSTNAME", "USERNAME", "COMPUTERNAME", "SSH_CONNECTION", "SSH_CLIENT"}


@dataclass(slots=True)
class ShellFunction:
    """The arguments and the output of a function, joined over all calls."""

    arguments: dict[int, Value] = field(default_factory=dict)
    output: Value = NO_VALUE


@dataclass(slots=True)
class ShellState(AnalysisState):
    variables: dict[str, Value] = field(default_factory=dict)
    functions: dict[str, ShellFunction] = field(default_factory=dict)

    def variable(self, name: str, line: int) -> Value:
        """Return the value of a variable. One that is not set here comes from the environment."""
        if name in self.variables:
            return self.variables[name]
        if name == "HOME":
            return Value(("~",))
        unknown = f"{NAMED}{name}{NAMED}"
        if name in _HOST_VARIABLES:
            return Value((unknown,), frozenset({Taint(line, TaintOrigin.HOST, f"${name}")}))
        if is_token_name(name):
            return Value((unknown,), frozenset({Taint(line, TaintOrigin.TOKEN, name)}))
        return Value((unknown,))

    def content(self, path: Value, line: int) -> Taints:
        """Return the taints of a file's content."""
        return merge_taints(self.content_of(path.texts, line))

    def key_of(self, path: str) -> str:
        """Return the canonical spelling of a path, also without quotes."""
        return AnalysisState.key_of(self, path.strip("'\""))

    def write(self, path: Value, content: Value, line: int, sink: str) -> None:
        """Record the content of a file, and report a file that is executed or loaded later."""
        for text in path.texts:
            key = self.key_of(text)
            if key.startswith("/dev/"):
                continue
            self.files[key] = merge_taints((self.files.get(key, NOTHING), content.taints))
            self.report_persistence(text, content.texts, content.taints, line, sink)

    def record_call(self, name: str, arguments: list[Value]) -> Value:
        """Record the arguments of a function of the script, and return its output."""
        function = self.functions[name]
        for position, value in enumerate(arguments[:9], start=1):
            function.arguments[position] = join_values((function.arguments.get(position, Value()), value))
        return function.output


def join_values(values: tuple[Value, ...] | list[Value]) -> Value:
    """Return a value that may be any of these."""
    return Value(merge_texts(v.texts for v in values), one_of(v.taints for v in values))
