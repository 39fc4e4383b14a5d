"""A commit on any git server as an archive, under the same limits and refusals as one from GitHub."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

from assay.fetch.archive import Archive, ArchiveEntry, add_file, check_count, leave_out
from assay.fetch.limits import Limits
from assay.fetch.paths import path_problem
from assay.git.client import Git
from assay.git.objects import GitEntry, read_contents
from assay.model.errors import Invalid
from assay.model.repository import RepositoryName


async def fetch_commit(git: Git, name: RepositoryName, commit: str, limits: Limits) -> Archive:
    """Return the files of a commit; raise Invalid if they exceed the limits."""
    async with git.open_commit(name, commit, file_bytes=limits.file_bytes) as opened:
        check_count(len(opened.entries), limits)
        archive = Archive()
        files = _select_regular(archive, opened.entries, limits)
        sizes = await opened.sizes()
        small = _without_large(archive, files, sizes, limits)
        contents = await opened.contents([each.object_id for each in small])
        await asyncio.to_thread(_add_contents, archive, small, contents, limits)
    return archive


def _select_regular(archive: Archive, entries: Sequence[GitEntry], limits: Limits) -> list[GitEntry]:
    """Return the regular files and record the others. Submodules are ignored, as in GitHub's archives."""
    files = []
    for each in entries:
        if problem := path_problem(each.path, limits):
            leave_out(archive, each.path, f"its path {problem}", limits)
        elif each.is_regular:
            files.append(each)
        elif each.is_file:
            leave_out(archive, each.path, "it is a link", limits)
    return files


def _without_large(archive: Archive, files: list[GitEntry], sizes: dict[str, int], limits: Limits) -> list[GitEntry]:
    """Return the files to read; record larger ones by size only. A file that was not fetched exceeds the limit."""
    total = sum(sizes.get(each.object_id, limits.file_bytes + 1) for each in files)
    if total > limits.archive_bytes:
        raise Invalid(f"The repository has more than {limits.archive_bytes} bytes.", code="archive_too_large")
    small = []
    for each in files:
        size = sizes.get(each.object_id, limits.file_bytes + 1)
        if size > limits.file_bytes:
            archive.files[each.path] = ArchiveEntry(size, None)
            archive.size_bytes += size
        else:
            small.append(each)
    return small


def _add_contents(archive: Archive, files: list[GitEntry], contents: Path, limits: Limits) -> None:
    for each, (_, size, stream) in zip(files, read_contents(contents), strict=True):
        add_file(archive, each.path, size, stream.read, limits)
    archive.pack.flush()
