"""Hashes of the files in a folder or an archive."""

import hashlib
import os
from pathlib import Path

from assay.cli.scan.archive import is_archive
from assay.fetch.limits import Limits
from assay.model.errors import Invalid
from assay.submit.upload import unpack_upload

# Proof files may be in a skill's folder without being part of it.
HALLMARK, KEYS, OMS = "hallmark.json", "assay-keys.json", "skill.oms.sig"
PROOFS = frozenset({HALLMARK, KEYS, OMS})
READ_BYTES = 1024 * 1024


def hash_files(path: Path, limits: Limits) -> dict[str, str]:
    """Return the SHA-256 of every file by its path; links and devices get a text that matches no hash."""
    if path.is_dir():
        return _hash_folder(path, limits)
    if path.is_file() and is_archive(path):
        return _hash_archive(path, limits)
    raise Invalid(f"{str(path)!r} is neither a folder nor an archive.")


def _hash_folder(root: Path, limits: Limits) -> dict[str, str]:
    found: dict[str, str] = {}
    folders = [""]
    while folders:
        folder = folders.pop()
        try:
            entries = sorted(os.scandir(root / folder), key=lambda entry: entry.name)
        except OSError as problem:
            raise Invalid(f"{str(root / folder)!r} cannot be read: {problem.strerror}.") from None
        for entry in entries:
            name = f"{folder}/{entry.name}" if folder else entry.name
            if entry.is_dir(follow_symlinks=False):
                folders.append(name)
            elif entry.is_file(follow_symlinks=False):
                found[name] = _hash(root / name)
            else:
                found[name] = "a link or a device"
        if len(found) + len(folders) > limits.archive_entries:
            raise Invalid(f"{str(root)!r} contains more than {limits.archive_entries:,} files.")
    return found


def _hash_archive(file: Path, limits: Limits) -> dict[str, str]:
    if file.stat().st_size > limits.archive_bytes:
        raise Invalid(f"The archive has more than {limits.archive_bytes:,} bytes.", code="archive_too_large")
    archive = unpack_upload(file.read_bytes(), limits)
    found = {path: hashlib.sha256(archive.read(path)).hexdigest() for path in archive.files}
    found |= dict.fromkeys(archive.left_out, "a link or a device")
    return _strip_root(found)


def _strip_root(found: dict[str, str]) -> dict[str, str]:
    """Remove the single top folder of an archive, which is named after the skill and is not part of it."""
    tops = {path.partition("/")[0] for path in found}
    if "SKILL.md" in found or len(tops) != 1:
        return found
    return {path.partition("/")[2]: digest for path, digest in found.items()}


def _hash(file: Path) -> str:
    digest = hashlib.sha256()
    try:
        with file.open("rb") as stream:
            while part := stream.read(READ_BYTES):
                digest.update(part)
    except OSError as problem:
        raise Invalid(f"{str(file)!r} cannot be read: {problem.strerror}.") from None
    return digest.hexdigest()
