"""Paths and files of a Python program: how a path is put together, and what is read from and written to it."""

from collections.abc import Callable

from assay.scan.flow.known_strings import join_path
from assay.scan.flow.known_values import UNKNOWN, Known, all_of, any_of
from assay.scan.flow.python.call import PyCall
from assay.scan.flow.taint import NOTHING, Origin, Taint, merge_taints

_WRITING = frozenset("wax")
_FILE = "file()"
_WRITTEN_FILE = "file(w)"


def _path(call: PyCall) -> Known:
    return join_path(call.arguments) if call.arguments else Known((".",), names=("pathlib.Path()",))


def _same_path(call: PyCall) -> Known:
    value = call.argument(0)
    return Known(value.texts, value.taints, value.names)


def _expand_variables(call: PyCall) -> Known:
    value = call.argument(0)
    texts = tuple(t.replace("$HOME", "~").replace("${HOME}", "~").replace("%USERPROFILE%", "~") for t in value.texts)
    return Known(texts, value.taints)


def open_file(call: PyCall) -> Known:
    """An open file: reading it gives what it holds, writing to it is seen at the write."""
    path = call.argument(0, "file")
    mode = call.argument(1, "mode").known or "r"
    return _opened(call, path, mode)


def _opened(call: PyCall, path: Known, mode: str) -> Known:
    if set(mode) & _WRITING:
        return Known(path.texts, NOTHING, (_WRITTEN_FILE,))
    return Known(path.texts, call.state.content(path, call.line), (_FILE,))


def _open_archive(call: PyCall) -> Known:
    """zipfile.ZipFile(path, "w") and tarfile.open(path, "w:gz")"""
    path, mode = call.argument(0), call.argument(1, "mode").known or "r"
    if set(mode) & _WRITING:
        return Known(path.texts, NOTHING, (_WRITTEN_FILE, "archive(w)"))
    return Known(path.texts, call.state.content(path, call.line), (_FILE,))


def _add_to_archive(call: PyCall) -> Known | None:
    """An archive receives a file by its path."""
    if "archive(w)" not in call.receiver.names:
        return None
    content = merge_taints((call.state.content(call.argument(0), call.line), call.argument(1).taints))
    call.state.write(Known(call.receiver.texts), Known((), content), call.line, "archive")
    return UNKNOWN


def _database(call: PyCall) -> Known:
    path = call.argument(0)
    return Known((), call.state.content(path, call.line), ("sqlite3.connect()",))


def _is_path(value: Known) -> bool:
    return "pathlib.Path()" in value.names or bool(value.texts)


def _open_method(call: PyCall) -> Known | None:
    if "pathlib.Path()" not in call.receiver.names:
        return None
    return _opened(call, call.receiver, call.argument(0, "mode").known or "r")


def _read_path(call: PyCall) -> Known | None:
    return Known((), call.state.content(call.receiver, call.line)) if _is_path(call.receiver) else None


def _read_file(call: PyCall) -> Known | None:
    if _FILE not in call.receiver.names:
        return None
    return Known((), call.receiver.taints)


def _write_path(call: PyCall) -> Known | None:
    if _is_path(call.receiver):
        call.state.write(call.receiver, call.argument(0, "data"), call.line, "file")
    return UNKNOWN


def _write_file(call: PyCall) -> Known | None:
    if "archive(w)" in call.receiver.names:
        return _add_to_archive(call)
    if _WRITTEN_FILE in call.receiver.names:
        content = any_of(call.arguments)
        if call.method == "writelines":
            content = Known((), content.taints)
        call.state.write(Known(call.receiver.texts), content, call.line, "file")
        return UNKNOWN
    # An archive, a buffer or a message now holds what was put into it.
    return None


def written_files(call: PyCall) -> None:
    """A file that is handed to a function together with a value, as to json.dump, receives the value."""
    files = [value for value in call.values if _WRITTEN_FILE in value.names]
    if files:
        content = Known((), merge_taints(v.taints for v in call.values))
        for file in files:
            call.state.write(Known(file.texts), content, call.line, "file")


def _copy(call: PyCall) -> Known:
    source, target = call.argument(0, "src"), call.argument(1, "dst")
    content = Known((), call.state.content(source, call.line))
    call.state.write(target, content, call.line, "copy to")
    return Known(target.texts)


def _archive(call: PyCall) -> Known:
    """shutil.make_archive(name, format, folder)"""
    content = Known((), call.state.content(call.argument(2, "root_dir"), call.line))
    texts = tuple(f"{text}.{call.argument(1, 'format').known or 'zip'}" for text in call.argument(0).texts)
    call.state.write(Known(texts), content, call.line, "archive")
    return Known(texts)


def _retrieve(call: PyCall) -> Known:
    fetched = call.state.taint_of_url(call.argument(0, "url"), call.line)
    call.state.write(call.argument(1, "filename"), fetched, call.line, "download to")
    return all_of((Known(call.argument(1).texts), UNKNOWN))


FILE_FUNCTIONS: dict[str, Callable[[PyCall], Known]] = {
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


def _list_paths(call: PyCall) -> Known | None:
    """glob, rglob and iterdir of a path; what is found by going through a whole tree is noted."""
    if "pathlib.Path()" not in call.receiver.names:
        return None
    pattern = Known(("*",)) if call.method == "iterdir" else call.argument(0, "pattern")
    found = join_path([call.receiver, pattern])
    if call.method == "rglob" or any("**" in text for text in pattern.texts):
        found = found.with_taints(Taint(call.line, Origin.LISTED, found.texts[0]))
    return Known((), NOTHING, (), (found,))


FILE_METHODS: dict[str, Callable[[PyCall], Known | None]] = {
    "open": _open_method,
    **dict.fromkeys(("glob", "rglob", "iterdir"), _list_paths),
    **dict.fromkeys(("add", "writestr"), _add_to_archive),
    "read_text": _read_path,
    "read_bytes": _read_path,
    **dict.fromkeys(("read", "readlines", "readline"), _read_file),
    **dict.fromkeys(("write_text", "write_bytes"), _write_path),
    **dict.fromkeys(("write", "writelines"), _write_file),
}
