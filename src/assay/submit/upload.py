"""Uploaded archives of one skill folder."""

import io
import stat
import zipfile
import zlib
from dataclasses import dataclass, replace

from assay.fetch.archive import Archive, add_file, check_count, leave_out, unpack_tar
from assay.fetch.limits import Limits
from assay.fetch.paths import folder_of, path_problem
from assay.fetch.skill_files import extract_skill, paths_of_skill, skills_in
from assay.model.errors import Invalid
from assay.model.source import Source

# zipfile cannot limit the output of bzip2 and LZMA; common tools do not use them for folders.
COMPRESSIONS = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})
ZIP_MAGIC, GZIP_MAGIC = b"PK\x03\x04", b"\x1f\x8b"
DIRECTORY_ENTRY = b"PK\x01\x02"
BROKEN = (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError, ValueError, LookupError)


@dataclass(frozen=True)
class Upload:
    """The skill in an archive, and the name of its folder ("" at the root)."""

    source: Source
    folder: str


def read_upload(content: bytes, limits: Limits) -> Upload:
    """Read a zip or tar.gz with exactly one skill. Raises Invalid."""
    archive = unpack_upload(content, replace(limits, archive_bytes=min(limits.archive_bytes, limits.skill_bytes)))
    if archive.left_out:
        path, why = min(archive.left_out.items())
        raise Invalid(f"The file {path!r} cannot be accepted: {why}.", code="unsafe_file")
    found = skills_in(archive.files)
    if not found:
        raise Invalid("The archive contains no SKILL.md.", code="no_skill")
    outermost = min(found, key=lambda path: path.count("/"))
    others = [path for path in found if not path.startswith(f"{folder_of(outermost)}/") and path != outermost]
    if others and folder_of(outermost):
        raise Invalid(f"The archive contains several skills: {', '.join(found[:5])}.", code="several_skills")
    paths = paths_of_skill(archive, outermost, limits)
    source = extract_skill(archive, paths, outermost, commit="")
    return Upload(Source(source.files, commit=source.digest), folder_of(outermost).rpartition("/")[2])


def unpack_upload(content: bytes, limits: Limits) -> Archive:
    """Unpack a zip or tar.gz within the limits. Raises Invalid."""
    if content.startswith(ZIP_MAGIC):
        archive = _unpack_zip(content, limits)
    elif content.startswith(GZIP_MAGIC):
        archive = unpack_tar(io.BytesIO(content), limits, strip_root=False)
    else:
        raise Invalid("Send a zip or tar.gz archive of one skill folder.", code="bad_archive")
    _drop_macos_files(archive)
    return archive


def _drop_macos_files(archive: Archive) -> None:
    for table in (archive.files, archive.left_out):
        for path in [path for path in table if _is_macos_file(path)]:
            del table[path]


def _is_macos_file(path: str) -> bool:
    folder, *_ = path.split("/")
    name = path.rpartition("/")[2]
    return folder == "__MACOSX" or name == ".DS_Store" or name.startswith("._")


def _unpack_zip(content: bytes, limits: Limits) -> Archive:
    # Checked before zipfile creates an object per entry.
    check_count(content.count(DIRECTORY_ENTRY), limits)
    archive = Archive()
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as members:
            for member in members.infolist():
                _take(archive, members, member, limits)
    except BROKEN as error:
        raise Invalid(f"The archive cannot be read: {error}", code="bad_archive") from error
    archive.pack.flush()
    return archive


def _take(archive: Archive, members: zipfile.ZipFile, member: zipfile.ZipInfo, limits: Limits) -> None:
    path = member.filename
    if member.is_dir():
        return
    if problem := path_problem(path, limits):
        leave_out(archive, path, f"its path {problem}", limits)
    elif stat.S_IFMT(member.external_attr >> 16) not in (0, stat.S_IFREG):
        leave_out(archive, path, "it is a link or a device", limits)
    elif member.compress_type not in COMPRESSIONS:
        leave_out(archive, path, "its compression is neither stored nor deflate", limits)
    else:
        with members.open(member) as stream:
            add_file(archive, path, member.file_size, stream.read, limits)
