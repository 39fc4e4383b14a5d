"""Tar archives: read in one pass through limits, or rejected with a reason."""

import gc
import gzip
import io
import os
import random
import struct
import tarfile
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.fetch.archive import Archive, unpack_tar
from assay.fetch.limits import Limits
from assay.model.errors import Invalid
from tests.support.archives import a_header, a_member, a_tar, an_odd_member, packed
from tests.support.skills import a_skill

KIB, MIB = 1024, 1024 * 1024
FILES = {"SKILL.md": a_skill(), "scripts/run.py": "print()", "empty.txt": "", "技能.md": "你好"}
END = bytes(1024)


def unpack(content: bytes, limits: Limits | None = None, *, strip_root: bool = False) -> Archive:
    """Return the content of the archive."""
    return unpack_tar(io.BytesIO(content), limits or Limits(), strip_root=strip_root)


def refusal(content: bytes, limits: Limits | None = None, *, strip_root: bool = False) -> Invalid:
    """Return the reason of the rejection."""
    with pytest.raises(Invalid) as refused:
        unpack(content, limits, strip_root=strip_root)
    return refused.value


def test_every_file_is_read() -> None:
    archive = unpack(a_tar(FILES, an_odd_member("scripts", tarfile.DIRTYPE)))
    assert {path: archive.read(path).decode() for path in archive.files} == FILES
    assert archive.left_out == {}


def test_common_root_folder_is_removed() -> None:
    """GitHub adds `repository-sha/`."""
    archive = unpack(a_tar({f"tools-abc/{path}": content for path, content in FILES.items()}), strip_root=True)
    assert sorted(archive.files) == sorted(FILES)


def test_leading_dot_slash_is_removed() -> None:
    assert list(unpack(a_tar({"./SKILL.md": a_skill()})).files) == ["SKILL.md"]


@pytest.mark.parametrize("tar_format", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_all_tar_dialects_are_read(tar_format: int) -> None:
    path = "/".join(["a-long-folder-name"] * 8) + "/SKILL.md"
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tar_format) as tar:
        info, data = a_member(path, a_skill())
        tar.addfile(info, io.BytesIO(data))
    assert unpack(gzip.compress(plain.getvalue())).read(path).decode() == a_skill()


@pytest.mark.parametrize(
    ("kind", "target"),
    [
        (tarfile.SYMTYPE, "/etc/passwd"),
        (tarfile.SYMTYPE, "../../secret"),
        (tarfile.SYMTYPE, "SKILL.md"),
        (tarfile.LNKTYPE, "SKILL.md"),
        (tarfile.LNKTYPE, "/etc/passwd"),
        (tarfile.CHRTYPE, ""),
        (tarfile.BLKTYPE, ""),
        (tarfile.FIFOTYPE, ""),
        (b"Z", ""),
    ],
)
def test_special_members_are_skipped_and_named(kind: bytes, target: str) -> None:
    archive = unpack(a_tar(FILES, an_odd_member("odd", kind, target)))
    assert "odd" not in archive.files
    assert "link" in archive.left_out["odd"]
    assert sorted(archive.files) == sorted(FILES)


def test_sparse_file_is_skipped() -> None:
    sparse = bytearray(a_header("holes", tarfile.GNUTYPE_SPARSE))
    sparse[386:410] = b"%011o\0%011o\0" % (8 * 1024**3, 1)
    sparse[483:495] = b"%011o\0" % (8 * 1024**3)
    sparse[148:156] = b"%06o\0 " % sum(bytes(sparse[:148]) + b" " * 8 + bytes(sparse[156:]))
    archive = unpack(gzip.compress(bytes(sparse) + END))
    assert archive.files == {}
    assert "sparse" in archive.left_out["holes"]


@pytest.mark.parametrize(
    "path", ["/etc/passwd", "../evil", "a/../../evil", "a\\b", "C:/x", "a\x1bb", "a\u202eb", "a//b", "x/" * 40 + "y"]
)
def test_bad_path_is_skipped_and_named(path: str) -> None:
    archive = unpack(a_tar({**FILES, path: "evil"}))
    assert sorted(archive.files) == sorted(FILES)
    assert "its path must" in archive.left_out[path]


@pytest.mark.parametrize("path", ["/SKILL.md", "../SKILL.md", "./SKILL.md"])
def test_file_outside_the_root_folder_is_rejected(path: str) -> None:
    assert refusal(a_tar({path: a_skill()}), strip_root=True).code == "bad_archive"


def test_undecodable_name_is_skipped() -> None:
    header = bytearray(a_header("name"))
    header[0:4] = b"\xff\xfe\xfd\xfc"
    header[148:156] = b"%06o\0 " % sum(bytes(header[:148]) + b" " * 8 + bytes(header[156:]))
    archive = unpack(gzip.compress(bytes(header) + END))
    assert archive.files == {}
    assert len(archive.left_out) == 1


def test_duplicate_member_is_rejected() -> None:
    """otherwise one reader scans the first and another installs the second."""
    problem = refusal(packed([a_member("SKILL.md", "good"), a_member("SKILL.md", "evil")]))
    assert problem.code == "bad_archive"
    assert "'SKILL.md' twice" in problem.message


def test_too_many_entries_are_rejected() -> None:
    folders = [an_odd_member(f"folder{number}", tarfile.DIRTYPE) for number in range(6)]
    assert refusal(a_tar({}, *folders), Limits(archive_entries=5)).code == "archive_too_large"
    assert unpack(a_tar({}, *folders), Limits(archive_entries=6)).files == {}


def test_oversized_file_is_known_but_not_kept() -> None:
    archive = unpack(a_tar({"large.bin": bytes(2000), **FILES}), Limits(file_bytes=1999))
    assert archive.files["large.bin"].offset is None
    assert archive.files["large.bin"].size == 2000
    assert archive.read("SKILL.md").decode() == a_skill()


def test_file_at_the_limit_is_kept() -> None:
    assert unpack(a_tar({"large.bin": bytes(2000)}), Limits(file_bytes=2000)).read("large.bin") == bytes(2000)


def test_decompression_bomb_is_rejected() -> None:
    """G39: before it is inflated."""
    bomb = a_tar({f"zeros{number}": bytes(1 * MIB) for number in range(64)})
    assert len(bomb) < 100 * KIB
    tracemalloc.start()
    problem = refusal(bomb, Limits(archive_bytes=4 * MIB))
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert problem.code == "archive_too_large"
    assert peak_bytes < 6 * MIB


def test_bomb_in_a_skipped_member_is_rejected() -> None:
    limits = Limits(archive_bytes=1 * MIB, archive_entries=10)
    assert refusal(a_tar({"../zeros": bytes(8 * MIB)}), limits).code == "archive_too_large"


def test_bomb_after_the_end_is_rejected() -> None:
    tail = gzip.compress(a_header("SKILL.md") + END + bytes(64 * MIB))
    assert refusal(tail, Limits(archive_bytes=1 * MIB, archive_entries=10)).code == "archive_too_large"


@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK])
def test_bomb_in_headers_is_rejected(kind: bytes) -> None:
    """G39."""
    bomb = gzip.compress(a_header("name", kind, 64 * MIB) + bytes(64 * MIB) + a_header("SKILL.md") + END)
    tracemalloc.start()
    problem = refusal(bomb)
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert "header is too large" in problem.message
    assert peak_bytes < 4 * MIB


def test_slow_header_is_rejected() -> None:
    """CVE-2024-6232."""
    digits = b"1" * 16_384
    hostile = gzip.compress(a_header("x", tarfile.XHDTYPE, len(digits)) + digits + a_header("SKILL.md") + END)
    assert "too long a number" in refusal(hostile).message


def test_nested_headers_are_rejected() -> None:
    record = b"10 a=bcde\n"
    chain = (a_header("x", tarfile.XHDTYPE, len(record)) + record.ljust(512, b"\0")) * 3000
    assert refusal(gzip.compress(chain + a_header("SKILL.md") + END)).code == "bad_archive"


@pytest.mark.parametrize("size", [-1, -512, -1024, -(2**62)])
def test_negative_size_is_rejected(size: int) -> None:
    """CVE-2025-8194."""
    header = bytearray(a_header("SKILL.md"))
    header[124:136] = b"\xff" * 4 + struct.pack(">q", size)
    header[148:156] = b"%06o\0 " % sum(bytes(header[:148]) + b" " * 8 + bytes(header[156:]))
    hostile = gzip.compress(bytes(header) + bytes(64 * MIB))
    tracemalloc.start()
    problem = refusal(hostile)
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert "negative size" in problem.message
    assert peak_bytes < 4 * MIB


def test_wrong_size_is_rejected() -> None:
    short = gzip.compress(a_header("SKILL.md", size=5000) + bytes(512))
    assert refusal(short).code == "bad_archive"


def test_truncated_archive_is_rejected() -> None:
    """G37: tarfile itself accepts a missing header as the end and ignores gzip's checksum."""
    whole = a_tar({f"{number}.md": random.Random(number).randbytes(50) for number in range(6)})
    for length in range(len(whole)):
        assert refusal(whole[:length]).code == "bad_archive", length
    assert len(unpack(whole).files) == 6


def test_truncated_tar_in_a_complete_gzip_is_rejected() -> None:
    """G37."""
    plain = gzip.decompress(a_tar({f"{number}.md": "text" for number in range(5)}))
    for blocks in range(10):
        assert refusal(gzip.compress(plain[: blocks * 512])).code == "bad_archive", blocks
    damaged = plain[: 4 * 512] + b"\xaa" * 512 + plain[5 * 512 :]
    assert refusal(gzip.compress(damaged)).code == "bad_archive"


@pytest.mark.parametrize(
    "content", [b"", b"hello", b"PK\x03\x04", a_header("SKILL.md") + END, b"\x1f\x8b", b"\x1f\x8bhello"]
)
def test_other_formats_are_rejected(content: bytes) -> None:
    assert refusal(content).code == "bad_archive"


def test_archive_without_files_is_empty() -> None:
    assert unpack(a_tar({})).files == {}


@settings(deadline=None)
@given(st.data())
def test_damaged_archive_is_rejected_or_complete(data: st.DataObject) -> None:
    plain = bytearray(gzip.decompress(a_tar(FILES, an_odd_member("link", tarfile.SYMTYPE, "x"))))
    for _ in range(data.draw(st.integers(1, 8))):
        plain[data.draw(st.integers(0, len(plain) - 1))] = data.draw(st.integers(0, 255))
    try:
        archive = unpack(gzip.compress(bytes(plain), compresslevel=1), Limits(archive_bytes=1 * MIB))
    except Invalid:
        return
    for path, entry in archive.files.items():
        assert entry.offset is None or len(archive.read(path)) == entry.size


@settings(deadline=None)
@given(st.binary(max_size=200), st.integers(0, 200))
def test_damaged_gzip_is_rejected(noise: bytes, at: int) -> None:
    whole = a_tar(FILES)
    damaged = whole[:at] + noise + whole[at + len(noise) :]
    try:
        archive = unpack(damaged)
    except Invalid:
        return
    assert {path: archive.read(path).decode() for path in archive.files} == FILES


def test_members_are_not_kept_in_memory() -> None:
    """G39."""
    content = a_tar({f"folder/file-{number}.md": "" for number in range(5000)})
    tracemalloc.start()
    archive = unpack(content)
    kept_bytes, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(archive.files) == 5000
    assert peak_bytes < kept_bytes + 1 * MIB


def test_files_of_a_folder() -> None:
    """not those of a folder with the same prefix."""
    paths = ["a/SKILL.md", "a/b/c.md", "a-b/SKILL.md", "a.md", "a0/x.md", "b.md"]
    archive = unpack(a_tar(dict.fromkeys(paths, "")))
    assert archive.paths_under("a") == ["a/SKILL.md", "a/b/c.md"]
    assert sorted(paths) == archive.paths_under("")
    assert archive.paths_under("zzz") == []


def test_unused_archive_closes_its_file() -> None:
    archive = unpack(a_tar(FILES))
    number = archive.pack.fileno()
    assert os.fstat(number)
    del archive
    gc.collect()
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(number)


def test_archive_weight_includes_overhead() -> None:
    small, many = unpack(a_tar({})), unpack(a_tar({f"{number}": "" for number in range(2000)}))
    assert small.weight >= 1 * MIB
    assert many.weight >= small.weight + 2000 * KIB


def test_no_named_file_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    archive = unpack(a_tar(FILES))
    assert archive.files
    assert list(tmp_path.iterdir()) == []
