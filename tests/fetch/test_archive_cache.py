"""Archives on disk: shared by the processes of a machine, checked, bounded, and never needed."""

import io
import os
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.fetch.archive import Archive, add_file, leave_out, unpack_tar
from assay.fetch.archive_cache import MOST_ENTRIES, ArchiveCache
from assay.fetch.limits import Limits
from assay.settings import Settings
from tests.support.archives import a_tar, an_odd_member
from tests.support.fake_github import FakeGitHub
from tests.support.registry import open_registry
from tests.support.skills import a_repository

KIB = 1024


def an_archive(content: bytes = b"content", name: str = "SKILL.md") -> Archive:
    """One file, and one thing that was left out."""
    raw = a_tar({f"root/{name}": content}, an_odd_member("root/l\u00efnk", tarfile.SYMTYPE, "x"))
    return unpack_tar(io.BytesIO(raw), Limits(), strip_root=True)


def test_what_is_kept_comes_back_as_it_was(tmp_path: Path) -> None:
    """Files, what was left out, what was too large, and the size."""
    cache, archive = ArchiveCache(tmp_path / "archives", 100 * KIB), an_archive()
    add_file(archive, "large.bin", 2 * 1024 * KIB, lambda size: b"", Limits())
    leave_out(archive, "bad\udcff", "its path is odd", Limits())
    cache.save("one", archive)
    again = ArchiveCache(tmp_path / "archives", 100 * KIB).load("one")
    assert again is None  # larger than the whole cache
    wide = ArchiveCache(tmp_path / "archives", 10 * 1024 * KIB)
    wide.save("one", archive)
    again = wide.load("one")
    assert again is not None
    assert {path: again.files[path].size for path in again.files} == {"SKILL.md": 7, "large.bin": 2 * 1024 * KIB}
    assert (again.read("SKILL.md"), again.files["large.bin"].offset) == (b"content", None)
    assert (again.left_out, again.size_bytes) == (archive.left_out, archive.size_bytes)
    assert wide.load("two") is None


@pytest.mark.parametrize("damage", ["flip", "cut", "empty", "other"])
def test_a_damaged_archive_is_dropped(tmp_path: Path, damage: str) -> None:
    """One bit is enough; the next who wants it fetches it again."""
    cache = ArchiveCache(tmp_path, 1024 * KIB)
    cache.save("one", an_archive(b"x" * 5000))
    (file,) = tmp_path.iterdir()
    whole = file.read_bytes()
    flipped = bytearray(whole)
    flipped[len(whole) // 2] ^= 1
    file.write_bytes({"flip": bytes(flipped), "cut": whole[:-1], "empty": b"", "other": b"x" * 200}[damage])
    assert cache.load("one") is None
    assert list(tmp_path.iterdir()) == []


def test_what_was_not_used_for_longest_goes_first(tmp_path: Path) -> None:
    """The bytes are bounded, and what is read stays; who reads an archive that goes reads on."""
    cache = ArchiveCache(tmp_path, 35 * KIB)
    for number in range(3):
        cache.save(str(number), an_archive(os.urandom(10 * KIB)))
        for file in tmp_path.iterdir():
            # All grow older, so the order does not depend on how fast they are written.
            about = file.stat()
            os.utime(file, (about.st_atime, about.st_mtime - 100))
    assert cache.load("0") is not None
    cache.save("3", an_archive(os.urandom(10 * KIB)))
    assert [number for number in "0123" if cache.load(number)] == ["0", "2", "3"]
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= 35 * KIB


def test_the_number_of_archives_is_bounded_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Thousands of small ones would be slow to look through."""
    assert MOST_ENTRIES <= 10_000
    monkeypatch.setattr("assay.fetch.archive_cache.MOST_ENTRIES", 3)
    cache = ArchiveCache(tmp_path, 1024 * KIB)
    for number in range(5):
        cache.save(str(number), an_archive())
    assert len(list(tmp_path.iterdir())) == 3


def test_adding_costs_the_same_however_much_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """G35: the folder is looked through once for a twentieth of what it may hold, and once by whoever is new."""
    looked: list[Path] = []
    listed = Path.iterdir

    def noted(folder: Path) -> Iterator[Path]:
        looked.append(folder)
        return listed(folder)

    monkeypatch.setattr(Path, "iterdir", noted)
    monkeypatch.setattr("assay.fetch.archive_cache.MOST_ENTRIES", 200)
    cache, archive = ArchiveCache(tmp_path, 10_000 * KIB), an_archive()
    for number in range(250):
        cache.save(str(number), archive)
    assert len(looked) == 250 // 10
    assert 200 <= len(list(listed(tmp_path))) <= 210
    ArchiveCache(tmp_path, 10_000 * KIB).save("another", archive)
    assert len(looked) == 250 // 10 + 1


def test_what_a_dead_process_left_unfinished_is_swept_away(tmp_path: Path) -> None:
    """And what a living one writes is left alone."""
    cache = ArchiveCache(tmp_path, 1024 * KIB)
    for name, age in (("dead.part", 1.0), ("alive.part", None)):
        (tmp_path / name).write_bytes(b"x")
        if age is not None:
            os.utime(tmp_path / name, (age, age))
    cache.save("one", an_archive())
    assert {path.suffix for path in tmp_path.iterdir()} == {".pack", ".part"}
    assert not (tmp_path / "dead.part").exists()


def test_a_disk_that_cannot_be_written_is_no_reason_to_fail(tmp_path: Path) -> None:
    """Then nothing is kept."""
    (tmp_path / "file").write_text("in the way")
    cache = ArchiveCache(tmp_path / "file", 1024 * KIB)
    cache.save("one", an_archive())
    assert cache.load("one") is None


async def test_a_commit_is_downloaded_once_for_all_processes_of_a_machine(
    settings: Settings, github: FakeGitHub
) -> None:
    """Design §5: a second worker finds the archive that the first has brought."""
    github.add_repository("acme/tools", a_repository("pdf", "csv"))
    for name in ("pdf", "csv"):
        async with open_registry(settings, github) as registry:
            accepted = await registry.submit("acme/tools", name, f"skills/{name}/SKILL.md")
            await registry.work()
            assert (await registry.read(accepted["id"]))["state"] == "PUBLISHED"
    assert github.count("archive") == 1
