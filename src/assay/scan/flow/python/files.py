"""Paths and files of a Python program: building paths, reading and writing."""

from collections.abc import Callable

from assay.scan.flow.program_strings import join_path
from assay.scan.flow.program_values import UNKNOWN, ProgramValue, all_of, any_of
from assay.scan.flow.python.call import PyCall
from assay.scan.flow.taint import NOTHING, Taint, TaintOrigin, merge_taints

_WRITING = frozenset("wax")
_FILE = "file()"
_WRITTEN_FILE = "file(w)"


def _path(call: PyCall) -> ProgramValue:
    return join_path(call.arguments) if call.arguments else ProgramValue((".",), names=("pathlib.Path()",))


def _same_path(call: PyCall) -> ProgramValue:
    value = call.argument(0)
    return ProgramValue(value.texts, value.taints, value.names)


def _expand_variables(call: PyCall) -> ProgramValue:
    value = call.argument(0)
    texts = tuple(t.replace("$HOME", "~").replace("${HOME}", "~").replace("%USERPROFILE%", "~") for t in value.texts)
    return ProgramValue(texts, value.taints)


def open_file(call: PyCall) -> ProgramValue:
    """Return an open file. Its taints are those of its content; writes are recorded when they happen."""
    path = call.argument(0, "file")
    mode = call.argument(1, "mode").known_text or "r"
    return _opened(call, path, mode)


def _opened(call: PyCall, path: ProgramValue, mode: str) -> ProgramValue:
    if set(mode) & _WRITING:
        return ProgramValue(path.texts, NOTHING, (_WRITTEN_FILE,))
    return ProgramValue(path.texts, call.state.content(path, call.line), (_FILE,))


def _open_archive(call: PyCall) -> ProgramValue:
    """Evaluate `zipfile.ZipFile(path, "w")` and `tarfile.open(path, "w:gz")`."""
    path, mode = call.argument(0), call.argument(1, "mode").known_text or "r"
    if set(mode) & _WRITING:
        return ProgramValue(path.texts, NOTHING, (_WRITTEN_FILE, "archive(w)"))
    return ProgramValue(path.texts, call.state.content(path, call.line), (_FILE,))


def _add_to_archive(call: PyCall) -> ProgramValue | None:
    """Add a file to an archive by its path."""
    if "archive(w)" not in call.receiver.names:
        return None
    content = merge_taints((call.state.content(call.argument(0), call.line), call.argument(1).taints))
    call.state.write(ProgramValue(call.receiver.texts), ProgramValue((), content), call.line, "archive")
    return UNKNOWN


def _database(call: PyCall) -> ProgramValue:
    path = call.argument(0)
    return ProgramValue((), call.state.content(path, call.line), ("sqlite3.connect()",))


def _is_path(value: ProgramValue) -> bool:
    return "pathlib.Path()" in value.names or bool(value.texts)


def _open_method(call: PyCall) -> ProgramValue | None:
    if "pathlib.Path()" not in call.receiver.names:
        return None
    return _opened(call, call.receiver, call.argument(0, "mode").known_text or "r")


def _read_path(call: PyCall) -> ProgramValue | None:
    return ProgramValue((), call.state.content(call.receiver, call.line)) if _is_path(call.receiver) else None


def _read_file(call: PyCall) -> ProgramValue | None:
    if _FILE not in call.receiver.names:
        return None
    return ProgramValue((), call.receiver.taints)


def _write_path(call: PyCall) -> ProgramValue | None:
    if _is_path(call.receiver):
        call.state.write(call.receiver, call.argument(0, "data"), call.line, "file")
    return UNKNOWN


def _write_file(call: PyCall) -> ProgramValue | None:
    if "archive(w)" in call.receiver.names:
        return _add_to_archive(call)
    if _WRITTEN_FILE in call.receiver.names:
        content = any_of(call.arguments)
        if call.method == "writelines":
            content = ProgramValue((), content.taints)
        call.state.write(ProgramValue(call.receiver.texts), content, call.line, "file")
        return UNKNOWN
    # An archive, a buffer or a message: the caller accumulates the arguments.
    return None


def written_files(call: PyCall) -> None:
    """Record writes by functions that take an open file and a value, such as `json.dump`."""
    files = [value for value in call.values if _WRITTEN_FILE in value.names]
    if files:
        content = ProgramValue((), merge_taints(v.taints for v in call.values))
        for file in files:
            call.state.write(ProgramValue(file.texts), content, call.line, "file")


def _copy(call: PyCall) -> ProgramValue:
    source, target = call.argument(0, "src"), call.argument(1, "dst")
    content = ProgramValue((), call.state.content(source, call.line))
    call.state.write(target, content, call.line, "copy to")
    return ProgramValue(target.texts)


def _archive(call: PyCall) -> ProgramValue:
    """Evaluate `shutil.make_archive(name, format, folder)`."""
    content = ProgramValue((), call.state.content(call.argument(2, "root_dir"), call.line))
    texts = tuple(f"{text}.{call.argument(1, 'format').known_text or 'zip'}" for text in call.argument(0).texts)
    call.state.write(ProgramValue(texts), content, call.line, "archive")
    return ProgramValue(texts)


def _retrieve(call: PyCall) -> ProgramValue:
    fetched = call.state.taint_of_url(call.argument(0, "url"), call.line)
    call.state.write(call.argument(1, "filename"), fetched, call.line, "download to")
    return all_of((ProgramValue(call.argument(1).texts), UNKNOWN))


FILE_FUNCTIONS: dict[str, Callable[[PyCall], ProgramValue]] = {
    **dict.fromkeys(("pathlib.Path", "pathlib.PurePath", "pathlib.PosixPath"), _path),
    "os.path.join": _path,
    **dict.fromkeys(
        ("os.path.expanduser", "os.path.abspath", "os.path.realpath", "os.path.normpath", "os.path.basename"),
        _same_path,
    ),
    "os.path.expandvars": _expand_variables,
    **dict.fromkeys(("io.open", "codecs.open", "aiofiles.open", "os.fdopen"), open_file),
    **dict.fromkeys(
        ("shutil.copy", "shutil.copy2", "shutil.copyfile", "shutil.copytree", "shutil.move", "os.rename", "os.symlink"),
        _copy,
    ),
    "shutil.make_archive": _archive,
    **dict.fromkeys(("zipfile.ZipFile", "tarfile.open", "tarfile.TarFile", "gzip.open"), _open_archive),
    "sqlite3.connect": _database,
    **dict.fromkeys(("urllib.request.urlretrieve", "urllib.urlretrieve", "wget.download"), _retrieve),
}


def _list_paths(call: PyCall) -> ProgramValue | None:
    """Evaluate `glob`, `rglob` and `iterdir` of a path. Paths from a whole tree are tainted as listed."""
    if "pathlib.Path()" not in call.receiver.names:
        return None
    pattern = ProgramValue(("*",)) if call.method == "iterdir" else call.argument(0, "pattern")
    found = join_path([call.receiver, pattern])
    if call.method == "rglob" or any("**" in text for text in pattern.texts):
        found = found.with_taints(Taint(call.line, TaintOrigin.LISTED, found.texts[0]))
    return ProgramValue((), NOTHING, (), (found,))


FILE_METHODS: dict[str, Callable[[PyCall], ProgramValue | None]] = {
    "open": _open_method,
    **dict.fromkeys(("glob", "rglob", "iterdir"), _list_paths),
    **dict.fromkeys(("add", "writestr"), _add_to_archive),
    "read_text": _read_path,
    "read_bytes": _read_path,
    **dict.fromkeys(("read", "readlines", "readline"), _read_file),
    **dict.fromkeys(("write_text", "write_bytes"), _write_path),
    **dict.fromkeys(("write", "writelines"), _write_file),
}
