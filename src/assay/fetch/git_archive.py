"""A commit of any git server as an archive: the same limits and the same refusals as for one of GitHub's."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

from assay.fetch.archive import Archive, Entry, add_file, check_count, leave_out
from assay.fetch.limits import Limits
from assay.fetch.paths import problem_with
from assay.git.client import Git
from assay.git.objects import GitEntry, read_contents
from assay.model.errors import Invalid
from assay.model.repository import RepositoryName


async def fetch_commit(git: Git, name: RepositoryName, commit: str, limits: Limits) -> Archive:
    """Everything of a commit that may be taken; Invalid if it is more than the limits allow."""
    async with git.open_commit(name, commit, file_bytes=limits.file_bytes) as opened:
        check_count(len(opened.entries), limits)
        archive = Archive()
        files = _sort_out(archive, opened.entries, limits)
        sizes = await opened.sizes()
        small = _without_large(archive, files, sizes, limits)
        contents = await opened.contents([each.object_id for each in small])
        await asyncio.to_thread(_read, archive, small, contents, limits)
    return archive


def _sort_out(archive: Archive, entries: Sequence[GitEntry], limits: Limits) -> list[GitEntry]:
    """The plain files; what else there is, is noted. A submodule is an empty folder, as in an archive of GitHub's."""
    files = []
    for each in entries:
        if problem := problem_with(each.path, limits):
            leave_out(archive, each.path, f"its path {problem}", limits)
        elif each.is_regular:
            files.append(each)
        elif each.is_file:
            leave_out(archive, each.path, "it is a link", limits)
    return files


def _without_large(archive: Archive, files: list[GitEntry], sizes: dict[str, int], limits: Limits) -> list[GitEntry]:
    """Those to be read; the others are known, but not kept. One that was not even fetched is larger than the limit."""
    total = sum(sizes.get(each.object_id, limits.file_bytes + 1) for each in files)
    if total > limits.archive_bytes:
        raise Invalid(f"The repository has more than {limits.archive_bytes} bytes.", code="archive_too_large")
    small = []
    for each in files:
        size = sizes.get(each.object_id, limits.file_bytes + 1)
        if size > limits.file_bytes:
            archive.files[each.path] = Entry(size, None)
            archive.size_bytes += size
        else:
            small.append(each)
    return small


def _read(archive: Archive, files: list[GitEntry], contents: Path, limits: Limits) -> None:
    for each, (_, size, stream) in zip(files, read_contents(contents), strict=True):
        add_file(archive, each.path, size, stream.read, limits)
    archive.pack.flush()
