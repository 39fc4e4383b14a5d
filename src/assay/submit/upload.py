"""An uploaded archive of one skill folder: unpacked through the same limits, kept by digest, then admitted."""

import io
import stat
import zipfile
import zlib
from dataclasses import dataclass, replace

from assay.fetch.archive import Archive, add_file, check_count, leave_out, unpack_tar
from assay.fetch.cut import cut_skill, paths_of_skill, skills_in
from assay.fetch.limits import Limits
from assay.fetch.paths import folder_of, problem_with
from assay.model.errors import Invalid
from assay.model.source import Source

# Bzip2 and LZMA inflate without a limit in zipfile, and no tool that packs a folder uses them.
COMPRESSIONS = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})
ZIP_MAGIC, GZIP_MAGIC = b"PK\x03\x04", b"\x1f\x8b"
DIRECTORY_ENTRY = b"PK\x01\x02"
BROKEN = (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError, ValueError, LookupError)


@dataclass(frozen=True)
class Upload:
    """The files of the one skill in an archive, and the name of its folder if it had one."""

    source: Source
    folder: str


def read_upload(content: bytes, limits: Limits) -> Upload:
    """Read a zip or tar.gz that holds exactly one skill; Invalid says what is wrong with it."""
    archive = unpack_upload(content, replace(limits, archive_bytes=min(limits.archive_bytes, limits.skill_bytes)))
    if archive.left_out:
        path, why = min(archive.left_out.items())
        raise Invalid(f"{path!r} cannot be taken: {why}.", code="unsafe_file")
    found = skills_in(archive.files)
    if not found:
        raise Invalid("The archive contains no SKILL.md.", code="no_skill")
    outermost = min(found, key=lambda path: path.count("/"))
    others = [path for path in found if not path.startswith(f"{folder_of(outermost)}/") and path != outermost]
    if others and folder_of(outermost):
        raise Invalid(f"The archive contains several skills: {', '.join(found[:5])}.", code="several_skills")
    paths = paths_of_skill(archive, outermost, limits)
    source = cut_skill(archive, paths, outermost, commit="")
    return Upload(Source(source.files, commit=source.digest), folder_of(outermost).rpartition("/")[2])


def unpack_upload(content: bytes, limits: Limits) -> Archive:
    """The files of a zip or tar.gz that people made; Invalid says what is wrong with it."""
    if content.startswith(ZIP_MAGIC):
        archive = _unpack_zip(content, limits)
    elif content.startswith(GZIP_MAGIC):
        archive = unpack_tar(io.BytesIO(content), limits, strip_root=False)
    else:
        raise Invalid("Send a zip or tar.gz archive of one skill folder.", code="bad_archive")
    _drop_litter(archive)
    return archive


def _drop_litter(archive: Archive) -> None:
    """macOS puts its own files beside those of the author."""
    for table in (archive.files, archive.left_out):
        for path in [path for path in table if _is_litter(path)]:
            del table[path]


def _is_litter(path: str) -> bool:
    folder, *_ = path.split("/")
    name = path.rpartition("/")[2]
    return folder == "__MACOSX" or name == ".DS_Store" or name.startswith("._")


def _unpack_zip(content: bytes, limits: Limits) -> Archive:
    # Counted before zipfile makes an object of each.
    check_count(content.count(DIRECTORY_ENTRY), limits)
    archive = Archive()
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as members:
            for member in members.infolist():
                _take(archive, members, member, limits)
    except BROKEN as problem:
        raise Invalid(f"The archive cannot be read: {problem}", code="bad_archive") from problem
    archive.pack.flush()
    return archive


def _take(archive: Archive, members: zipfile.ZipFile, member: zipfile.ZipInfo, limits: Limits) -> None:
    path = member.filename
    if member.is_dir():
        return
    if problem := problem_with(path, limits):
        leave_out(archive, path, f"its path {problem}", limits)
    elif stat.S_IFMT(member.external_attr >> 16) not in (0, stat.S_IFREG):
        leave_out(archive, path, "it is a link or a device", limits)
    elif member.compress_type not in COMPRESSIONS:
        leave_out(archive, path, "its compression is neither stored nor deflate", limits)
    else:
        with members.open(member) as stream:
            add_file(archive, path, member.file_size, stream.read, limits)
