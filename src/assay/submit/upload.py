"""An uploaded archive of one skill folder: unpacked through the same limits, kept by digest, then admitted."""

import io
import zipfile
import zlib
from dataclasses import dataclass

from assay.fetch.archive import Archive, add_file, unpack_tar
from assay.fetch.cut import cut_skill, paths_of_skill
from assay.fetch.limits import Limits
from assay.fetch.paths import folder_of, problem_with
from assay.model.errors import Invalid
from assay.model.source import Source

LINK_MODE = 0o120000


@dataclass(frozen=True)
class Upload:
    """The files of the one skill in an archive, and the name of its folder if it had one."""

    source: Source
    folder: str


def read_upload(content: bytes, limits: Limits) -> Upload:
    """Read a zip or tar.gz that holds exactly one skill; Invalid says what is wrong with it."""
    archive = _unpack(content, limits)
    found = sorted(path for path in archive.files if path.rpartition("/")[2] == "SKILL.md")
    if not found:
        raise Invalid("The archive contains no SKILL.md.", code="no_skill")
    outermost = min(found, key=lambda path: path.count("/"))
    others = [path for path in found if not path.startswith(f"{folder_of(outermost)}/") and path != outermost]
    if others and folder_of(outermost):
        raise Invalid(f"The archive contains several skills: {', '.join(found[:5])}.", code="several_skills")
    paths = paths_of_skill(archive, outermost, limits)
    source = cut_skill(archive, paths, outermost, commit="")
    return Upload(Source(source.files, commit=source.digest), folder_of(outermost).rpartition("/")[2])


def _unpack(content: bytes, limits: Limits) -> Archive:
    if content[:4] == b"PK\x03\x04":
        return _unpack_zip(content, limits)
    if content[:2] == b"\x1f\x8b":
        return unpack_tar(io.BytesIO(content), limits, strip_root=False)
    raise Invalid("Send a zip or tar.gz archive of one skill folder.", code="bad_archive")


def _unpack_zip(content: bytes, limits: Limits) -> Archive:
    archive = Archive()
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as members:
            if len(members.infolist()) > limits.archive_entries:
                raise Invalid(f"The archive has more than {limits.archive_entries} entries.", code="archive_too_large")
            for member in members.infolist():
                _take(archive, members, member, limits)
    except (
        zipfile.BadZipFile,
        zlib.error,
        NotImplementedError,
        RuntimeError,
        EOFError,
        ValueError,
    ) as problem:
        raise Invalid(f"The archive cannot be read: {problem}", code="bad_archive") from problem
    archive.pack.flush()
    return archive


def _take(archive: Archive, members: zipfile.ZipFile, member: zipfile.ZipInfo, limits: Limits) -> None:
    if member.is_dir():
        return
    if problem := problem_with(member.filename, limits):
        archive.left_out[member.filename] = f"its path {problem}"
    elif member.external_attr >> 16 & 0o170000 == LINK_MODE:
        archive.left_out[member.filename] = "it is not a regular file"
    else:
        with members.open(member) as stream:
            add_file(archive, member.filename, member.file_size, stream, limits)
