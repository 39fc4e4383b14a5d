"""Archives for tests, honest and hostile, in plain words."""

import gzip
import io
import stat
import tarfile
import zipfile
from collections.abc import Iterable, Mapping

Content = str | bytes


def a_tar(files: Mapping[str, Content], *odd: tarfile.TarInfo) -> bytes:
    """A tar.gz of these files, and then the odd members."""
    return packed([*((a_member(path, content)) for path, content in files.items()), *((one, b"") for one in odd)])


def packed(members: Iterable[tuple[tarfile.TarInfo, bytes]]) -> bytes:
    """A tar.gz of members as they come, twice or misshapen."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for info, data in members:
            tar.addfile(info, io.BytesIO(data) if data else None)
    return gzip.compress(plain.getvalue(), mtime=0)


def a_member(path: str, content: Content = b"") -> tuple[tarfile.TarInfo, bytes]:
    """A regular file."""
    data = content.encode() if isinstance(content, str) else content
    info = tarfile.TarInfo(path)
    info.size = len(data)
    return info, data


def an_odd_member(path: str, kind: bytes, target: str = "") -> tarfile.TarInfo:
    """A link, a device, a folder: whatever tar knows by a letter."""
    info = tarfile.TarInfo(path)
    info.type = kind
    info.linkname = target
    return info


def a_header(path: str, kind: bytes = tarfile.REGTYPE, size: int = 0) -> bytes:
    """One bare header block, which may lie about its size."""
    info = tarfile.TarInfo(path)
    info.type = kind
    info.size = size
    return info.tobuf(format=tarfile.GNU_FORMAT)


def a_zip(files: Mapping[str, Content], compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A zip of these files."""
    plain = io.BytesIO()
    with zipfile.ZipFile(plain, "w", compression) as archive:
        for path, content in files.items():
            archive.writestr(zipfile.ZipInfo(path), content, compress_type=compression)
    return plain.getvalue()


def a_zip_with_link(files: Mapping[str, Content], path: str, target: str) -> bytes:
    """A zip that holds a symbolic link too, as Unix tools write it."""
    plain = io.BytesIO(a_zip(files))
    link = zipfile.ZipInfo(path)
    link.create_system = 3
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(plain, "a") as archive:
        archive.writestr(link, target)
    return plain.getvalue()
