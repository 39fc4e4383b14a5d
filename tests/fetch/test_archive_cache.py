"""The archive cache: shared, checked, bounded and optional."""

import io
import os
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.fetch.archive import Archive, add_file, leave_out, unpack_tar
from assay.fetch.archive_cache import MAX_ENTRIES, ArchiveCache
from assay.fetch.limits import Limits
from assay.settings import Settings
from tests.support.archives import a_tar, an_odd_member
from tests.support.fake_github import FakeGitHub
from tests.support.registry import open_registry
from tests.support.skills import a_repository

KIB = 1024


def an_archive(content: bytes = b"content", name: str = "SKILL.md") -> Archive:
    """Return an archive with one file and one skipped member."""
    raw = a_tar({f"root/{name}": content}, an_odd_member("root/l\u00efnk", tarfile.SYMTYPE, "x"))
    return unpack_tar(io.BytesIO(raw), Limits(), strip_root=True)


def test_cached_archive_is_identical(tmp_path: Path) -> None:
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
def test_damaged_archive_is_dropped(tmp_path: Path, damage: str) -> None:
    cache = ArchiveCache(tmp_path, 1024 * KIB)
    cache.save("one", an_archive(b"x" * 5000))
    (file,) = tmp_path.iterdir()
    whole = file.read_bytes()
    flipped = bytearray(whole)
    flipped[len(whole) // 2] ^= 1
    file.write_bytes({"flip": bytes(flipped), "cut": whole[:-1], "empty": b"", "other": b"x" * 200}[damage])
    assert cache.load("one") is None
    assert list(tmp_path.iterdir()) == []


def test_least_recently_used_archive_is_evicted(tmp_path: Path) -> None:
    """open readers continue."""
    cache = ArchiveCache(tmp_path, 35 * KIB)
    for number in range(3):
        cache.save(str(number), an_archive(os.urandom(10 * KIB)))
        for file in tmp_path.iterdir():
            # All ages are set explicitly, so the order does not depend on write speed.
            about = file.stat()
            os.utime(file, (about.st_atime, about.st_mtime - 100))
    assert cache.load("0") is not None
    cache.save("3", an_archive(os.urandom(10 * KIB)))
    assert [number for number in "0123" if cache.load(number)] == ["0", "2", "3"]
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= 35 * KIB


def test_number_of_archives_is_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert MAX_ENTRIES <= 10_000
    monkeypatch.setattr("assay.fetch.archive_cache.MAX_ENTRIES", 3)
    cache = ArchiveCache(tmp_path, 1024 * KIB)
    for number in range(5):
        cache.save(str(number), an_archive())
    assert len(list(tmp_path.iterdir())) == 3


def test_adding_costs_the_same_at_any_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """G35."""
    looked: list[Path] = []
    listed = Path.iterdir

    def noted(folder: Path) -> Iterator[Path]:
        looked.append(folder)
        return listed(folder)

    monkeypatch.setattr(Path, "iterdir", noted)
    monkeypatch.setattr("assay.fetch.archive_cache.MAX_ENTRIES", 200)
    cache, archive = ArchiveCache(tmp_path, 10_000 * KIB), an_archive()
    for number in range(250):
        cache.save(str(number), archive)
    assert len(looked) == 250 // 10
    assert 200 <= len(list(listed(tmp_path))) <= 210
    ArchiveCache(tmp_path, 10_000 * KIB).save("another", archive)
    assert len(looked) == 250 // 10 + 1


def test_leftovers_of_a_dead_process_are_removed(tmp_path: Path) -> None:
    cache = ArchiveCache(tmp_path, 1024 * KIB)
    for name, age in (("dead.part", 1.0), ("alive.part", None)):
        (tmp_path / name).write_bytes(b"x")
        if age is not None:
            os.utime(tmp_path / name, (age, age))
    cache.save("one", an_archive())
    assert {path.suffix for path in tmp_path.iterdir()} == {".pack", ".part"}
    assert not (tmp_path / "dead.part").exists()


def test_unwritable_cache_is_ignored(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    cache = ArchiveCache(tmp_path / "file", 1024 * KIB)
    cache.save("one", an_archive())
    assert cache.load("one") is None


@pytest.mark.process
async def test_processes_share_one_download(settings: Settings, github: FakeGitHub) -> None:
    github.add_repository("acme/tools", a_repository("pdf", "csv"))
    for name in ("pdf", "csv"):
        async with open_registry(settings, github) as registry:
            accepted = await registry.submit("acme/tools", name, f"skills/{name}/SKILL.md")
            await registry.work()
            assert (await registry.read(accepted["id"]))["state"] == "PUBLISHED"
    assert github.count("archive") == 1
