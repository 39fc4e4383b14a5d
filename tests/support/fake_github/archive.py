"""Builds the tar.gz of a commit in the layout of git-archive."""

import gzip
import io
import tarfile
from datetime import datetime

from tests.support.fake_github.commit import FakeCommit
from tests.support.fake_github.git_objects import FakeFile

_LINK_MODE = "120000"


def build_archive(repository_name: str, commit: FakeCommit) -> bytes:
    """Build a deterministic archive with everything below `{repository}-{sha}/`."""
    mtime = int(datetime.fromisoformat(commit.date).timestamp())
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.PAX_FORMAT) as tar:
        _add_commit_comment(tar, commit.sha)
        top = f"{repository_name}-{commit.sha}"
        tar.addfile(_folder(top, mtime))
        for path, entry in commit.tree.walk(commit.tree.sha):
            if entry.type == "tree":
                tar.addfile(_folder(f"{top}/{path}", mtime))
            else:
                _add_file(tar, f"{top}/{path}", commit.files[path], mtime)
    return gzip.compress(plain.getvalue(), mtime=0)


def _add_commit_comment(tar: tarfile.TarFile, sha: str) -> None:
    record = f"52 comment={sha}\n".encode()
    header = tarfile.TarInfo("pax_global_header")
    header.type = tarfile.XGLTYPE
    header.mode = 0o666
    header.size = len(record)
    tar.addfile(header, io.BytesIO(record))


def _folder(path: str, mtime: int) -> tarfile.TarInfo:
    info = _member(path, 0o775, mtime)
    info.type = tarfile.DIRTYPE
    return info


def _add_file(tar: tarfile.TarFile, path: str, file: FakeFile, mtime: int) -> None:
    if file.mode == _LINK_MODE:
        info = _member(path, 0o777, mtime)
        info.type = tarfile.SYMTYPE
        info.linkname = file.content.decode()
        tar.addfile(info)
        return
    info = _member(path, 0o775 if file.mode == "100755" else 0o664, mtime)
    info.size = len(file.content)
    tar.addfile(info, io.BytesIO(file.content))


def _member(path: str, mode: int, mtime: int) -> tarfile.TarInfo:
    info = tarfile.TarInfo(path)
    info.mode = mode
    info.mtime = mtime
    info.uname = info.gname = "root"
    return info
