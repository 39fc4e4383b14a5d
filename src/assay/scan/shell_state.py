"""What is known while a script is read: its variables, its files, its functions and what was found so far."""

from dataclasses import dataclass, field

from assay.scan.sensitive import (
    is_ordinary_startup,
    is_token_name,
    persistent_place,
    personal_files,
    secret_of_path,
)
from assay.scan.taint import (
    HOLE,
    NAMED,
    NO_VALUE,
    NOTHING,
    Flow,
    FlowKind,
    Given,
    Origin,
    ReadCode,
    Taint,
    Taints,
    Value,
    flow_of,
    flows_of_running,
    flows_of_sending,
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
class ShellState:
    read: ReadCode
    given: Given
    variables: dict[str, Value] = field(default_factory=dict)
    files: dict[str, Taints] = field(default_factory=dict)
    functions: dict[str, Function] = field(default_factory=dict)
    flows: dict[tuple[FlowKind, int], Flow] = field(default_factory=dict)
    polling: bool = False

    def report(self, flows: list[Flow]) -> None:
        for flow in flows:
            self.flows.setdefault((flow.kind, flow.line), flow)

    def send(self, taints: Taints, line: int, sink: str, *, login: bool = False) -> None:
        self.report(flows_of_sending(taints, line, sink, login=login))

    def run(self, taints: Taints, line: int, sink: str) -> None:
        self.report(flows_of_running(taints, line, sink, polling=self.polling))

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
        """What stands in a file: what was written to it here, or the secret that it holds."""
        found: list[Taints] = []
        for text in path.texts:
            found.append(self.files.get(file_key(text), NOTHING))
            if secret := secret_of_path(text, line) or personal_files(text, line):
                found.append(frozenset({secret}))
        return merge_taints(found)

    def write(self, path: Value, content: Value, line: int, sink: str) -> None:
        """Keep what a file now holds, and report a file that is obeyed later."""
        for text in path.texts:
            key = file_key(text)
            if key.startswith("/dev/"):
                continue
            self.files[key] = merge_taints((self.files.get(key, NOTHING), content.taints))
            place = persistent_place(text)
            if place and not _is_ordinary(place, content):
                self.report([flow_of(FlowKind.PERSISTED, _shown_content(content), line, line, f"{sink} {text}")])

    def keep_call(self, name: str, arguments: list[Value]) -> Value:
        """What a function of the script prints, after noting what it is called with."""
        function = self.functions[name]
        for position, value in enumerate(arguments[:9], start=1):
            function.arguments[position] = join_values((function.arguments.get(position, Value()), value))
        return function.output


def join_values(values: tuple[Value, ...] | list[Value]) -> Value:
    """One value that may be any of these."""
    return Value(merge_texts(v.texts for v in values), one_of(v.taints for v in values))


def file_key(path: str) -> str:
    """The same text for the same file, however it is written."""
    path = path.strip("'\"")
    while path.startswith("./"):
        path = path[2:]
    return path.replace("${HOME}", "~").replace("$HOME", "~")


def _is_ordinary(place: str, content: Value) -> bool:
    return place == "startup" and bool(content.texts) and all(map(is_ordinary_startup, content.texts))


def _shown_content(content: Value) -> str:
    if content.taints:
        return min(content.taints).text
    known = [text for text in content.texts if text.strip(HOLE)]
    return known[0] if known else "content"
