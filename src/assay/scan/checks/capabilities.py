"""Capabilities: the hosts, programs, environment variables, files and agent tools that a skill uses.

An inventory, not a verdict: text that only mentions a host counts, and values computed at run time are not detected.
Every pattern starts with a literal character, which `re` finds many times faster than anything else, and every repeat
is bounded, so that the running time is linear for any input.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv6Address
from urllib.parse import unquote_to_bytes

from assay.model.finding import MAX_CAPABILITIES, MAX_CAPABILITY_LENGTH, Capabilities
from assay.scan.checks.declared import declared_in
from assay.scan.checks.shell_inventory import programs_of, typed_in, variables_of
from assay.scan.text.files import text_of

# One pass for everything with a slash: the authority of a URL, a path below the home folder, an absolute path.
_SLASH = re.compile(
    rb"""/(?:
        /(?<=://) (\[[0-9A-Fa-f:.]{2,45}\] | [^\s/?\#"'`<>\\|(){}\[\],;]{1,255})
      | (?<![\w./~}\-$*)\]%]/)
        ((?:etc|usr|var|tmp|root|home|Users|Library|System|Applications|Volumes|opt|dev|proc|sys|private|mnt)
        /[\w./+@*-]{1,190})
      | (?: (?<=~/) | (?<=\$HOME/) | (?<=\$HOME"/) | (?<=\$\{HOME\}/) ) ([\w.+@*-][\w./+@*-]{0,190})
    )""",
    re.VERBOSE,
)
_WINDOWS = re.compile(
    rb"%(?:APPDATA|LOCALAPPDATA|USERPROFILE|PROGRAMDATA|TEMP|TMP|HOMEPATH|SYSTEMROOT|WINDIR)%[\\/\w.+-]{0,190}",
    re.IGNORECASE,
)
# Paths that every script mentions and that hold no data.
_NO_FILE = re.compile(r"/(?:dev/(?:null|zero|stdin|stdout|stderr|tty|fd|tcp|udp)\b|(?:usr/(?:local/)?)?s?bin(?:/|$))")
_DEVICE_HOST = re.compile(r"/dev/(?:tcp|udp)/([\w.-]+)")
# The text that follows "env" where a variable is read.
_VARIABLE = re.compile(
    rb"(?:iron)?(?:\.get|\.pop|::var(?:_os)?)?"
    rb"(?:[(\[]\s{0,8}['\"]([A-Za-z_]\w{1,100})['\"]|[.:]([A-Z][A-Z0-9_]{1,100})\b)"
)
_PYTHON_PROGRAM = rb"\(\s{0,20}[\[(]?\s{0,20}[rbfu]{0,2}(?:\"\"\"|['\"])\s{0,20}([\w./+-]{1,80})(?=['\"\s])"
_PYTHON_CALLS = (
    re.compile(
        rb"subprocess[._](?:run|Popen|call|check_call|check_output|getoutput|getstatusoutput|exec|shell)"
        + _PYTHON_PROGRAM
    ),
    re.compile(rb"os\.(?:system|popen|execvpe?|execlp?e?)" + _PYTHON_PROGRAM),
)
_NODE_PROGRAM = rb"(?:Sync)?\(\s{0,20}['\"`]\s{0,20}([\w./+-]{1,80})(?=['\"`\s])"
_NODE_CALLS = (re.compile(rb"exec(?:File|a)?" + _NODE_PROGRAM), re.compile(rb"spawn" + _NODE_PROGRAM))
_SHELL_FENCE = re.compile(rb"```[ \t]{0,4}(?:sh|bash|zsh|ksh|shell|console|terminal)\b[^\n`]{0,80}\n")
_SHELL_SCRIPT = re.compile(rb"#![^\n]{0,80}\b(?:ba|z|k|da|a)?sh\b")
_VARIABLE_NAME = re.compile(r"[A-Za-z_]\w{1,100}$", re.ASCII)
_PROGRAM_NAME = re.compile(r"[A-Za-z0-9_][\w.+-]{0,80}$", re.ASCII)
_SHELL = frozenset({"sh", "bash", "zsh", "ksh"})
_PYTHON = frozenset({"py", "pyw"})
_NODE = frozenset({"js", "mjs", "cjs", "jsx", "ts", "mts", "cts", "tsx", "vue"})
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
# Reserved names (RFC 2606, RFC 6761). `localhost` is not included: it can be reached.
_PLACEHOLDER_HOST = re.compile(r"(?:^|\.)(?:example(?:\.(?:com|net|org))?|test|invalid)$")
_HOST_NAME = re.compile(r"(?=.{1,200}$)[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?(?:\.[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?)*$")
_NUMERIC_HOST = re.compile(r"(?:0x[0-9a-f]{1,8}|[0-9]{1,10})$")
_SINGLE_LABEL_HOSTS = frozenset({"localhost"})
# Punctuation and Markdown emphasis that may follow a URL but are not part of a name.
_TRAILING = b".,:;!*_~&'"


@dataclass(frozen=True, slots=True)
class _Matched:
    """The raw, distinct matches of the patterns in all files."""

    slashes: set[tuple[bytes, bytes, bytes]] = field(default_factory=set)
    windows: set[bytes] = field(default_factory=set)
    programs: set[bytes] = field(default_factory=set)
    variables: set[bytes] = field(default_factory=set)


def capabilities_of(files: Mapping[str, bytes]) -> Capabilities:
    """Return the capabilities of these files. Never raises; the order of the files does not matter."""
    seen = _Matched()
    for path, content in files.items():
        _collect(path, _readable(content), seen)
    declared = declared_in(_readable(files.get("SKILL.md", b"")))
    hosts, outside = _places(seen)
    return Capabilities(
        hosts=_bounded(hosts),
        programs=_bounded(_named(_PROGRAM_NAME, seen.programs, declared.programs)),
        environment=_bounded(_named(_VARIABLE_NAME, seen.variables, declared.variables)),
        outside_files=_bounded(outside),
        tools=_bounded(declared.tools),
    )


def _readable(content: bytes) -> bytes:
    """Return the content as ASCII-compatible bytes, or nothing for binary data."""
    if content.startswith(_UTF_16):
        return text_of(content).encode()
    return b"" if b"\x00" in content else content


def _collect(path: str, content: bytes, seen: _Matched) -> None:
    seen.slashes.update(_SLASH.findall(content))
    seen.windows.update(_WINDOWS.findall(content))
    # Splitting finds "env" faster than a pattern would; most occurrences belong to "environment".
    for behind in content.split(b"env")[1:]:
        if variable := _VARIABLE.match(behind):
            seen.variables.add(variable[1] or variable[2])
    suffix = path.rpartition(".")[2]
    if suffix in _PYTHON:
        seen.programs.update(_called(_PYTHON_CALLS, content))
    elif suffix in _NODE:
        seen.programs.update(_called(_NODE_CALLS, content) if b"child_process" in content else ())
    elif shell := _shell(suffix, content):
        seen.programs.update(programs_of(shell))
        seen.variables.update(variables_of(shell))


def _shell(suffix: str, content: bytes) -> bytes:
    """Return a shell script, or all shell fences of a document joined, because later ones use what earlier ones set."""
    if suffix in _SHELL or (content.startswith(b"#!") and _SHELL_SCRIPT.match(content)):
        return content
    return b"\n".join(_fenced_shell(content))


def _fenced_shell(content: bytes) -> Iterator[bytes]:
    for fence in _SHELL_FENCE.finditer(content):
        closed = content.find(b"```", fence.end())
        yield typed_in(content[fence.end() : len(content) if closed < 0 else closed])


def _called(calls: Iterable[re.Pattern[bytes]], code: bytes) -> set[bytes]:
    found = {name for call in calls for name in call.findall(code)}
    return {name.rpartition(b"/")[2] for name in found if not name.startswith(b".")}


def _places(seen: _Matched) -> tuple[set[str], set[str]]:
    """Return the hosts, and the files outside the skill."""
    hosts = {host for authority, _, _ in seen.slashes if authority and (host := _host_of(authority))}
    outside = {path.decode("ascii") for path in seen.windows}
    for _, root, home in seen.slashes:
        path = f"~/{home.decode('ascii')}" if home else f"/{root.decode('ascii')}" if root else ""
        device = _DEVICE_HOST.match(path)
        if device:
            hosts.add(device[1].lower())
        elif path and not _NO_FILE.match(path):
            outside.add(path.rstrip(".,*") if len(path) > 3 else path)
    return hosts, outside


def _host_of(authority: bytes) -> str | None:
    """Return the host of a URL's authority in lower case, with non-ASCII letters as punycode.

    Returns None if there is no reachable host, as in a placeholder or a template.
    """
    written = authority.rpartition(b"@")[2].rstrip(_TRAILING)
    if written.startswith(b"["):
        return _ipv6(written[1:].partition(b"]")[0])
    name = written.partition(b":")[0].rstrip(_TRAILING)
    if b"%" in name:
        name = unquote_to_bytes(name)
    host = name.decode("ascii").lower() if name.isascii() else _punycode(name)
    if _NUMERIC_HOST.match(host):
        return _ipv4(int(host, 0 if host.startswith("0x") else 10))
    if "." not in host and host not in _SINGLE_LABEL_HOSTS:
        return None
    return host if _HOST_NAME.match(host) and not _PLACEHOLDER_HOST.search(host) else None


def _punycode(name: bytes) -> str:
    """Encode non-ASCII labels, which makes look-alike letters visible."""
    text = unicodedata.normalize("NFKC", name.decode("utf-8", errors="replace")).lower()
    labels = text.replace("。", ".").split(".")
    return ".".join(
        label if label.isascii() else f"xn--{label.encode('punycode').decode('ascii').lower()}" for label in labels
    )


def _ipv4(number: int) -> str | None:
    """Return an address written as one number, which few people recognise. A small one is a port or a mistake."""
    return str(IPv4Address(number)) if 2**24 <= number < 2**32 else None


def _ipv6(written: bytes) -> str | None:
    try:
        return str(IPv6Address(written.decode("ascii", errors="replace")))
    except ValueError:
        return None


def _named(shape: re.Pattern[str], seen: Iterable[bytes], declared: Iterable[str]) -> set[str]:
    names = {name.decode("ascii", errors="replace") for name in seen} | set(declared)
    return {name for name in names if shape.match(name)}


def _bounded(found: Iterable[str]) -> tuple[str, ...]:
    """Return the first entries in sorted order, each limited in length and printable."""
    shown = {(each if each.isprintable() else _printable(each))[:MAX_CAPABILITY_LENGTH] for each in found}
    return tuple(sorted(shown - {""})[:MAX_CAPABILITIES])


def _printable(text: str) -> str:
    return "".join(character for character in text if character.isprintable())
