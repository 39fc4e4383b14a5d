"""What the functions that a JavaScript program calls do: read, fetch, decode, send, run, keep."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from assay.scan.flow.javascript.names import check_hidden_module, module_name
from assay.scan.flow.known_strings import characters, decode_value, join_path, string_method
from assay.scan.flow.known_values import UNKNOWN, Known, all_of, items_of
from assay.scan.flow.program_state import ProgramState
from assay.scan.flow.sensitive import find_url, is_own_address
from assay.scan.flow.taint import HOLE, NOTHING, FlowKind, Origin, Taint, Taints, flow_of, merge_taints


@dataclass(slots=True)
class JsCall:
    names: tuple[str, ...]
    member: str
    receiver: Known
    arguments: list[Known]
    line: int
    state: ProgramState

    def argument(self, position: int) -> Known:
        return self.arguments[position] if position < len(self.arguments) else UNKNOWN

    @property
    def taints(self) -> Taints:
        return merge_taints(argument.taints for argument in self.arguments)


_HTTP = re.compile(
    r"^(?:fetch|node-fetch|axios|got|needle|request|superagent|undici|ky|phin|https?|http2|\$)(?:\(\))?"
    r"(?:\.(?:get|post|put|patch|delete|request|stream|fetch|ajax|create|head))?$"
)
_SENDING = frozenset({"sendBeacon", "sendMail", "postMessage"})
_SOCKETS = re.compile(r"^(?:net|tls|ws|dgram)\b|^WebSocket\b")
_HOST = {
    "os.hostname": "hostname",
    "os.userInfo": "user",
    "os.networkInterfaces": "network interfaces",
    "clipboardy.readSync": "clipboard",
    "clipboardy.read": "clipboard",
    "navigator.clipboard.readText": "clipboard",
    "screenshot-desktop": "screenshot",
}
_MEASURING = frozenset(
    {"existsSync", "statSync", "includes", "startsWith", "endsWith", "indexOf", "test", "log", "error"}
)


def call_function(call: JsCall) -> Known:
    """The value of a call; what it sends, runs or keeps is reported on the way."""
    for name in call.names:
        known = _FUNCTIONS.get(name)
        if known is not None:
            return known(call)
        if name in _HOST:
            return call.state.taint(Origin.HOST, _HOST[name], call.line)
        if _HTTP.match(name):
            return _request(call)
    if call.member in _METHODS:
        handled = _METHODS[call.member](call)
        if handled is not None:
            return handled
    if call.member in _MEASURING:
        return UNKNOWN
    text = _text_method(call)
    if text is not None:
        return text
    taints = merge_taints((call.receiver.taints, call.taints))
    return Known((), taints, tuple(f"{name}()" for name in call.names if not name.endswith("()()()")))


def _text_method(call: JsCall) -> Known | None:
    names = {"trim": "strip", "toLowerCase": "lower", "toUpperCase": "upper", "replaceAll": "replace"}
    method = names.get(call.member, call.member)
    if method == "join":
        return string_method("join", call.argument(0) if call.arguments else Known((",",)), [call.receiver], {})
    if method == "toString":
        return Known(call.receiver.texts, call.receiver.taints)
    if method == "concat" and call.receiver.texts:
        values = [call.receiver, *call.arguments]
        return string_method("join", Known(("",)), [all_of(values)], {})
    if method == "reverse" and call.receiver.items:
        taint = Taint(call.line, Origin.DECODED, "reversed text")
        return Known((), call.receiver.taints | {taint}, (), call.receiver.items[::-1])
    if method == "split" and call.argument(0).known == "" and call.receiver.known is not None:
        letters = tuple(Known((letter,)) for letter in call.receiver.known[:2000])
        return Known((), call.receiver.taints, (), letters)
    if method in ("strip", "lower", "upper", "replace"):
        return string_method(method, call.receiver, call.arguments, {})
    return None


def _request(call: JsCall) -> Known:
    """An HTTP request: its arguments leave, its answer comes."""
    url = next((find_url(text) for value in call.arguments[:2] for text in value.texts if find_url(text)), "")
    if not is_own_address(url):
        call.state.send(call.taints, call.line, f"{call.names[0]}" + (f" to {url}" if url else ""))
    fetched = call.state.taint_of_url(Known((url,)) if url else UNKNOWN, call.line)
    return Known((), fetched.taints, ("request()",))


def _write(call: JsCall) -> Known | None:
    """write, end and send of a request or a socket"""
    names = call.receiver.names
    if "request()" in names or any(_SOCKETS.match(name) or name.startswith("XMLHttpRequest") for name in names):
        call.state.send(call.taints, call.line, f"{call.member} of a connection")
        return UNKNOWN
    return None


def _pipe(call: JsCall) -> Known | None:
    """A stream piped into another: a file into a request, a socket into a shell."""
    source, target = call.receiver, call.argument(0)
    if "request()" in target.names or any(_SOCKETS.match(name) for name in target.names):
        call.state.send(source.taints, call.line, "pipe into a connection")
    if _wired(source, target) or _wired(target, source):
        call.state.report(
            [flow_of(FlowKind.REMOTE_SHELL, "socket", call.line, call.line, "pipe between socket and shell")]
        )
    if "file(w)" in target.names:
        call.state.write(Known(target.texts), source, call.line, "file")
    return target


def _wired(one: Known, other: Known) -> bool:
    return any(_SOCKETS.match(name) for name in one.names) and any("process()" in name for name in other.names)


def _listen(call: JsCall) -> Known | None:
    """on('data', …) of a socket hands on what the other side says."""
    if any(_SOCKETS.match(name) for name in call.receiver.names):
        if call.argument(0).known in ("data", "message"):
            return Known((), frozenset({Taint(call.line, Origin.RECEIVED, "socket")}), call.receiver.names)
        return Known(names=call.receiver.names)
    return Known((), call.receiver.taints, call.receiver.names)


def _digest(call: JsCall) -> Known | None:
    """What was hashed cannot be read from its hash."""
    is_hash = any(name.startswith(("crypto.createHash()", "crypto.createHmac()")) for name in call.receiver.names)
    return UNKNOWN if is_hash else None


def _read_file(call: JsCall) -> Known:
    return Known((), call.state.content(call.argument(0), call.line), ("content",))


def _write_file(call: JsCall) -> Known:
    call.state.write(call.argument(0), call.argument(1), call.line, "file")
    return UNKNOWN


def _write_stream(call: JsCall) -> Known:
    return Known(call.argument(0).texts, NOTHING, ("file(w)",))


def _copy_file(call: JsCall) -> Known:
    content = Known((), call.state.content(call.argument(0), call.line))
    call.state.write(call.argument(1), content, call.line, "copy to")
    return UNKNOWN


def _command(call: JsCall) -> Known:
    """exec and execSync read their text as a shell does; spawn and execFile are given words."""
    command = call.argument(0)
    words = call.argument(1)
    if words.items is not None:
        command = Known((), merge_taints((command.taints, words.taints)), (), items_of((command, *words.items)))
    first = command.items[0] if command.items else command
    if (
        command.items is not None
        or not any(text.replace(HOLE, "").strip("\ue001") for text in first.texts)
        or first.known
        or all(text.startswith("\ue001") and text.endswith("\ue001") for text in first.texts)
    ):
        call.state.run(first.taints, call.line, call.names[0])
    printed = call.state.run_command(command, call.line)
    return Known(printed.texts, printed.taints, ("process()",))


def _evaluate(call: JsCall) -> Known:
    for code in call.arguments:
        call.state.run(code.taints, call.line, call.names[0])
        call.state.run_code(Known(tuple(text for text in code.texts if len(text) > 8), code.taints), call.line)
    return Known(names=("evaluated()",))


def _later(call: JsCall) -> Known:
    """setTimeout with a text evaluates it."""
    if call.argument(0).texts and not call.argument(0).names:
        call.state.run(call.argument(0).taints, call.line, call.names[0])
    return UNKNOWN


def _require(call: JsCall) -> Known:
    name = call.argument(0)
    check_hidden_module(call.state, name, call.line)
    held = frozenset(taint for taint in call.state.content(name, call.line) if taint.origin is Origin.FETCHED)
    call.state.run(held, call.line, "require")
    if not name.known:
        return UNKNOWN
    module = module_name(name.known)
    shipped = call.state.import_of((module,))
    exported = call.state.field_of("module.exports", shipped.part) if shipped is not None else UNKNOWN
    return Known((), exported.taints, (module, *exported.names)[:4])


def _print(call: JsCall) -> Known:
    call.state.print_out(call.taints)
    return UNKNOWN


def _decode(call: JsCall) -> Known:
    return decode_value("b64decode", call.argument(0), call.line)


def _buffer(call: JsCall) -> Known:
    form = call.argument(1).known or ""
    if form in ("base64", "base64url", "hex"):
        return decode_value("unhexlify" if form == "hex" else "b64decode", call.argument(0), call.line)
    value = call.argument(0)
    return characters(value, call.line) if value.items else Known(value.texts, value.taints)


def _from_codes(call: JsCall) -> Known:
    return characters(all_of(call.arguments), call.line)


def _inflate(call: JsCall) -> Known:
    return decode_value("decompress", call.argument(0), call.line)


def _join_path(call: JsCall) -> Known:
    return join_path(call.arguments)


def _home(call: JsCall) -> Known:
    return Known(("~",))


def _lookup(call: JsCall) -> Known:
    if any("." in text for text in call.argument(0).texts):
        call.state.send(call.argument(0).taints, call.line, "name lookup")
    return UNKNOWN


def _same(call: JsCall) -> Known:
    value = call.argument(0)
    return Known((), merge_taints((value.taints, call.taints)), value.names)


_FUNCTIONS: dict[str, Callable[[JsCall], Known]] = {
    **dict.fromkeys(("fs.readFileSync", "fs.readFile", "fs.createReadStream", "fs-extra.readFile"), _read_file),
    **dict.fromkeys(("Deno.readTextFile", "Deno.readTextFileSync", "Bun.file", "fs-extra.readFileSync"), _read_file),
    **dict.fromkeys(("fs.writeFileSync", "fs.writeFile", "fs.appendFileSync", "fs.appendFile"), _write_file),
    **dict.fromkeys(("Deno.writeTextFile", "Bun.write", "fs-extra.writeFile", "fs.outputFile"), _write_file),
    "fs.createWriteStream": _write_stream,
    **dict.fromkeys(("fs.copyFileSync", "fs.copyFile", "fs.cpSync", "fs.renameSync"), _copy_file),
    **dict.fromkeys(
        tuple(
            f"child_process.{name}" for name in ("exec", "execSync", "spawn", "spawnSync", "execFile", "execFileSync")
        ),
        _command,
    ),
    **dict.fromkeys(("execa", "execa.execa", "shelljs.exec", "child_process.fork", "Deno.run", "Bun.spawn"), _command),
    **dict.fromkeys(("eval", "Function", "vm.runInThisContext", "vm.runInNewContext", "vm.runInContext"), _evaluate),
    **dict.fromkeys(("vm.Script", "vm.compileFunction", "execScript"), _evaluate),
    **dict.fromkeys(("setTimeout", "setInterval"), _later),
    **dict.fromkeys(("require", "import", "module.require", "process.mainModule.require"), _require),
    **dict.fromkeys(("console.log", "process.stdout.write"), _print),
    "atob": _decode,
    "Buffer.from": _buffer,
    "Buffer": _buffer,
    "String.fromCharCode": _from_codes,
    **dict.fromkeys(("zlib.inflateSync", "zlib.gunzipSync", "zlib.unzipSync", "zlib.brotliDecompressSync"), _inflate),
    **dict.fromkeys(("path.join", "path.resolve", "join", "resolve"), _join_path),
    "os.homedir": _home,
    **dict.fromkeys(("dns.lookup", "dns.resolve", "dns.resolve4", "dns.resolveTxt"), _lookup),
    **dict.fromkeys(("util.promisify", "promisify", "Promise.resolve", "Promise.all", "JSON.stringify"), _same),
    **dict.fromkeys(
        ("JSON.parse", "Object.assign", "Object.entries", "Object.keys", "String", "encodeURIComponent"), _same
    ),
}
_METHODS: dict[str, Callable[[JsCall], Known | None]] = {
    **dict.fromkeys(("write", "end", "send"), _write),
    "pipe": _pipe,
    "digest": _digest,
    **dict.fromkeys(("on", "once", "addListener", "addEventListener"), _listen),
}
