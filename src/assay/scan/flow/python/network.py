"""Network calls of a Python program: data sent and received."""

import re
from collections.abc import Callable

from assay.scan.flow.program_values import UNKNOWN, ProgramValue, all_of
from assay.scan.flow.python.call import PyCall
from assay.scan.flow.sensitive import find_url, is_own_address, name_set
from assay.scan.flow.taint import HOLE, NAMED, NOTHING, TaintOrigin, Taints, merge_taints

_CLIENTS = re.compile(
    r"^(?:requests|httpx|aiohttp|urllib3|urllib\.request|urllib2|urllib\.urlopen|http\.client|grequests|treq|niquests"
    r"|curl_cffi|websocket|websockets|socket\.socket|socket\.create_connection|asyncio\.open_connection)\b"
)
_VERBS = name_set(
    "get post put patch delete head request urlopen stream send sendall sendto sendmsg fetch options Request send_json"
    " send_str send_bytes open"
)
# Methods that make an unknown receiver count as a network client.
_SENDING_VERBS = frozenset({"post", "put", "patch", "urlopen", "sendall", "sendto"})
_LOGIN_KEYWORDS = frozenset({"headers", "auth", "cookies", "cert"})
_IGNORED_KEYWORDS = frozenset({"timeout", "verify", "proxies", "env", "stream", "allow_redirects", "context"})
_SOCKETS = ("socket.socket()", "socket.create_connection()", "ssl.wrap_socket()")
_HOST_IS_HOLE = re.compile(rf"^(?:\w+://)?(?:{HOLE}|{NAMED}[\w.]+{NAMED})(?::\d+)?(?:/[^{HOLE}{NAMED}]*)?$")


def is_network_call(call: PyCall) -> bool:
    """Return true if this call sends a request over the network."""
    for name in call.names:
        if _CLIENTS.match(name) and name.rsplit(".", 1)[-1] in _VERBS:
            return True
    return call.method in _SENDING_VERBS and call.names[:1] != ("queue.Queue().put",) and bool(call.arguments)


def send_over_network(call: PyCall) -> ProgramValue:
    """Report what is sent, and return the response."""
    url = url_of(call)
    last = call.names[0].rsplit(".", 1)[-1] if call.names else call.method
    if last == "Request":  # sent when it is opened
        return ProgramValue(call.argument(0, "url").texts, _cargo(call), ("urllib.request.Request()",))
    if not is_own_address(url):
        sink = f"{call.names[0].replace('()', '') if call.names else call.method}" + (f" to {url}" if url else "")
        call.state.send(_cargo(call), call.line, sink)
        login = merge_taints(value.taints for name, value in call.keywords.items() if name in _LOGIN_KEYWORDS)
        call.state.send(login, call.line, sink, login=True)
    if last.startswith("send") or any(name.startswith(_SOCKETS) for name in call.names):
        return UNKNOWN
    fetched = call.state.taint_of_url(ProgramValue((url,)) if url else UNKNOWN, call.line)
    return ProgramValue((), fetched.taints, tuple(f"{name}()" for name in call.names))


def url_of(call: PyCall) -> str:
    """Return the URL of a call, if it is known."""
    for value in (call.keywords.get("url", UNKNOWN), *call.arguments[:2]):
        for text in value.texts:
            if url := find_url(text):
                return url
    return ""


def _cargo(call: PyCall) -> Taints:
    sent: list[Taints] = []
    for position, value in enumerate(call.arguments):
        if position < 2 and value.texts and all(_HOST_IS_HOLE.match(text) for text in value.texts) and _is_url(value):
            continue
        sent.append(value.taints)
    for name, value in call.keywords.items():
        if name not in _LOGIN_KEYWORDS and name not in _IGNORED_KEYWORDS:
            sent.append(value.taints)
    return merge_taints(sent)


def _is_url(value: ProgramValue) -> bool:
    return any("://" in text for text in value.texts)


def _receive(call: PyCall) -> ProgramValue | None:
    if any(name.startswith(_SOCKETS) or name.startswith("websocket") for name in call.receiver.names):
        return call.state.taint(
            TaintOrigin.RECEIVED, f"{call.receiver.names[0].split('(')[0]}.{call.method}", call.line
        )
    return None


def _accept(call: PyCall) -> ProgramValue | None:
    if not any(name.startswith(_SOCKETS) for name in call.receiver.names):
        return None
    return all_of((ProgramValue(names=("socket.socket()",)), UNKNOWN))


def _send_mail(call: PyCall) -> ProgramValue | None:
    call.state.send(call.taints, call.line, f"mail by {call.method}")
    return UNKNOWN


def _store(call: PyCall) -> ProgramValue | None:
    if any(name.startswith("ftplib.") for name in call.names):
        call.state.send(call.taints, call.line, f"ftp {call.method}")
        return UNKNOWN
    return None


def _upload(call: PyCall) -> ProgramValue | None:
    """Report a file that is uploaded by its path."""
    content = [call.state.content(value, call.line) for value in call.arguments[:1]]
    cargo = frozenset(t for t in merge_taints(content) if t.origin is not TaintOrigin.SETTINGS)
    call.state.send(cargo, call.line, call.names[0] if call.names else call.method)
    return None


def _resolve(call: PyCall) -> ProgramValue | None:
    call.state.send(call.argument(0).taints if _carries(call.argument(0)) else NOTHING, call.line, "name lookup")
    return UNKNOWN


def _carries(value: ProgramValue) -> bool:
    """Return true if the name to be resolved contains data as a subdomain."""
    return any("." in text and (HOLE in text or NAMED in text) for text in value.texts)


NETWORK_METHODS: dict[str, Callable[[PyCall], ProgramValue | None]] = {
    **dict.fromkeys(("recv", "recvfrom", "recv_into"), _receive),
    "accept": _accept,
    **dict.fromkeys(("sendmail", "send_message"), _send_mail),
    **dict.fromkeys(("storbinary", "storlines"), _store),
    **dict.fromkeys(("upload_file", "put", "upload_fileobj"), _upload),
    **dict.fromkeys(("gethostbyname", "getaddrinfo", "resolve"), _resolve),
}
