"""Effects of functions that a Python program calls: reading, fetching, decoding, sending, running, storing."""

import re
from collections.abc import Callable

from assay.scan.flow.program_strings import character, characters, decode_value, string_method
from assay.scan.flow.program_values import UNKNOWN, ProgramValue, all_of
from assay.scan.flow.python.call import PyCall
from assay.scan.flow.python.files import FILE_FUNCTIONS, FILE_METHODS, open_file
from assay.scan.flow.python.names import HIDING_FUNCTIONS
from assay.scan.flow.python.network import NETWORK_METHODS, is_network_call, send_over_network
from assay.scan.flow.python.programs import PROGRAM_FUNCTIONS, run_coroutine
from assay.scan.flow.sensitive import is_token_name, name_set
from assay.scan.flow.taint import Taint, TaintOrigin, merge_taints, picked_from

_HOST = {
    "socket.gethostname": "hostname",
    "socket.getfqdn": "hostname",
    "platform.node": "hostname",
    "platform.uname": "platform.uname",
    "os.uname": "os.uname",
    "getpass.getuser": "user name",
    "os.getlogin": "user name",
    "pwd.getpwuid": "user name",
    "uuid.getnode": "network address",
    "pyperclip.paste": "clipboard",
    "PIL.ImageGrab.grab": "screenshot",
    "ImageGrab.grab": "screenshot",
    "PIL.ImageGrab.grabclipboard": "clipboard",
    "pyautogui.screenshot": "screenshot",
    "psutil.users": "users",
}
_DECODERS = {
    *("base64.b64decode", "base64.standard_b64decode", "base64.urlsafe_b64decode", "base64.decodebytes"),
    *("base64.b32decode", "base64.b85decode", "base64.a85decode", "base64.b16decode", "base64.decodestring"),
    *("bytes.fromhex", "bytearray.fromhex", "binascii.unhexlify", "binascii.a2b_hex", "binascii.a2b_base64"),
    *("codecs.decode", "zlib.decompress", "gzip.decompress", "bz2.decompress", "lzma.decompress", "marshal.loads"),
    *("html.unescape", "urllib.parse.unquote", "urllib.unquote"),
}
# Functions whose result reveals a property of their input, but not the input.
_MEASURES = name_set(
    "len hash bool isinstance int float id type any sum min max range callable issubclass hasattr ord abs round"
    " os.path.exists os.path.isfile os.path.isdir os.path.getsize os.path.getmtime os.stat os.chmod os.makedirs"
    " os.mkdir os.remove os.unlink time.sleep logging.info logging.debug logging.warning logging.error sys.exit"
    " exit quit"
)
_MEASURING_METHODS = name_set(
    "exists is_file is_dir stat hexdigest digest startswith endswith count index find isdigit mkdir unlink info debug"
    " warning error exception"
)
_HOME = re.compile(r"^(?:~|/|/home|/Users|/root|~/(?:Documents|Desktop|Downloads))/?$")


def call_function(call: PyCall) -> ProgramValue:
    """Evaluate a call, and report what it sends, runs or stores."""
    for name in call.names:
        known = _FUNCTIONS.get(name)
        if known:
            return known(call)
        if name in _HOST:
            return call.state.taint(TaintOrigin.HOST, _HOST[name], call.line)
        if name in _DECODERS:
            return _decode(call, name)
        if name in _MEASURES or name.startswith("hashlib."):
            return UNKNOWN
    if is_network_call(call):
        return send_over_network(call)
    return _call_method(call) if call.method else _unknown(call)


def _call_method(call: PyCall) -> ProgramValue:
    method = call.method
    if method in FILE_METHODS:
        handled = FILE_METHODS[method](call)
        if handled is not None:
            return handled
    if method in NETWORK_METHODS:
        handled = NETWORK_METHODS[method](call)
        if handled is not None:
            return handled
    if "os.environ" in call.receiver.names:
        return _environment_method(call)
    if method in _MEASURING_METHODS:
        if call.state.logs_leave:
            call.state.send(call.taints, call.line, f"log record by {method}, posted by a handler")
        return UNKNOWN
    if method in ("get", "pop", "group") and call.argument(0).known_text is not None:
        taints = picked_from(call.receiver.taints, call.argument(0).known_text or "")
        return ProgramValue((), merge_taints((taints, call.argument(1).taints)))
    text = string_method(method, call.receiver, call.arguments, call.keywords)
    return text if text is not None else _unknown(call)


def _unknown(call: PyCall) -> ProgramValue:
    """Evaluate an unknown function, which is assumed to return its arguments."""
    taints = merge_taints((call.receiver.taints, call.taints))
    names = tuple(f"{name}()" for name in call.names if not name.endswith("()()()"))
    items = call.receiver.items if call.method in ("items", "values", "keys", "copy") else None
    return ProgramValue((), taints, names, items)


def _environment_method(call: PyCall) -> ProgramValue:
    if call.method in ("get", "pop", "setdefault", "__getitem__"):
        return read_variable(call.argument(0), call)
    if call.method in ("items", "values", "copy", "keys", "__iter__"):
        return ProgramValue((), call.receiver.taints)
    return UNKNOWN


def read_variable(name: ProgramValue, call: PyCall) -> ProgramValue:
    """Return the value of an environment variable. Of several possible names, it is one."""
    names = [text for text in name.texts if is_token_name(text)]
    if not names:
        return UNKNOWN
    return call.state.taint(TaintOrigin.TOKEN, "|".join(names), call.line)


def _getenv(call: PyCall) -> ProgramValue:
    return read_variable(call.argument(0), call)


def _decode(call: PyCall, name: str) -> ProgramValue:
    form = call.argument(1, "encoding").known_text or ""
    value = call.argument(0, "s")
    if name == "codecs.decode" and "rot" in form:
        rotated = string_method("decode", value, [ProgramValue(("rot13",))], {}) or UNKNOWN
        return rotated.with_taints(Taint(call.line, TaintOrigin.DECODED, "rot13"))
    kind = {"hex": "unhexlify", "base64": "b64decode"}.get(form, name.rsplit(".", 1)[-1])
    return decode_value(kind, value, call.line)


def _character(call: PyCall) -> ProgramValue:
    return character(call.argument(0), call.line)


def _bytes(call: PyCall) -> ProgramValue:
    value = call.argument(0)
    return characters(value, call.line) if value.items else value


def _map(call: PyCall) -> ProgramValue:
    if "chr" in call.argument(0).names:
        return characters(call.argument(1), call.line)
    return ProgramValue((), call.taints)


def _reversed(call: PyCall) -> ProgramValue:
    value = call.argument(0)
    taint = Taint(call.line, TaintOrigin.DECODED, "reversed text")
    if value.known_text is not None:
        letters = tuple(ProgramValue((letter,)) for letter in reversed(value.known_text[:2000]))
        return ProgramValue((), value.taints | {taint}, (), letters)
    return ProgramValue((), value.taints, (), value.items[::-1] if value.items else None)


def _collection(call: PyCall) -> ProgramValue:
    if not call.arguments:
        return all_of(call.keywords.values()) if call.keywords else ProgramValue((), items=())
    value = call.argument(0)
    taints = merge_taints((value.taints, call.taints))
    return ProgramValue((), taints, (), value.items)


def _text(call: PyCall) -> ProgramValue:
    value = call.argument(0)
    return ProgramValue(value.texts, value.taints)


def _home(call: PyCall) -> ProgramValue:
    return ProgramValue(("~",), names=("pathlib.Path()",))


def _listing(call: PyCall) -> ProgramValue:
    path = call.argument(0)
    texts = path.texts or (".",)
    home = next((text for text in texts if _HOME.match(text)), "")
    if home:
        return call.state.taint(TaintOrigin.HOST, f"listing of {home}", call.line)
    if any(name.startswith("glob.") for name in call.names):
        return ProgramValue((), path.taints, (), tuple(ProgramValue((text,)) for text in path.texts))
    inside = tuple(f"{text.rstrip('/')}/*" for text in path.texts)
    if "os.walk" in call.names:
        listed = Taint(call.line, TaintOrigin.LISTED, texts[0])
        return ProgramValue(inside, frozenset({listed}))
    return ProgramValue(inside)


def _log_handler(call: PyCall) -> ProgramValue:
    call.state.logs_leave = True
    return UNKNOWN


def _print(call: PyCall) -> ProgramValue:
    """Write to the output, unless a file is given."""
    if "file" not in call.keywords:
        call.state.record_output(call.taints)
    return UNKNOWN


def _settings(call: PyCall) -> ProgramValue:
    return call.state.taint(TaintOrigin.SETTINGS, ".env", call.line)


_FUNCTIONS: dict[str, Callable[[PyCall], ProgramValue]] = {
    **FILE_FUNCTIONS,
    **PROGRAM_FUNCTIONS,
    **HIDING_FUNCTIONS,
    "open": open_file,
    "os.getenv": _getenv,
    "os.environ.get": _getenv,
    "os.environ.pop": _getenv,
    "chr": _character,
    "bytes": _bytes,
    "bytearray": _bytes,
    "map": _map,
    "reversed": _reversed,
    "str": _text,
    "repr": _text,
    "os.fspath": _text,
    **dict.fromkeys(("list", "tuple", "set", "sorted", "dict", "iter", "frozenset"), _collection),
    "pathlib.Path.home": _home,
    **dict.fromkeys(("os.listdir", "os.scandir", "os.walk", "glob.glob", "glob.iglob"), _listing),
    "dotenv.dotenv_values": _settings,
    **dict.fromkeys(("print", "sys.stdout.write", "sys.stdout.buffer.write"), _print),
    **dict.fromkeys(
        tuple(
            f"logging.handlers.{name}" for name in ("HTTPHandler", "SocketHandler", "DatagramHandler", "SMTPHandler")
        ),
        _log_handler,
    ),
    **dict.fromkeys(("asyncio.run", "asyncio.wait_for", "asyncio.to_thread", "asyncio.gather"), run_coroutine),
}
