"""Programs that a shell script runs, and environment variables that it reads without setting them."""

import re

# Builtins and keywords are not programs, and variables that the shell sets are not part of the environment.
_BUILTINS = frozenset(
    b"alias bg break builtin case cd command continue coproc declare dirs disown do done echo elif else enable esac "
    b"eval exec exit export false fc fg fi for function getopts hash help history if in jobs let local logout mapfile "
    b"popd printf pushd pwd read readarray readonly return select set shift shopt source suspend test then time times "
    b"trap true type typeset ulimit umask unalias unset until wait while".split()
)
# First words of lines in other languages that occur among shell code.
_NO_PROGRAMS = frozenset(b"and as class const def from import let not null or print return self var with".split())
_OWN_VARIABLES = re.compile(
    rb"(?:BASH\w*|COLUMNS|DIRSTACK|E?UID|FUNCNAME|GROUPS|IFS|LINENO|LINES|OLDPWD|OPT(?:ARG|ERR|IND)|PIPESTATUS|PPID"
    rb"|PWD|RANDOM|REPLY|SECONDS|SHLVL|_+)$"
)
_COMMENT = re.compile(rb"#(?<=\s#)[^\n]*")
# Strings that contain no command.
_STRINGS = (re.compile(rb"\"(?:[^\"$`\\]|\\.|\$(?!\()){0,4000}\"", re.DOTALL), re.compile(rb"'[^']{0,4000}'"))
# Once strings and comments are removed, each of these ends a command like a line break does.
_ENDS = bytes.maketrans(b"|;&(`", b"\n\n\n\n\n")
_HERE_DOCUMENT = re.compile(rb"<<-?[ \t]?['\"]?([A-Za-z_]\w{0,40})")
_MAX_HERE_DOCUMENTS = 100
# Words that only introduce another command are skipped.
_COMMAND = re.compile(
    rb"\n[ \t]{0,40}(?:[$%>][ \t]{1,4})?((?:"
    rb"(?:!|sudo|doas|env|exec|nohup|time|command|xargs|nice|then|do|else|if|while|until|elif"
    rb"|-[\w-]{1,20}|[A-Za-z_]\w{0,60}=\S{0,200})[ \t]{1,8}){0,8})"
    rb"(?:(?:/[\w.+-]{1,40}){1,8}/)?([A-Za-z][\w+-]{1,60}(?:\.\d{1,4}){0,3}(?:\.exe)?)(?=[\s)<>]|\Z)"
)
_INTRODUCED_BY = frozenset({b"sudo", b"doas", b"nohup", b"xargs"})
_FUNCTION = re.compile(rb"\n[ \t]{0,40}(?:function[ \t]{1,8})?([\w-]{1,60})[ \t]{0,4}\(\)")
_READ = re.compile(rb"\$\{?([A-Z][A-Z0-9_]{1,100})(?![a-z])")
_READ_WITH_DEFAULT = re.compile(rb"\$\{([A-Z][A-Z0-9_]{1,100}):?[-?+]")
_SET = re.compile(rb"([A-Z][A-Z0-9_]{1,100})\+?=")
_SET_BY_LOOP_OR_READ = (
    re.compile(rb"for[ \t]{1,8}([A-Z][A-Z0-9_]{1,100})[ \t]"),
    re.compile(rb"read[ \t]{1,8}(?:-\w{1,8}[ \t]{1,8}){0,4}([A-Z][A-Z0-9_]{1,100})"),
)
_PROMPTED = re.compile(rb"\n[ \t]{0,8}[$%>] [^\n]*")


def programs_of(shell: bytes) -> set[bytes]:
    """Return the names of programs, without folders. Scripts called by a relative path are excluded."""
    code = _without_here_documents(b"\n" + shell.replace(b"\\\n", b" "))
    code = _COMMENT.sub(b"", code)
    for string in _STRINGS:
        code = string.sub(b"''", code)
    found = set()
    for introduction, name in set(_COMMAND.findall(code.translate(_ENDS))):
        found.add(name)
        if introduction:
            found.update(_INTRODUCED_BY.intersection(introduction.split()))
    found -= _BUILTINS | _NO_PROGRAMS | set(_FUNCTION.findall(code))
    return {name for name in found if not name.isupper()}


def variables_of(shell: bytes) -> set[bytes]:
    """Return upper-case names that are read but not set here; an expansion with a default always counts as read."""
    read = {name for name in _READ.findall(shell) if not _OWN_VARIABLES.match(name)}
    if read:
        read.difference_update(_SET.findall(shell), *(pattern.findall(shell) for pattern in _SET_BY_LOOP_OR_READ))
    return read | set(_READ_WITH_DEFAULT.findall(shell))


def typed_in(session: bytes) -> bytes:
    """Return the commands of a session: the lines with a prompt, or everything if there is none."""
    prompted = _PROMPTED.findall(b"\n" + session)
    return b"".join(prompted) if prompted else session


def _without_here_documents(shell: bytes) -> bytes:
    """Remove here-documents."""
    if b"<<" not in shell:
        return shell
    parts, begin = [], 0
    for _ in range(_MAX_HERE_DOCUMENTS):
        opened = _HERE_DOCUMENT.search(shell, begin)
        if opened is None:
            break
        text = shell.find(b"\n", opened.end())
        end = re.compile(rb"\n[ \t]{0,40}%b(?=\s|$)" % opened[1]).search(shell, text) if text >= 0 else None
        parts.append(shell[begin : text if end else opened.end()])
        begin = end.end() if end else opened.end()
    return b"".join([*parts, shell[begin:]])
