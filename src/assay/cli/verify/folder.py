"""The hashes of what is to be verified: a folder, whatever it holds, or an archive."""

import hashlib
import os
from pathlib import Path

from assay.cli.scan.archive import is_archive
from assay.fetch.limits import Limits
from assay.model.errors import Invalid
from assay.submit.upload import unpack_upload

# What proves a skill may lie in its folder without being part of it.
HALLMARK, KEYS, OMS = "hallmark.json", "assay-keys.json", "skill.oms.sig"
PROOFS = frozenset({HALLMARK, KEYS, OMS})
CHUNK_BYTES = 1024 * 1024


def hashes_of(path: Path, limits: Limits) -> dict[str, str]:
    """The SHA-256 of every file by its path below the folder. What is no file has no hash that fits."""
    if path.is_dir():
        return _of_folder(path, limits)
    if path.is_file() and is_archive(path):
        return _of_archive(path, limits)
    raise Invalid(f"{str(path)!r} is neither a folder nor an archive.")


def _of_folder(root: Path, limits: Limits) -> dict[str, str]:
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
            raise Invalid(f"{str(root)!r} holds more than {limits.archive_entries:,} files.")
    return found


def _of_archive(file: Path, limits: Limits) -> dict[str, str]:
    if file.stat().st_size > limits.archive_bytes:
        raise Invalid(f"The archive has more than {limits.archive_bytes:,} bytes.", code="archive_too_large")
    archive = unpack_upload(file.read_bytes(), limits)
    found = {path: hashlib.sha256(archive.read(path)).hexdigest() for path in archive.files}
    found |= dict.fromkeys(archive.left_out, "a link or a device")
    return _below_one_folder(found)


def _below_one_folder(found: dict[str, str]) -> dict[str, str]:
    """An archive has its files in one folder, which is called like the skill and is not part of it."""
    tops = {path.partition("/")[0] for path in found}
    if "SKILL.md" in found or len(tops) != 1:
        return found
    return {path.partition("/")[2]: digest for path, digest in found.items()}


def _hash(file: Path) -> str:
    digest = hashlib.sha256()
    try:
        with file.open("rb") as stream:
            while part := stream.read(CHUNK_BYTES):
                digest.update(part)
    except OSError as problem:
        raise Invalid(f"{str(file)!r} cannot be read: {problem.strerror}.") from None
    return digest.hexdigest()
