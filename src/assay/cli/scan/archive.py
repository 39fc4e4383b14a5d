"""Skills in local archives, read in memory under the limits of an upload."""

from pathlib import Path

from assay.cli.scan.skill import FailedSkill, FoundSkill, ScanRoot, SkillLocation
from assay.cli.skill_folders.walk import SKILL
from assay.fetch.archive import Archive
from assay.fetch.limits import Limits
from assay.fetch.paths import folder_of
from assay.fetch.skill_files import extract_skill, paths_of_skill, skills_in
from assay.model.errors import AssayError, Invalid, NoSkill
from assay.submit.upload import GZIP_MAGIC, ZIP_MAGIC, unpack_upload

# Files with these suffixes are treated as archives, whatever they contain.
ARCHIVE_SUFFIXES = (".zip", ".tar.gz", ".tgz", ".skill")


def is_archive(file: Path) -> bool:
    """Return whether a file is an archive, by its name or by its first bytes."""
    if file.name.lower().endswith(ARCHIVE_SUFFIXES):
        return True
    try:
        with file.open("rb") as stream:
            return stream.read(len(ZIP_MAGIC)).startswith((ZIP_MAGIC, GZIP_MAGIC))
    except OSError:
        return False


def find_in_archive(file: Path, argument: str, limits: Limits) -> list[FoundSkill | FailedSkill]:
    """Return every skill in an archive; one FailedSkill if it cannot be read. Raises NoSkill if it contains none."""
    try:
        archive = unpack_upload(_content(file, limits), limits)
    except Invalid as problem:
        return [FailedSkill(argument, problem.message, problem.code)]
    root = ScanRoot(argument)
    links = [path for path in skills_in(archive.left_out) if path not in archive.files]
    skills = skills_in(archive.files)
    if not skills and not links:
        raise NoSkill(f"There is no {SKILL} in {argument!r}.")
    return [
        *(_extract(archive, root, path, limits) for path in skills),
        *(
            FailedSkill(f"{argument}/{path}", f"The file cannot be scanned: {archive.left_out[path]}.", "unsafe_file")
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
        raise Invalid("The archive cannot be read: it is neither a ZIP nor a tar.gz file.", code="bad_archive")
    return content


def _extract(archive: Archive, root: ScanRoot, skill_path: str, limits: Limits) -> FoundSkill | FailedSkill:
    location = SkillLocation(root, folder_of(skill_path))
    try:
        return FoundSkill(
            location, extract_skill(archive, paths_of_skill(archive, skill_path, limits), skill_path, commit="")
        )
    except AssayError as problem:
        return FailedSkill(str(location), problem.message, problem.code)
