"""Running of other programs, and of text as code, by a Python program."""

from collections.abc import Callable

from assay.scan.flow.program_values import UNKNOWN, ProgramValue, any_of, command_of
from assay.scan.flow.python.call import PyCall
from assay.scan.flow.taint import HOLE, FlowKind, TaintOrigin, Taints, flow_of, merge_taints

_STREAMS = ("stdin", "stdout", "stderr")
# A list of words is not read by a shell: only the program and code passed to an interpreter are run.
_RUN_AS_A_WHOLE = (TaintOrigin.DECODED, TaintOrigin.RECEIVED, TaintOrigin.ASSEMBLED, TaintOrigin.FETCHED)


def _execute(call: PyCall) -> ProgramValue:
    """Evaluate `exec` and `eval`."""
    code = call.argument(0, "source")
    call.state.run(code.taints, call.line, call.names[0])
    call.state.run_code(code, call.line)
    return UNKNOWN


def _compile(call: PyCall) -> ProgramValue:
    code = call.argument(0, "source")
    return ProgramValue(code.texts, code.taints)


def _run_command(call: PyCall) -> ProgramValue:
    """Evaluate `os.system`, `subprocess.run` and the like."""
    command = call.argument(0, "args")
    if command is UNKNOWN:
        command = call.argument(0, "command")
    _check_wiring(call)
    _run_whole(call, command)
    printed = call.state.run_command(command, call.line, call.keywords.get("input", UNKNOWN))
    return ProgramValue(printed.texts, printed.taints, ("subprocess()",))


def _run_whole(call: PyCall, command: ProgramValue) -> None:
    """Report the program that is run, if nothing else of the command is known or its first word is tainted."""
    first = command.items[0] if command.items else command
    texts, _ = command_of(first)
    whole = command.items is not None or not any(text.strip(HOLE) for text in texts) or first.known_text is not None
    if whole:
        running = frozenset(taint for taint in first.taints if taint.origin in _RUN_AS_A_WHOLE)
        call.state.run(running, call.line, call.names[0])


def _run_words(call: PyCall) -> ProgramValue:
    """Evaluate `os.execv(path, words)` and `create_subprocess_exec(program, *words)`."""
    words = call.arguments[1].items if len(call.arguments) == 2 and call.arguments[1].items else tuple(call.arguments)
    _check_wiring(call)
    command = ProgramValue((), merge_taints(word.taints for word in words), (), words)
    _run_whole(call, command)
    call.state.run(call.state.content(call.argument(0), call.line), call.line, call.names[0])
    printed = call.state.run_command(command, call.line)
    return ProgramValue(printed.texts, printed.taints, ("subprocess()",))


def _check_wiring(call: PyCall) -> None:
    """Report a socket as the input or output of a program, which gives the other end control of it."""
    for stream in _STREAMS:
        value = call.keywords.get(stream, UNKNOWN)
        if any(name.startswith("socket.") for name in value.names):
            shown = f"{call.names[0]} with {stream} of a socket"
            call.state.report([flow_of(FlowKind.REMOTE_SHELL, "socket", call.line, call.line, shown)])


def _duplicate(call: PyCall) -> ProgramValue:
    if any(name.startswith("socket.") for name in call.argument(0).names):
        call.state.report(
            [flow_of(FlowKind.REMOTE_SHELL, "socket", call.line, call.line, "os.dup2 onto standard streams")]
        )
    return UNKNOWN


def _run_path(call: PyCall) -> ProgramValue:
    for value in call.arguments[:2]:
        content = frozenset(taint for taint in call.state.content(value, call.line) if taint.origin in _RUN_AS_A_WHOLE)
        call.state.run(content, call.line, call.names[0])
    return UNKNOWN


def _function_type(call: PyCall) -> ProgramValue:
    code = call.argument(0)
    call.state.run(code.taints, call.line, call.names[0])
    return UNKNOWN


def run_coroutine(call: PyCall) -> ProgramValue:
    """Evaluate `asyncio.run` and the like, which return what they wait for."""
    value = any_of(call.arguments)
    taints: Taints = merge_taints((value.taints, call.taints))
    return ProgramValue(value.texts, taints, value.names, value.items)


_COMMANDS = (
    *(
        "os.system",
        "os.popen",
        "os.popen2",
        "os.startfile",
        "commands.getoutput",
        "commands.getstatusoutput",
        "pty.spawn",
    ),
    *(f"subprocess.{name}" for name in ("run", "call", "check_call", "check_output", "Popen", "getoutput")),
    *("subprocess.getstatusoutput", "asyncio.create_subprocess_shell", "get_ipython().system", "popen2.popen2"),
)
_WORDS = (
    *(f"os.exec{kind}" for kind in ("v", "ve", "vp", "vpe", "l", "le", "lp", "lpe")),
    *("os.spawnl", "os.spawnv", "asyncio.create_subprocess_exec"),
)
PROGRAM_FUNCTIONS: dict[str, Callable[[PyCall], ProgramValue]] = {
    **dict.fromkeys(("exec", "eval", "builtins.exec", "builtins.eval", "execfile"), _execute),
    **dict.fromkeys(("compile", "builtins.compile"), _compile),
    **dict.fromkeys(_COMMANDS, _run_command),
    **dict.fromkeys(_WORDS, _run_words),
    "os.dup2": _duplicate,
    **dict.fromkeys(
        ("runpy.run_path", "imp.load_source", "importlib.util.spec_from_file_location", "ctypes.CDLL"), _run_path
    ),
    "types.FunctionType": _function_type,
}
