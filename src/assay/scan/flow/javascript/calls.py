"""Effects of functions that a JavaScript program calls: reading, fetching, decoding, sending, running, storing."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from assay.scan.flow.javascript.names import check_hidden_module, module_name
from assay.scan.flow.program_state import ProgramState
from assay.scan.flow.program_strings import characters, decode_value, join_path, string_method
from assay.scan.flow.program_values import UNKNOWN, ProgramValue, all_of, items_of
from assay.scan.flow.sensitive import find_url, is_own_address
from assay.scan.flow.taint import HOLE, NOTHING, FlowKind, Taint, TaintOrigin, Taints, flow_of, merge_taints


@dataclass(slots=True)
class JsCall:
    names: tuple[str, ...]
    member: str
    receiver: ProgramValue
    arguments: list[ProgramValue]
    line: int
    state: ProgramState

    def argument(self, position: int) -> ProgramValue:
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


def call_function(call: JsCall) -> ProgramValue:
    """Evaluate a call, and report what it sends, runs or stores."""
    for name in call.names:
        known = _FUNCTIONS.get(name)
        if known is not None:
            return known(call)
        if name in _HOST:
            return call.state.taint(TaintOrigin.HOST, _HOST[name], call.line)
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
    return ProgramValue((), taints, tuple(f"{name}()" for name in call.names if not name.endswith("()()()")))


def _text_method(call: JsCall) -> ProgramValue | None:
    names = {"trim": "strip", "toLowerCase": "lower", "toUpperCase": "upper", "replaceAll": "replace"}
    method = names.get(call.member, call.member)
    if method == "join":
        return string_method("join", call.argument(0) if call.arguments else ProgramValue((",",)), [call.receiver], {})
    if method == "toString":
        return ProgramValue(call.receiver.texts, call.receiver.taints)
    if method == "concat" and call.receiver.texts:
        values = [call.receiver, *call.arguments]
        return string_method("join", ProgramValue(("",)), [all_of(values)], {})
    if method == "reverse" and call.receiver.items:
        taint = Taint(call.line, TaintOrigin.DECODED, "reversed text")
        return ProgramValue((), call.receiver.taints | {taint}, (), call.receiver.items[::-1])
    if method == "split" and call.argument(0).known_text == "" and call.receiver.known_text is not None:
        letters = tuple(ProgramValue((letter,)) for letter in call.receiver.known_text[:2000])
        return ProgramValue((), call.receiver.taints, (), letters)
    if method in ("strip", "lower", "upper", "replace"):
        return string_method(method, call.receiver, call.arguments, {})
    return None


def _request(call: JsCall) -> ProgramValue:
    """Report the arguments of an HTTP request as sent, and return the response."""
    url = next((find_url(text) for value in call.arguments[:2] for text in value.texts if find_url(text)), "")
    if not is_own_address(url):
        call.state.send(call.taints, call.line, f"{call.names[0]}" + (f" to {url}" if url else ""))
    fetched = call.state.taint_of_url(ProgramValue((url,)) if url else UNKNOWN, call.line)
    return ProgramValue((), fetched.taints, ("request()",))


def _write(call: JsCall) -> ProgramValue | None:
    """Report `write`, `end` and `send` of a request or a socket."""
    names = call.receiver.names
    if "request()" in names or any(_SOCKETS.match(name) or name.startswith("XMLHttpRequest") for name in names):
        call.state.send(call.taints, call.line, f"{call.member} of a connection")
        return UNKNOWN
    return None


def _pipe(call: JsCall) -> ProgramValue | None:
    """Report a stream that is piped into another: a file into a request, or a socket into a shell."""
    source, target = call.receiver, call.argument(0)
    if "request()" in target.names or any(_SOCKETS.match(name) for name in target.names):
        call.state.send(source.taints, call.line, "pipe into a connection")
    if _wired(source, target) or _wired(target, source):
        call.state.report(
            [flow_of(FlowKind.REMOTE_SHELL, "socket", call.line, call.line, "pipe between socket and shell")]
        )
    if "file(w)" in target.names:
        call.state.write(ProgramValue(target.texts), source, call.line, "file")
    return target


def _wired(one: ProgramValue, other: ProgramValue) -> bool:
    return any(_SOCKETS.match(name) for name in one.names) and any("process()" in name for name in other.names)


def _listen(call: JsCall) -> ProgramValue | None:
    """Return the data that `on('data', …)` of a socket passes to its callback."""
    if any(_SOCKETS.match(name) for name in call.receiver.names):
        if call.argument(0).known_text in ("data", "message"):
            return ProgramValue((), frozenset({Taint(call.line, TaintOrigin.RECEIVED, "socket")}), call.receiver.names)
        return ProgramValue(names=call.receiver.names)
    return ProgramValue((), call.receiver.taints, call.receiver.names)


def _digest(call: JsCall) -> ProgramValue | None:
    """Drop the taints of hashed data, which cannot be recovered."""
    is_hash = any(name.startswith(("crypto.createHash()", "crypto.createHmac()")) for name in call.receiver.names)
    return UNKNOWN if is_hash else None


def _read_file(call: JsCall) -> ProgramValue:
    return ProgramValue((), call.state.content(call.argument(0), call.line), ("content",))


def _write_file(call: JsCall) -> ProgramValue:
    call.state.write(call.argument(0), call.argument(1), call.line, "file")
    return UNKNOWN


def _write_stream(call: JsCall) -> ProgramValue:
    return ProgramValue(call.argument(0).texts, NOTHING, ("file(w)",))


def _copy_file(call: JsCall) -> ProgramValue:
    content = ProgramValue((), call.state.content(call.argument(0), call.line))
    call.state.write(call.argument(1), content, call.line, "copy to")
    return UNKNOWN


def _command(call: JsCall) -> ProgramValue:
    """Evaluate `exec` and `execSync`, which take a command line, and `spawn` and `execFile`, which take words."""
    command = call.argument(0)
    words = call.argument(1)
    if words.items is not None:
        command = ProgramValue((), merge_taints((command.taints, words.taints)), (), items_of((command, *words.items)))
    first = command.items[0] if command.items else command
    if (
        command.items is not None
        or not any(text.replace(HOLE, "").strip("\ue001") for text in first.texts)
        or first.known_text
        or all(text.startswith("\ue001") and text.endswith("\ue001") for text in first.texts)
    ):
        call.state.run(first.taints, call.line, call.names[0])
    printed = call.state.run_command(command, call.line)
    return ProgramValue(printed.texts, printed.taints, ("process()",))


def _evaluate(call: JsCall) -> ProgramValue:
    for code in call.arguments:
        call.state.run(code.taints, call.line, call.names[0])
        call.state.run_code(ProgramValue(tuple(text for text in code.texts if len(text) > 8), code.taints), call.line)
    return ProgramValue(names=("evaluated()",))


def _later(call: JsCall) -> ProgramValue:
    """Report `setTimeout` with a text, which evaluates it."""
    if call.argument(0).texts and not call.argument(0).names:
        call.state.run(call.argument(0).taints, call.line, call.names[0])
    return UNKNOWN


def _require(call: JsCall) -> ProgramValue:
    name = call.argument(0)
    check_hidden_module(call.state, name, call.line)
    held = frozenset(taint for taint in call.state.content(name, call.line) if taint.origin is TaintOrigin.FETCHED)
    call.state.run(held, call.line, "require")
    if not name.known_text:
        return UNKNOWN
    module = module_name(name.known_text)
    shipped = call.state.import_of((module,))
    exported = call.state.field_of("module.exports", shipped.part) if shipped is not None else UNKNOWN
    return ProgramValue((), exported.taints, (module, *exported.names)[:4])


def _print(call: JsCall) -> ProgramValue:
    call.state.record_output(call.taints)
    return UNKNOWN


def _decode(call: JsCall) -> ProgramValue:
    return decode_value("b64decode", call.argument(0), call.line)


def _buffer(call: JsCall) -> ProgramValue:
    form = call.argument(1).known_text or ""
    if form in ("base64", "base64url", "hex"):
        return decode_value("unhexlify" if form == "hex" else "b64decode", call.argument(0), call.line)
    value = call.argument(0)
    return characters(value, call.line) if value.items else ProgramValue(value.texts, value.taints)


def _from_codes(call: JsCall) -> ProgramValue:
    return characters(all_of(call.arguments), call.line)


def _inflate(call: JsCall) -> ProgramValue:
    return decode_value("decompress", call.argument(0), call.line)


def _join_path(call: JsCall) -> ProgramValue:
    return join_path(call.arguments)


def _home(call: JsCall) -> ProgramValue:
    return ProgramValue(("~",))


def _lookup(call: JsCall) -> ProgramValue:
    if any("." in text for text in call.argument(0).texts):
        call.state.send(call.argument(0).taints, call.line, "name lookup")
    return UNKNOWN


def _same(call: JsCall) -> ProgramValue:
    value = call.argument(0)
    return ProgramValue((), merge_taints((value.taints, call.taints)), value.names)


_FUNCTIONS: dict[str, Callable[[JsCall], ProgramValue]] = {
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
_METHODS: dict[str, Callable[[JsCall], ProgramValue | None]] = {
    **dict.fromkeys(("write", "end", "send"), _write),
    "pipe": _pipe,
    "digest": _digest,
    **dict.fromkeys(("on", "once", "addListener", "addEventListener"), _listen),
}
