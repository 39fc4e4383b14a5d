"""Skills in an archive of this machine, read through the limits of an upload; nothing is unpacked to disk."""

from pathlib import Path

from assay.cli.registry.folder import SKILL
from assay.cli.scan.place import Place, Root
from assay.cli.scan.skill import Failed, Found
from assay.fetch.archive import Archive
from assay.fetch.cut import cut_skill, paths_of_skill, skills_in
from assay.fetch.limits import Limits
from assay.fetch.paths import folder_of
from assay.model.errors import AssayError, Invalid, NoSkill
from assay.submit.upload import GZIP_MAGIC, ZIP_MAGIC, unpack_upload

# What ends so is meant as an archive, whatever is in it.
NAMES = (".zip", ".tar.gz", ".tgz", ".skill")


def is_archive(file: Path) -> bool:
    """Whether this is meant as an archive, by its name, or is one by its bytes."""
    if file.name.lower().endswith(NAMES):
        return True
    try:
        with file.open("rb") as stream:
            return stream.read(len(ZIP_MAGIC)).startswith((ZIP_MAGIC, GZIP_MAGIC))
    except OSError:
        return False


def find_in_archive(file: Path, argument: str, limits: Limits) -> list[Found | Failed]:
    """Every skill in an archive; one Failed if it cannot be read at all. NoSkill if it can and holds none."""
    try:
        archive = unpack_upload(_content(file, limits), limits)
    except Invalid as problem:
        return [Failed(argument, problem.message, problem.code)]
    root = Root(argument)
    links = [path for path in skills_in(archive.left_out) if path not in archive.files]
    skills = skills_in(archive.files)
    if not skills and not links:
        raise NoSkill(f"{argument!r} contains no {SKILL}.")
    return [
        *(_cut(archive, root, path, limits) for path in skills),
        *(
            Failed(f"{argument}/{path}", f"It cannot be taken: {archive.left_out[path]}.", "unsafe_file")
            for path in links
        ),
    ]


def _content(file: Path, limits: Limits) -> bytes:
    try:
        if file.stat().st_size > limits.archive_bytes:
            raise Invalid(f"The archive has more than {limits.archive_bytes:,} bytes.", code="archive_too_large")
        content = file.read_bytes()
    except OSError as problem:
        raise Invalid(f"The archive cannot be read: {problem.strerror}.", code="unreadable") from None
    if not content.startswith((ZIP_MAGIC, GZIP_MAGIC)):
        raise Invalid("The archive cannot be read: it is neither a zip nor a tar.gz.", code="bad_archive")
    return content


def _cut(archive: Archive, root: Root, skill_path: str, limits: Limits) -> Found | Failed:
    place = Place(root, folder_of(skill_path))
    try:
        return Found(place, cut_skill(archive, paths_of_skill(archive, skill_path, limits), skill_path, commit=""))
    except AssayError as problem:
        return Failed(str(place), problem.message, problem.code)
