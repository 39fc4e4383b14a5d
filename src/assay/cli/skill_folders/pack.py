"""Reproducible archives of local skills."""

import gzip
import io
import os
import tarfile

from assay.cli.skill_folders.local_skill import LocalSkill, read_content
from assay.fetch.limits import Limits

EXECUTABLE, PLAIN = 0o755, 0o644


def pack(skill: LocalSkill, limits: Limits) -> bytes:
    """Return a tar.gz without times or owners, so that equal files give equal bytes."""
    buffer = io.BytesIO()
    with (
        gzip.GzipFile(fileobj=buffer, mode="wb", filename="", mtime=0) as zipped,
        tarfile.open(fileobj=zipped, mode="w") as archive,
    ):
        for path in skill.files:
            content = read_content(skill.folder / path, limits)
            entry = tarfile.TarInfo(f"{skill.name}/{path}")
            entry.size = len(content)
            entry.mode = EXECUTABLE if os.access(skill.folder / path, os.X_OK) else PLAIN
            archive.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()
