"""Network commands of a shell: data sent and received."""

import re
from collections.abc import Callable

from assay.scan.flow.sensitive import find_url, is_metadata_address, is_own_address
from assay.scan.flow.shell.call import ShellCall, operands
from assay.scan.flow.taint import (
    HOLE,
    NAMED,
    NOTHING,
    FlowKind,
    Taint,
    TaintOrigin,
    Taints,
    Value,
    flow_of,
    merge_taints,
)

_LOGIN_OPTIONS = {"-u", "--user", "--oauth2-bearer", "--proxy-user", "-b", "--cookie", "--password"}
_BODY_OPTIONS = {
    *("-d", "--data", "--data-raw", "--data-binary", "--data-urlencode", "--data-ascii", "--json", "-F", "--form"),
    *("--form-string", "-T", "--upload-file", "--post-data", "--post-file", "--body-data", "--body-file", "-G"),
    *("--url-query", "-A", "--user-agent", "-e", "--referer"),
}
_HEADER_OPTIONS = {"-H", "--header"}
_OUTPUT_OPTIONS = {"-o", "--output", "-O", "--output-document"}
_OTHER_OPTIONS = {
    *("-X", "--request", "-m", "--max-time", "-w", "--write-out", "--connect-timeout", "--retry", "-x", "--proxy"),
    *("-c", "--cookie-jar", "-E", "--cert", "--key", "--cacert", "-K", "--config", "-r", "--range", "-C", "-D"),
    *("--dump-header", "--resolve", "--retry-delay", "-t", "--tries", "--timeout", "-P", "--directory-prefix", "-y"),
    *(
        "--proto",
        "--proto-redir",
        "--ciphers",
        "--retry-max-time",
        "--method",
        "--noproxy",
        "--limit-rate",
        "--max-filesize",
        "--interface",
        "--unix-socket",
        "-Y",
        "-z",
    ),
}
_VALUE_OPTIONS = _BODY_OPTIONS | _HEADER_OPTIONS | _LOGIN_OPTIONS | _OUTPUT_OPTIONS | _OTHER_OPTIONS | {"--url"}
_FILE_OPTIONS = {"-T", "--upload-file", "--post-file", "--body-file"}
# A host name as the whole host of a URL is a destination, not a payload.
_HOST_IS_HOLE = re.compile(rf"^(?:\w+://)?(?:{HOLE}|{NAMED}[\w.]+{NAMED})(?::\d+)?(?:/[^{HOLE}{NAMED}]*)?$")
_SHELL_IN_ARGUMENTS = re.compile(
    r"(?:^|\s)(?:-\w*[ec]\w*|--exec|--sh-exec)\s+\S*(?:sh|bash|cmd(?:\.exe)?|powershell)\b"
)


def _transfer(call: ShellCall) -> Value:
    """Evaluate curl, wget and the like. Options are read one by one, because each carries something else."""
    body: list[Taints] = []
    login: list[Taints] = []
    urls: list[Value] = []
    saved: list[Value] = []
    by_name = False
    option = ""
    for argument in call.arguments:
        text = argument.texts[0] if argument.texts else HOLE
        if option:
            _take_option(call, option, argument, body, login, saved, urls)
            option = ""
            continue
        if text.startswith("-") and len(text) > 1:
            name, attached = _split_option(call.base, text)
            by_name |= call.base == "curl" and (name == "--remote-name" or bool(re.match(r"^-[a-zA-Z]*O", text)))
            if attached is not None:
                rest = Value(tuple(_split_option(call.base, t)[1] or "" for t in argument.texts), argument.taints)
                _take_option(call, name, rest, body, login, saved, urls)
            elif _takes_value(call.base, name):
                option = name
        else:
            urls.append(argument)
    return _transferred(call, body, login, urls, saved, by_name)


def _split_option(base: str, text: str) -> tuple[str, str | None]:
    """Split an option from an attached value: -d@x, --data=x, -sSLo x, -qO-."""
    if text.startswith("--"):
        name, equals, value = text.partition("=")
        return name, value if equals else None
    for position, letter in enumerate(text[1:], start=1):
        if not letter.isalpha():
            break
        if _takes_value(base, f"-{letter}"):
            return f"-{letter}", text[position + 1 :] or None
    return text[:2], None


def _takes_value(base: str, name: str) -> bool:
    flags = (
        {"-G", "-c", "-r", "-m", "-E", "-x", "-y", "-K", "-N", "-d", "-F", "-H"}
        if base == "wget"
        else {"-O", "-P", "-t", "-G"}
    )
    return name in _VALUE_OPTIONS and name not in flags


def _take_option(
    call: ShellCall,
    name: str,
    value: Value,
    body: list[Taints],
    login: list[Taints],
    saved: list[Value],
    urls: list[Value],
) -> None:
    if name in _BODY_OPTIONS:
        body.append(_body(call, name, value))
    elif name in _HEADER_OPTIONS or name in _LOGIN_OPTIONS:
        login.append(value.taints)
    elif name in _OUTPUT_OPTIONS:
        saved.append(value)
    elif name == "--url":
        urls.append(value)


def _body(call: ShellCall, name: str, value: Value) -> Taints:
    """Return what a body option sends: its text, and the file that it names with @ or <."""
    found = [value.taints]
    for text in value.texts:
        path = (
            text
            if name in _FILE_OPTIONS
            else text.partition("@")[2] or (text.partition("<")[2] if "=<" in text else "")
        )
        path = path.split(";")[0]
        if path in ("-", "/dev/stdin", "."):
            found.append(call.stdin.taints)
        elif path:
            found.append(call.state.content(Value((path,)), call.line))
    return merge_taints(found)


def _transferred(
    call: ShellCall, body: list[Taints], login: list[Taints], urls: list[Value], saved: list[Value], by_name: bool
) -> Value:
    url = next((find_url(text) or text for value in urls for text in value.texts), "")
    sink = f"{call.base} to {url}"
    if not (urls and all(is_own_address(text) for value in urls for text in value.texts)):
        in_url = [value.taints for value in urls if not _is_address_of_itself(value)]
        call.state.send(merge_taints([*body, *in_url]), call.line, sink)
        call.state.send(merge_taints(login), call.line, sink, login=True)
    origin = TaintOrigin.SECRET if is_metadata_address(url) else TaintOrigin.FETCHED
    fetched = Value((), frozenset({Taint(call.line, origin, url or "an address")}))
    return _save(call, fetched, urls, saved, by_name)


def _is_address_of_itself(value: Value) -> bool:
    return bool(value.texts) and all(_HOST_IS_HOLE.match(text) for text in value.texts)


def _save(call: ShellCall, fetched: Value, urls: list[Value], saved: list[Value], by_name: bool) -> Value:
    """Record what is saved to a file; otherwise the response is the output."""
    to_output = [value for value in saved if any(text in ("-", "/dev/stdout") for text in value.texts)]
    if to_output:
        return fetched
    if saved:
        for value in saved:
            call.state.write(value, fetched, call.line, call.base)
        return Value()
    if by_name or call.base in ("wget", "aria2c"):
        for value in urls:
            names = tuple(text.split("?")[0].rstrip("/").rsplit("/", 1)[-1] for text in value.texts)
            call.state.write(Value(names), fetched, call.line, call.base)
        return Value()
    return fetched


def _netcat(call: ShellCall) -> Value:
    options = call.line_of_arguments
    peer = " ".join(text for text in options.split() if not text.startswith("-"))
    if _SHELL_IN_ARGUMENTS.search(options):
        call.state.report([flow_of(FlowKind.REMOTE_SHELL, peer, call.line, call.line, f"{call.base} {options}")])
    call.state.send(call.stdin.taints, call.line, f"{call.base} to {peer}")
    return call.printing(TaintOrigin.RECEIVED, f"{call.base} {peer}")


def _socat(call: ShellCall) -> Value:
    options = call.line_of_arguments
    if re.search(r"(?:EXEC|SYSTEM):\S*(?:sh|bash|cmd|powershell)", options, re.IGNORECASE) and re.search(
        r"(?:TCP|UDP|OPENSSL|SSL|SOCKS|PROXY)[46]?(?:-\w+)?:", options, re.IGNORECASE
    ):
        call.state.report([flow_of(FlowKind.REMOTE_SHELL, options, call.line, call.line, "socat")])
    sent = [call.stdin.taints, *(call.state.content(_after_colon(a), call.line) for a in call.arguments)]
    call.state.send(merge_taints(sent), call.line, f"socat {options}")
    return call.printing(TaintOrigin.RECEIVED, f"socat {options}")


def _after_colon(value: Value) -> Value:
    return Value(tuple(text.partition(":")[2] for text in value.texts))


def _copy_to_host(call: ShellCall) -> Value:
    """Evaluate scp, rsync, sftp and cloud copies, which send the files named before a remote target."""
    words: list[Value] = []
    skip = False
    for argument in call.arguments:
        text = argument.texts[0] if argument.texts else HOLE
        if skip:
            skip = False
        elif text in ("-i", "-e", "-P", "-o", "-F", "-J", "-p", "--rsh", "--exclude", "--profile", "--region"):
            skip = text != "-p"
        elif not text.startswith("-"):
            words.append(argument)
    if len(words) < 2 or not any(_is_remote(text) for text in words[-1].texts):
        return Value()
    sent = merge_taints([call.state.content(word, call.line) for word in words[:-1]])
    # Copying one's own settings to one's own server is ordinary deployment.
    cargo = frozenset(taint for taint in sent if not taint.text.rsplit("/", 1)[-1].startswith(".env"))
    call.state.send(cargo, call.line, f"{call.base} to {words[-1].texts[0]}")
    return Value()


def _is_remote(text: str) -> bool:
    return "://" in text or re.match(r"^[^/]+:", text) is not None


def _cloud_copy(call: ShellCall) -> Value:
    options = call.line_of_arguments
    if re.match(r"s3\s+(?:cp|sync|mv)\b|cp\b|rsync\b|copy\b|copyto\b", options):
        return _copy_to_host(call)
    return Value()


def _lookup(call: ShellCall) -> Value:
    """Report data in a name lookup, which reaches the name server."""
    text = call.line_of_arguments
    carries_more = re.search(rf"[{HOLE}{NAMED}]\.|\.[{HOLE}{NAMED}]", text) or not _HOST_IS_HOLE.match(
        text.split(" ")[-1]
    )
    if carries_more:
        call.state.send(call.taints, call.line, f"{call.base} {text}")
    return Value()


def _mail(call: ShellCall) -> Value:
    attached = [call.state.content(argument, call.line) for argument in call.arguments]
    sent = merge_taints([call.stdin.taints, call.taints, *attached])
    call.state.send(sent, call.line, f"{call.base} {call.line_of_arguments}")
    return Value()


def _remote_login(call: ShellCall) -> Value:
    cargo = frozenset(taint for taint in call.stdin.taints if taint.origin in (TaintOrigin.SECRET, TaintOrigin.HOST))
    call.state.send(cargo, call.line, f"ssh {' '.join(call.line_of_arguments.split()[:2])}")
    return Value((), NOTHING)


def _github(call: ShellCall) -> Value:
    options = call.line_of_arguments
    if options.startswith(("gist create", "gist edit", "api ", "issue create", "issue comment")):
        files = [call.state.content(argument, call.line) for argument in operands(call.arguments)]
        sent = merge_taints([call.stdin.taints, call.taints, *(files if options.startswith("gist") else [])])
        call.state.send(sent, call.line, f"gh {options}")
    if options.startswith("auth token"):
        return call.printing(TaintOrigin.TOKEN, "gh")
    return Value()


NETWORK_COMMANDS: dict[str, Callable[[ShellCall], Value]] = {
    **dict.fromkeys(("curl", "wget", "aria2c", "http", "https", "xh", "curl.exe", "wget2"), _transfer),
    **dict.fromkeys(("nc", "ncat", "netcat", "nc.traditional", "nc.openbsd", "telnet"), _netcat),
    "socat": _socat,
    **dict.fromkeys(("scp", "rsync", "sftp"), _copy_to_host),
    **dict.fromkeys(("aws", "gsutil", "rclone"), _cloud_copy),
    **dict.fromkeys(("dig", "nslookup", "host", "ping", "drill"), _lookup),
    **dict.fromkeys(("mail", "mailx", "sendmail", "mutt", "swaks"), _mail),
    "ssh": _remote_login,
    "gh": _github,
}
