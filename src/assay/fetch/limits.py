"""Limits for everything that is fetched; they are checked before content is read into memory."""

from dataclasses import dataclass

KIB = 1024
MIB = 1024 * KIB


@dataclass(frozen=True, slots=True)
class Limits:
    """Sizes in bytes, and counts; the error for a skill that exceeds one names it."""

    file_bytes: int = 1 * MIB
    skill_bytes: int = 8 * MIB
    skill_files: int = 1_000
    archive_bytes: int = 256 * MIB
    archive_entries: int = 100_000
    path_depth: int = 30
    path_length: int = 500
    in_memory_bytes: int = 96 * MIB
    cached_archive_bytes: int = 1_024 * MIB
