"""Shell commands that run something: interpreters, eval and source, and words that only stand before a command."""

import re
from collections.abc import Callable

from assay.scan.flow.shell.call import Call, operands
from assay.scan.flow.taint import (
    HOLE,
    NAMED,
    NOTHING,
    FlowKind,
    Given,
    Language,
    Reading,
    Taints,
    Value,
    flow_of,
    join_texts,
    merge_taints,
)

_SHELLS = frozenset({"sh", "bash", "zsh", "dash", "ksh", "ash", "fish", "rbash"})
_OTHERS = frozenset({"perl", "ruby", "php", "lua", "osascript", "powershell", "pwsh", "Rscript", "tclsh"})
_PYTHON = re.compile(r"^(?:python|pypy)[\d.]*(?:\.exe)?$")
_JAVASCRIPT = frozenset({"node", "nodejs", "deno", "bun"})
_CODE_OPTION = re.compile(r"^(?:-[a-zA-Z]*[ceEr]|--eval|--print|-p|-[cC]ommand|-enc\w*|-Enc\w*)$")
_SOCKET_AND_SHELL = re.compile(
    r"(?:socket|fsockopen|TCPSocket|IO::Socket|TCPClient).*(?:exec|system|popen|spawn|/bin/(?:ba)?sh|iex|Invoke-Expression)",
    re.IGNORECASE | re.DOTALL,
)
_OPERANDS_BEFORE = {"timeout": 1, "chroot": 1, "flock": 1, "gtimeout": 1}
_OPTIONS_WITH_VALUE = {"-u", "-n", "-g", "-C", "-k", "-s", "--signal"}


def is_interpreter(name: str) -> bool:
    """Whether this command runs programs that it is given as text."""
    base = name.rsplit("/", 1)[-1]
    return base in _SHELLS or base in _OTHERS or base in _JAVASCRIPT or _PYTHON.match(base) is not None


def run_file(call: Call) -> Taints:
    """A command given by its path runs what was written to that path; what it prints, if it ships."""
    if "/" in call.name or call.name.startswith((HOLE, NAMED)):
        call.state.run(call.state.content(Value((call.name,)), call.line), call.line, call.name)
        return call.state.printed_by(call.name)
    return NOTHING


def interpret(call: Call) -> Value:
    """The program of an interpreter is its code option, the file it is given, or what it reads."""
    code_follows = False
    for argument in call.arguments:
        text = argument.texts[0] if argument.texts else HOLE
        if code_follows:
            return _run_code(call, argument)
        if _announces_code(call.base, text):
            code_follows = True
        elif text == "-m" and _PYTHON.match(call.base):
            return Value((), call.stdin.taints)
        elif (text == "-s" and call.base in _SHELLS) or text in ("-", "/dev/stdin"):
            break
        elif not text.startswith("-") and not (text == "run" and call.base in _JAVASCRIPT):
            call.state.run(call.state.content(argument, call.line), call.line, f"{call.base} {text}")
            return Value((), merge_taints((call.stdin.taints, call.state.printed_by(text))))
    return _run_code(call, call.stdin)


def _announces_code(base: str, option: str) -> bool:
    """Whether the next word is a program: -c of shells and Python, -e of others, deno eval."""
    if base in _SHELLS or _PYTHON.match(base):
        return re.match(r"^-[a-zA-Z]*c$", option) is not None
    if base in ("deno", "bun") and option == "eval":
        return True
    return _CODE_OPTION.match(option) is not None


def _run_code(call: Call, code: Value) -> Value:
    call.state.run(code.taints, call.line, call.base)
    language = _language(call.base)
    outputs: list[Value] = []
    for text in code.texts:
        if language:
            outputs.append(_nested(call, language, text, code.taints).output)
        elif _SOCKET_AND_SHELL.search(text[:4000]):
            call.state.report([flow_of(FlowKind.REMOTE_SHELL, text, call.line, call.line, call.base)])
    return outputs[0] if outputs else Value((), call.stdin.taints)


def _language(base: str) -> Language | None:
    if base in _SHELLS:
        return Language.SHELL
    if _PYTHON.match(base):
        return Language.PYTHON
    return Language.JAVASCRIPT if base in _JAVASCRIPT else None


def _nested(call: Call, language: Language, code: str, taints: Taints) -> Reading:
    """What is found in code that is given as text; where nothing of it is known, there is nothing to read."""
    if not code.replace(HOLE, "").strip():
        return Reading()
    if NAMED in code:
        code = re.sub(f"{NAMED}[\\w.]+{NAMED}", HOLE, code)
    reading = call.state.read(language, code, Given(taints), call.line)
    call.state.report(list(reading.flows))
    return reading


def _evaluate(call: Call) -> Value:
    words = call.arguments
    call.state.run(call.taints, call.line, "eval")
    texts = join_texts(piece for word in words for piece in (word.texts, (" ",)))
    output = Value()
    for text in texts if words else ():
        output = _nested(call, Language.SHELL, text, call.taints).output
    return output


def _source(call: Call) -> Value:
    for argument in operands(call.arguments)[:1]:
        shown = argument.texts[0] if argument.texts else ""
        call.state.run(call.state.content(argument, call.line), call.line, f"source {shown}")
    return Value()


def wrapped_words(call: Call) -> list[Value]:
    """The command that follows sudo, nohup, timeout and their like."""
    words = list(call.arguments)
    while words and any(text.startswith("-") or re.match(r"^\w+=", text) for text in words[0].texts):
        option = words.pop(0).texts[0]
        if option in _OPTIONS_WITH_VALUE and words and call.base not in ("command", "exec"):
            words.pop(0)
    return words[_OPERANDS_BEFORE.get(call.base, 0) :]


PROGRAM_COMMANDS: dict[str, Callable[[Call], Value]] = {
    "eval": _evaluate,
    "source": _source,
    ".": _source,
}
