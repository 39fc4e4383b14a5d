"""Effects of shell commands: passing data on, sending, running or storing it."""

import re
from collections.abc import Callable
from itertools import pairwise

from assay.scan.flow.sensitive import is_token_name, name_set, secret_of_path
from assay.scan.flow.shell.call import ShellCall, operands
from assay.scan.flow.shell.network import NETWORK_COMMANDS
from assay.scan.flow.shell.programs import PROGRAM_COMMANDS, interpret, is_interpreter, run_file, wrapped_words
from assay.scan.flow.shell.text import TEXT_COMMANDS
from assay.scan.flow.taint import HOLE, NOTHING, FlowKind, Taint, TaintOrigin, Taints, Value, flow_of, merge_taints

# Commands whose output reveals a property of their input, but not the input.
_MEASURES = name_set("wc md5sum sha1sum sha256sum shasum cksum stat du test [ [[ file diff cmp")
_SENSITIVE = name_set(
    "curl wget nc ncat netcat socat bash sh zsh dash eval exec python python3 perl ruby node php base64 ssh scp rm"
    " chmod sudo source crontab openssl telnet powershell osascript"
)
_HOST_COMMANDS = {
    "hostname": re.compile(r"^$|-[fIis]"),
    "whoami": re.compile(r""),
    "id": re.compile(r"^$|^\S*$(?<!-u)(?<!-g)"),
    "uname": re.compile(r"-\w*[an]"),
    "ifconfig": re.compile(r"^\S*$"),
    "ip": re.compile(r"^(?:-\S+ )*(?:a|addr|address|route|r|neigh)\b"),
    "who": re.compile(r""),
    "w": re.compile(r"^$"),
    "last": re.compile(r""),
    "pbpaste": re.compile(r""),
    "xclip": re.compile(r"-o"),
    "xsel": re.compile(r"-o|--output|^$"),
    "wl-paste": re.compile(r""),
    "ps": re.compile(r"aux|-ef|-e"),
    "netstat": re.compile(r""),
    "systeminfo": re.compile(r""),
    "system_profiler": re.compile(r""),
    "dscl": re.compile(r""),
}
_TOKEN_COMMANDS = re.compile(
    r"^(?:gh auth token|gcloud auth (?:application-default )?print-\S+|aws configure get \S+"
    r"|az account get-access-token|op read|pass show|security find-(?:generic|internet)-password"
    r"|secret-tool lookup|vault read|doppler secrets)"
)
_HOME = re.compile(r"^(?:~|/|/home|/Users|/root|~/(?:Documents|Desktop|Downloads))/?\*?$")
_WRAPPERS = name_set(
    "sudo doas nohup time timeout gtimeout nice command builtin exec setsid stdbuf chroot flock busybox unbuffer"
)


def is_sensitive_command(name: str) -> bool:
    """Return true if hiding the name of this command is suspicious."""
    return name.rsplit("/", 1)[-1] in _SENSITIVE


def call_command(call: ShellCall) -> Value:
    """Return what a command prints, and report what it sends, runs or stores."""
    known = _COMMANDS.get(call.base)
    if known:
        return known(call)
    if is_interpreter(call.base):
        return interpret(call)
    if call.base in _MEASURES:
        return Value()
    if call.base in _HOST_COMMANDS and _HOST_COMMANDS[call.base].search(call.line_of_arguments):
        return call.printing(TaintOrigin.HOST, f"{call.base} {call.line_of_arguments}".strip())
    if _TOKEN_COMMANDS.match(f"{call.base} {call.line_of_arguments}"):
        return call.printing(TaintOrigin.TOKEN, call.base)
    return Value((), merge_taints((call.stdin.taints, run_file(call))))


def _wrapped(call: ShellCall) -> Value:
    words = wrapped_words(call)
    return call_command(call.renamed(words)) if words else Value()


def _environment(call: ShellCall) -> Value:
    names = operands(call.arguments)
    if call.base == "env" and names:
        while names and any("=" in text for text in names[0].texts):
            names = names[1:]
        return call_command(call.renamed(names)) if names else Value()
    if names:
        tokens = {
            Taint(call.line, TaintOrigin.TOKEN, text) for name in names for text in name.texts if is_token_name(text)
        }
        return Value((), frozenset(tokens))
    if call.base == "set" and call.arguments:
        return Value()
    return call.printing(TaintOrigin.SECRET, "the environment")


def _list_directory(call: ShellCall) -> Value:
    for argument in operands(call.arguments):
        for text in argument.texts:
            if _HOME.match(text) or secret_of_path(text, call.line):
                return call.printing(TaintOrigin.HOST, f"listing of {text}")
    return Value()


def _find(call: ShellCall) -> Value:
    words = [argument.texts[0] if argument.texts else "" for argument in call.arguments]
    root = words[0] if words and not words[0].startswith("-") else "."
    names = [following for word, following in pairwise(words) if word in ("-name", "-iname", "-path")]
    found = Value(tuple(f"{root.rstrip('/')}/{name.lstrip('*/')}" for name in names) or (root,))
    if "-exec" in words or "-execdir" in words:
        position = words.index("-exec" if "-exec" in words else "-execdir")
        inner = [_filled(argument, found) for argument in call.arguments[position + 1 :]]
        return call_command(call.renamed(inner)) if inner else Value()
    if _HOME.match(root):
        return Value(found.texts, frozenset({Taint(call.line, TaintOrigin.HOST, f"listing of {root}")}))
    return found


def _xargs(call: ShellCall) -> Value:
    arguments = list(call.arguments)
    while arguments and any(text.startswith("-") for text in arguments[0].texts):
        option = arguments.pop(0).texts[0]
        if option in ("-I", "-n", "-P", "-L", "-d") and arguments:
            arguments.pop(0)
    if not arguments:
        return call.stdin
    filled = [_filled(argument, call.stdin) for argument in arguments]
    if filled == arguments:
        filled.append(call.stdin)
    return call_command(call.renamed(filled))


def _filled(argument: Value, inserted: Value) -> Value:
    if not any("{}" in text or text == "%" for text in argument.texts):
        return argument
    texts = tuple(text.replace("{}", other) for text in argument.texts for other in inserted.texts or (HOLE,))
    return Value(texts[:8], merge_taints((argument.taints, inserted.taints)))


def _tee(call: ShellCall) -> Value:
    for argument in operands(call.arguments):
        call.state.write(argument, call.stdin, call.line, "tee")
    return call.stdin


def _copy(call: ShellCall) -> Value:
    places = operands(call.arguments)
    if len(places) < 2:
        return Value()
    *sources, target = places
    for source in sources:
        content = Value((), call.state.content(source, call.line))
        call.state.write(target, content, call.line, call.base)
        names = [text.rstrip("/").rsplit("/", 1)[-1] for text in source.texts]
        inside = Value(tuple(f"{place.rstrip('/')}/{name}" for place in target.texts for name in names)[:8])
        if content.taints:
            call.state.write(inside, content, call.line, call.base)
            _taint_parents(call, target, content.taints)
    return Value()


def _taint_parents(call: ShellCall, target: Value, taints: Taints) -> None:
    """Taint the folder of a copied file, so that packing or sending the folder is detected."""
    for text in target.texts:
        folder = text.rstrip("/")
        for key in (folder, folder.rsplit("/", 1)[0]):
            if key and key not in ("~", ".", "/tmp", "/var/tmp"):  # noqa: S108 (a name to compare with)
                call.state.files[key] = merge_taints((call.state.files.get(key, NOTHING), taints))


def _read_variable(call: ShellCall) -> Value:
    for argument in operands(call.arguments):
        for name in argument.texts:
            call.state.variables[name] = Value((), call.stdin.taints)
    return Value()


def _crontab(call: ShellCall) -> Value:
    options = call.line_of_arguments
    if not re.search(r"(?:^|\s)-\w*[lre]", options):
        shown = call.stdin.texts[0] if call.stdin.texts else options or "a job"
        call.state.report([flow_of(FlowKind.PERSISTED, shown, call.line, call.line, "crontab")])
    return Value()


def _git(call: ShellCall) -> Value:
    if re.search(r"config\s+(?:--get\s+|--global\s+)*user\.email$", call.line_of_arguments):
        return call.printing(TaintOrigin.HOST, "address of the user")
    if "core.hookspath" in call.line_of_arguments.lower() and "--get" not in call.line_of_arguments:
        call.state.report([flow_of(FlowKind.PERSISTED, call.line_of_arguments, call.line, call.line, "git hooks path")])
    return Value()


def _registry(call: ShellCall) -> Value:
    options = call.line_of_arguments
    if re.search(r"\badd\b.*CurrentVersion\\+Run|/create\b", options, re.IGNORECASE):
        call.state.report([flow_of(FlowKind.PERSISTED, options, call.line, call.line, call.base)])
    return Value()


def _make_temporary(call: ShellCall) -> Value:
    return Value((f"/tmp/temporary-{call.line}",))  # noqa: S108 (a name that stands for the file, never opened)


def _history(call: ShellCall) -> Value:
    return call.printing(TaintOrigin.SECRET, "shell history")


def _keychain(call: ShellCall) -> Value:
    if "dump-keychain" in call.line_of_arguments or "export" in call.line_of_arguments:
        return call.printing(TaintOrigin.SECRET, "keychain")
    return call.printing(TaintOrigin.TOKEN, "keychain")


def _screenshot(call: ShellCall) -> Value:
    taint = frozenset({Taint(call.line, TaintOrigin.HOST, f"screenshot of {call.base}")})
    for argument in operands(call.arguments)[-1:]:
        call.state.write(argument, Value((), taint), call.line, call.base)
    return Value((), taint)


_COMMANDS: dict[str, Callable[[ShellCall], Value]] = {
    **dict.fromkeys(_WRAPPERS, _wrapped),
    **NETWORK_COMMANDS,
    **PROGRAM_COMMANDS,
    **TEXT_COMMANDS,
    "env": _environment,
    "printenv": _environment,
    "set": _environment,
    "export": _environment,
    "declare": _environment,
    "ls": _list_directory,
    "dir": _list_directory,
    "find": _find,
    "xargs": _xargs,
    "tee": _tee,
    "cp": _copy,
    "mv": _copy,
    "ln": _copy,
    "install": _copy,
    "read": _read_variable,
    "mapfile": _read_variable,
    "readarray": _read_variable,
    "crontab": _crontab,
    "git": _git,
    "reg": _registry,
    "reg.exe": _registry,
    "schtasks": _registry,
    "mktemp": _make_temporary,
    "history": _history,
    "fc": _history,
    "security": _keychain,
    "screencapture": _screenshot,
    "scrot": _screenshot,
    "gnome-screenshot": _screenshot,
}
