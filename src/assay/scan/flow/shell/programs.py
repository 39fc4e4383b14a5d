"""Shell commands that run something: interpreters, eval, source, and wrappers such as sudo."""

import re
from collections.abc import Callable

from assay.scan.flow.shell.call import ShellCall, operands
from assay.scan.flow.taint import (
    HOLE,
    NAMED,
    NOTHING,
    Analysis,
    CodeContext,
    FlowKind,
    Language,
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
    """Return true if this command runs programs that are given as text."""
    base = name.rsplit("/", 1)[-1]
    return base in _SHELLS or base in _OTHERS or base in _JAVASCRIPT or _PYTHON.match(base) is not None


def run_file(call: ShellCall) -> Taints:
    """Report a command, given by path, whose file was written before, and return the output of a bundled script."""
    if "/" in call.name or call.name.startswith((HOLE, NAMED)):
        call.state.run(call.state.content(Value((call.name,)), call.line), call.line, call.name)
        return call.state.printed_by(call.name)
    return NOTHING


def interpret(call: ShellCall) -> Value:
    """Run the program of an interpreter: its code option, the file argument, or its input."""
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
    """Return true if the next word is a program: -c of shells and Python, -e of others, deno eval."""
    if base in _SHELLS or _PYTHON.match(base):
        return re.match(r"^-[a-zA-Z]*c$", option) is not None
    if base in ("deno", "bun") and option == "eval":
        return True
    return _CODE_OPTION.match(option) is not None


def _run_code(call: ShellCall, code: Value) -> Value:
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


def _nested(call: ShellCall, language: Language, code: str, taints: Taints) -> Analysis:
    """Analyse code that is given as text, unless all of it is unknown."""
    if not code.replace(HOLE, "").strip():
        return Analysis()
    if NAMED in code:
        code = re.sub(f"{NAMED}[\\w.]+{NAMED}", HOLE, code)
    analysis = call.state.read(language, code, CodeContext(taints), call.line)
    call.state.report(list(analysis.flows))
    return analysis


def _evaluate(call: ShellCall) -> Value:
    words = call.arguments
    call.state.run(call.taints, call.line, "eval")
    texts = join_texts(piece for word in words for piece in (word.texts, (" ",)))
    output = Value()
    for text in texts if words else ():
        output = _nested(call, Language.SHELL, text, call.taints).output
    return output


def _source(call: ShellCall) -> Value:
    for argument in operands(call.arguments)[:1]:
        shown = argument.texts[0] if argument.texts else ""
        call.state.run(call.state.content(argument, call.line), call.line, f"source {shown}")
    return Value()


def wrapped_words(call: ShellCall) -> list[Value]:
    """Return the command that follows sudo, nohup, timeout and the like."""
    words = list(call.arguments)
    while words and any(text.startswith("-") or re.match(r"^\w+=", text) for text in words[0].texts):
        option = words.pop(0).texts[0]
        if option in _OPTIONS_WITH_VALUE and words and call.base not in ("command", "exec"):
            words.pop(0)
    return words[_OPERANDS_BEFORE.get(call.base, 0) :]


PROGRAM_COMMANDS: dict[str, Callable[[ShellCall], Value]] = {
    "eval": _evaluate,
    "source": _source,
    ".": _source,
}
