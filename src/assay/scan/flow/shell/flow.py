"""Dataflow in shell scripts: through pipes, variables and files."""

import re
from dataclasses import dataclass

from assay.scan.flow.shell.call import ShellCall
from assay.scan.flow.shell.commands import call_command, is_sensitive_command
from assay.scan.flow.shell.programs import is_interpreter
from assay.scan.flow.shell.state import ShellFunction, ShellState, join_values
from assay.scan.flow.shell.syntax import parse_shell
from assay.scan.flow.shell.words import PartKind, Pipeline, Redirection, ShellCommand, Word, WordPart
from assay.scan.flow.taint import (
    HOLE,
    NO_VALUE,
    NOTHING,
    AnalyseCode,
    Analysis,
    CodeContext,
    FlowKind,
    Taint,
    TaintOrigin,
    Taints,
    Value,
    flow_of,
    join_texts,
    merge_taints,
)

# A value that moves backwards through a script from file to file needs one more pass for each step.
_PASSES = 3
_ASSIGNMENT = re.compile(r"^(\w+)(?:\[[^\]]*\])?(\+?)=")
_DECLARING = {"export", "local", "declare", "readonly", "typeset"}
_KEYWORDS = {"if", "then", "elif", "else", "do", "!", "time", "coproc", "in", "while", "until", "{"}
_CLOSING = {"}": "{", "done": "loop", ")": "("}
_FOREVER = {"true", ":", "1", "[1]"}
_NETWORK_DEVICE = ("/dev/tcp/", "/dev/udp/")
# The redirections of a command, with their evaluated targets.
Targets = list[tuple[Redirection, Value]]


def find_shell_flows(code: str, read: AnalyseCode, context: CodeContext) -> tuple[Analysis, bool]:
    """Return the result, and whether all of the script could be read. `context` holds the taints of its holes."""
    pipelines, whole = parse_shell(code)
    reader = _ScriptReader(ShellState(read, context, files=dict(context.files)))
    output = Value()
    for _ in range(_PASSES):
        before = reader.fingerprint()
        reader.streams = 0
        output = reader.script(pipelines)
        if reader.fingerprint() == before:
            break
    return Analysis(tuple(reader.state.flows.values()), output, reader.state.written_files()), whole


@dataclass(slots=True)
class _Block:
    """A loop, group, subshell or function body, with its output."""

    kind: str
    command: ShellCommand | None = None
    function: str = ""
    forever: bool = False
    printed: Value = NO_VALUE


class _ScriptReader:
    def __init__(self, state: ShellState) -> None:
        self.state = state
        self.blocks = [_Block("script")]
        self.fed: dict[int, Taints] = {}
        self.streams = 0
        self.announced = ""

    def fingerprint(self) -> tuple[object, ...]:
        """Return the state that one pass hands to the next."""
        functions = [(name, tuple(f.arguments.items()), f.output) for name, f in self.state.functions.items()]
        return dict(self.state.files), functions, dict(self.fed)

    def script(self, pipelines: tuple[Pipeline, ...]) -> Value:
        """Return the output of these pipelines."""
        depth = len(self.blocks)
        self.blocks.append(_Block("script"))
        for pipeline in pipelines:
            printed = self._pipeline(pipeline)
            self._print(printed)
        printed = self.blocks[depth].printed
        del self.blocks[depth:]
        return printed

    def _print(self, value: Value) -> None:
        if value.texts or value.taints:
            block = self.blocks[-1]
            block.printed = value if block.printed == Value() else _written_after(block.printed, value)

    def _pipeline(self, pipeline: Pipeline) -> Value:
        value = Value()
        for command in pipeline.commands:
            value = self._command(command, value)
        return value

    def _command(self, command: ShellCommand, stdin: Value) -> Value:
        # Evaluate each once: redirection targets may contain nested commands.
        targets = [(redirection, self.word(redirection.target)) for redirection in command.redirections]
        stdin = self._stdin(command, targets, stdin)
        words = self._open_blocks(command, command.words)
        words = self._assign(words, stdin)
        output = self._run(words, command, targets, stdin) if words else stdin if not command.words else Value()
        return self._redirect(command, targets, output)

    def _stdin(self, command: ShellCommand, targets: Targets, stdin: Value) -> Value:
        for redirection, target in targets:
            if redirection.operator in ("<<", "<<<"):
                stdin = target
            elif redirection.operator in ("<", "<>", "<&"):
                stdin = Value((), self._read_from(redirection, target, command.line))
        return stdin

    def _read_from(self, redirection: Redirection, target: Value, line: int) -> Taints:
        if any(text.startswith(_NETWORK_DEVICE) for text in target.texts):
            return frozenset({Taint(line, TaintOrigin.RECEIVED, target.texts[0])})
        if redirection.operator == "<&":
            return self.state.files.get(f"&{redirection.target.plain}", NOTHING)
        return self.state.content(target, line)

    def _open_blocks(self, command: ShellCommand, words: list[Word]) -> list[Word]:
        """Strip leading keywords, and open and close loops, groups and functions."""
        forever = False
        while words:
            keyword = words[0].plain
            if keyword in ("for", "select"):
                return self._open_for(command, words)
            if keyword == "function":
                self.announced = words[1].plain if len(words) > 1 else ""
                self.state.functions.setdefault(self.announced, ShellFunction())
                return []
            if keyword == "case":
                return []
            if keyword in ("while", "until"):
                forever = len(words) > 1 and "".join(w.plain for w in words[1:]) in _FOREVER
                self._push(_Block("loop", command, forever=forever))
            elif keyword in ("{", "("):
                self._push(_Block(keyword, command, function=self.announced))
                self.announced = ""
                if keyword == "(":
                    return []
            if keyword not in _KEYWORDS:
                break
            words = words[1:]
        return [] if forever else words

    def _push(self, block: _Block) -> None:
        if len(self.blocks) < 200:
            self.blocks.append(block)
        self.state.loops_forever = sum(block.forever for block in self.blocks)

    def _open_for(self, command: ShellCommand, words: list[Word]) -> list[Word]:
        forever = any(";;" in word.plain for word in words)
        self._push(_Block("loop", command, forever=forever))
        if len(words) > 1:
            values = [self.word(word) for word in words[3:]]
            joined = join_values(values)
            self.state.variables[words[1].plain] = Value(joined.texts, merge_taints(v.taints for v in values))
        return []

    def _close_block(self, kind: str, command: ShellCommand, targets: Targets) -> Value:
        if self.blocks[-1].kind != kind:
            return Value()
        block = self.blocks.pop()
        self.state.loops_forever = sum(block.forever for block in self.blocks)
        if block.function:
            function = self.state.functions[block.function]
            function.output = join_values((function.output, block.printed))
            return Value()
        fed = [self._read_from(r, target, command.line) for r, target in targets if r.operator == "<"]
        if fed and block.command:
            self.fed[id(block.command)] = merge_taints(fed)
        return block.printed

    def _assign(self, words: list[Word], stdin: Value) -> list[Word]:
        """Strip and evaluate assignments before a command, or all arguments of `export` and the like."""
        declaring = bool(words) and words[0].plain in _DECLARING
        if declaring and len(words) == 1:
            return words
        position = 1 if declaring else 0
        while position < len(words):
            match = _ASSIGNMENT.match(words[position].parts[0].text) if words[position].parts else None
            if match and words[position].parts[0].kind is PartKind.TEXT:
                self._assign_one(match, words[position])
            elif not declaring:
                break
            position += 1
        return words[position:] if not declaring or words[1].plain == "-p" else []

    def _assign_one(self, match: re.Match[str], word: Word) -> None:
        head = WordPart(PartKind.TEXT, word.parts[0].text[match.end() :])
        value = self.word(Word((head, *word.parts[1:]), word.line))
        name = match[1]
        if match[2] and name in self.state.variables:
            value = _written_after(self.state.variables[name], value, "")
        elif len(self.blocks) > 2 and name in self.state.variables:  # the branch or loop may not be taken
            value = join_values((value, self.state.variables[name]))
        self.state.variables[name] = value

    def _run(self, words: list[Word], command: ShellCommand, targets: Targets, stdin: Value) -> Value:
        name_word = words[0]
        if name_word.plain in _CLOSING:
            return self._close_block(_CLOSING[name_word.plain], command, targets)
        if name_word.plain == "read" and stdin == Value() and self.blocks[-1].command:
            stdin = Value((), self.fed.get(id(self.blocks[-1].command), NOTHING))
        name = self.word(name_word)
        arguments = [self.word(word) for word in words[1:]]
        line = name_word.line
        self.state.run(name.taints, line, f"command {name.texts[0] if name.texts else ''}")
        text = name.texts[0] if name.texts else HOLE
        if " " in text.strip() and not name_word.plain:
            first, *others = text.split()
            text, arguments = first, [Value((other,), name.taints) for other in others] + arguments
        self._check_name(name_word, text)
        self._check_remote_shell(text, command, targets)
        if text in self.state.functions:
            return self.state.record_call(text, arguments)
        return call_command(ShellCall(text, arguments, stdin, line, self.state))

    def _check_name(self, word: Word, text: str) -> None:
        encoded = any(part.encoded and part.kind is PartKind.TEXT for part in word.parts)
        if (word.broken or encoded) and is_sensitive_command(text):
            shown = "escaped letters" if encoded else "quotes or backslashes inside the name"
            self.state.report([flow_of(FlowKind.HIDDEN_NAME, shown, word.line, word.line, text)])

    def _check_remote_shell(self, name: str, command: ShellCommand, targets: Targets) -> None:
        if not (is_interpreter(name) or name == "exec"):
            return
        for redirection, value in targets:
            target = value.texts[:1]
            if not target or not target[0].startswith(_NETWORK_DEVICE):
                continue
            if name == "exec" and redirection.descriptor:
                taint = Taint(command.line, TaintOrigin.RECEIVED, target[0])
                self.state.files[f"&{redirection.descriptor.strip('{}')}"] = frozenset({taint})
            elif name != "exec":
                self.state.report([flow_of(FlowKind.REMOTE_SHELL, target[0], command.line, command.line, name)])

    def _redirect(self, command: ShellCommand, targets: Targets, output: Value) -> Value:
        for redirection, target in targets:
            if ">" not in redirection.operator or redirection.operator == "<>" or redirection.descriptor == "2":
                continue
            if redirection.operator == ">&" and redirection.target.plain.isdigit():
                continue
            if any(text.startswith(_NETWORK_DEVICE) for text in target.texts):
                self.state.send(output.taints, command.line, f"redirection to {target.texts[0]}")
            self.state.write(target, output, command.line, "redirection to")
            output = Value()
        return output

    def word(self, word: Word) -> Value:
        """Return the possible values of a word."""
        if len(word.parts) == 1:
            return self._part(word.parts[0], word.line)
        values = [self._part(part, word.line) for part in word.parts]
        texts = join_texts(value.texts for value in values)
        taints = merge_taints(value.taints for value in values)
        return Value(texts, taints | _assembled(word, values, texts))

    def _part(self, part: WordPart, line: int) -> Value:
        match part.kind:
            case PartKind.TEXT:
                return Value((part.text,), self.state.context.taints if HOLE in part.text else NOTHING)
            case PartKind.VARIABLE:
                return self._variable(part.text, line)
            case PartKind.OUTPUT:
                printed = self.script(part.script)
                return Value(tuple(text.rstrip("\n") for text in printed.texts), printed.taints)
            case PartKind.STREAM:
                self.streams += 1
                name = f"/dev/fd/{self.streams + 62}"
                self.state.files[name] = self.script(part.script).taints
                return Value((name,))

    def _variable(self, name: str, line: int) -> Value:
        if name.isdigit() or name in "@*":
            for block in reversed(self.blocks):
                if block.function:
                    arguments = self.state.functions[block.function].arguments
                    chosen = list(arguments.values()) if name in "@*" else [arguments.get(int(name[:4]), Value())]
                    return join_values(chosen)
        return self.state.variable(name, line)


def _written_after(before: Value, after: Value, between: str = "\n") -> Value:
    if not before.texts or not after.texts:
        return Value(before.texts or after.texts, merge_taints((before.taints, after.taints)))
    texts = join_texts((before.texts, (between,), after.texts))
    return Value(texts, merge_taints((before.taints, after.taints)))


def _assembled(word: Word, values: list[Value], texts: tuple[str, ...]) -> Taints:
    """Return a taint for a sensitive command name split between pieces of which at least one is not plain text."""
    if len(texts) != 1 or len(texts[0]) > 200 or all(part.kind is PartKind.TEXT for part in word.parts):
        return NOTHING
    last = texts[0].rsplit("/", 1)[-1]
    if not is_sensitive_command(last) or any(value.texts[:1] and value.texts[0].endswith(last) for value in values):
        return NOTHING
    return frozenset({Taint(word.line, TaintOrigin.ASSEMBLED, "name put together from pieces")})
