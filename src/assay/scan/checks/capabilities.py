"""Capabilities: what a skill reaches for — hosts, programs, variables, files of its user, tools of its agent.

An inventory and no verdict: what a text only mentions counts, and what is put together at run time is not seen.
Every pattern begins with a plain letter or sign, which the engine of `re` looks for many times faster than for
anything else, and every repeat has a bound, so that time stays linear whatever the bytes are.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from assay.model.capability import LONGEST, MOST, Capabilities
from assay.scan.checks.declared import declared_in
from assay.scan.checks.hosts import host_of
from assay.scan.checks.shell_inventory import programs_of, typed_in, variables_of
from assay.scan.text.files import text_of

# One pass for everything that has a slash: an authority, a path below a home, a path from the root.
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
# What every script names and nobody keeps anything in.
_NO_FILE = re.compile(r"/(?:dev/(?:null|zero|stdin|stdout|stderr|tty|fd|tcp|udp)\b|(?:usr/(?:local/)?)?s?bin(?:/|$))")
_DEVICE_HOST = re.compile(r"/dev/(?:tcp|udp)/([\w.-]+)")
# What stands behind "env" where a variable is read.
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


@dataclass(frozen=True, slots=True)
class _Seen:
    """What the patterns matched in all files, once each, not yet made sense of."""

    slashes: set[tuple[bytes, bytes, bytes]] = field(default_factory=set)
    windows: set[bytes] = field(default_factory=set)
    programs: set[bytes] = field(default_factory=set)
    variables: set[bytes] = field(default_factory=set)


def capabilities_of(files: Mapping[str, bytes]) -> Capabilities:
    """What these files reach for. Never raises, for any content; the order of the files makes no difference."""
    seen = _Seen()
    for path, content in files.items():
        _look(path, _readable(content), seen)
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
    """The bytes as one byte a letter; none if they are no text."""
    if content.startswith(_UTF_16):
        return text_of(content).encode()
    return b"" if b"\x00" in content else content


def _look(path: str, content: bytes, seen: _Seen) -> None:
    seen.slashes.update(_SLASH.findall(content))
    seen.windows.update(_WINDOWS.findall(content))
    # Splitting finds the three letters faster than a pattern would; most of them belong to "environment".
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
    """A shell script, or the shell in the fences of a text: as one, because what one sets, the next may use."""
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


def _places(seen: _Seen) -> tuple[set[str], set[str]]:
    """Hosts, and files outside."""
    hosts = {host for authority, _, _ in seen.slashes if authority and (host := host_of(authority))}
    outside = {path.decode("ascii") for path in seen.windows}
    for _, root, home in seen.slashes:
        path = f"~/{home.decode('ascii')}" if home else f"/{root.decode('ascii')}" if root else ""
        device = _DEVICE_HOST.match(path)
        if device:
            hosts.add(device[1].lower())
        elif path and not _NO_FILE.match(path):
            outside.add(path.rstrip(".,*") if len(path) > 3 else path)
    return hosts, outside


def _named(shape: re.Pattern[str], seen: Iterable[bytes], declared: Iterable[str]) -> set[str]:
    names = {name.decode("ascii", errors="replace") for name in seen} | set(declared)
    return {name for name in names if shape.match(name)}


def _bounded(found: Iterable[str]) -> tuple[str, ...]:
    """The first in order, each short and printable."""
    shown = {each[:LONGEST] if each.isprintable() else _printable(each)[:LONGEST] for each in found}
    return tuple(sorted(shown - {""})[:MOST])


def _printable(text: str) -> str:
    return "".join(character for character in text if character.isprintable())
