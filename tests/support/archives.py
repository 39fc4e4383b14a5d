"""Archives for tests, valid and hostile."""

import gzip
import io
import stat
import tarfile
import zipfile
from collections.abc import Iterable, Mapping

Content = str | bytes


def a_tar(files: Mapping[str, Content], *odd: tarfile.TarInfo) -> bytes:
    """Build a tar.gz of these files and members."""
    return packed([*((a_member(path, content)) for path, content in files.items()), *((one, b"") for one in odd)])


def packed(members: Iterable[tuple[tarfile.TarInfo, bytes]]) -> bytes:
    """Build a tar.gz of raw members, which may be duplicate or malformed."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for info, data in members:
            tar.addfile(info, io.BytesIO(data) if data else None)
    return gzip.compress(plain.getvalue(), mtime=0)


def a_member(path: str, content: Content = b"") -> tuple[tarfile.TarInfo, bytes]:
    """Return a regular file."""
    data = content.encode() if isinstance(content, str) else content
    info = tarfile.TarInfo(path)
    info.size = len(data)
    return info, data


def an_odd_member(path: str, kind: bytes, target: str = "") -> tarfile.TarInfo:
    """Return a link, device, folder or other special member."""
    info = tarfile.TarInfo(path)
    info.type = kind
    info.linkname = target
    return info


def a_header(path: str, kind: bytes = tarfile.REGTYPE, size: int = 0) -> bytes:
    """Return a bare header block, which may lie about its size."""
    info = tarfile.TarInfo(path)
    info.type = kind
    info.size = size
    return info.tobuf(format=tarfile.GNU_FORMAT)


def a_zip(files: Mapping[str, Content], compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    """Build a zip of these files."""
    plain = io.BytesIO()
    with zipfile.ZipFile(plain, "w", compression) as archive:
        for path, content in files.items():
            archive.writestr(zipfile.ZipInfo(path), content, compress_type=compression)
    return plain.getvalue()


def a_zip_with_link(files: Mapping[str, Content], path: str, target: str) -> bytes:
    """Build a zip with a symbolic link."""
    plain = io.BytesIO(a_zip(files))
    link = zipfile.ZipInfo(path)
    link.create_system = 3
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(plain, "a") as archive:
        archive.writestr(link, target)
    return plain.getvalue()
