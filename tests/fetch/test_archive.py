"""Archives from outside: unpacked in one pass through limits, or refused with what is wrong."""

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
    """What the archive holds."""
    return unpack_tar(io.BytesIO(content), limits or Limits(), strip_root=strip_root)


def refusal(content: bytes, limits: Limits | None = None, *, strip_root: bool = False) -> Invalid:
    """Why the archive is refused."""
    with pytest.raises(Invalid) as refused:
        unpack(content, limits, strip_root=strip_root)
    return refused.value


def test_every_file_comes_out_as_it_went_in() -> None:
    """Names in any alphabet, empty files and folders."""
    archive = unpack(a_tar(FILES, an_odd_member("scripts", tarfile.DIRTYPE)))
    assert {path: archive.read(path).decode() for path in archive.files} == FILES
    assert archive.left_out == {}


def test_the_one_folder_around_everything_is_taken_off() -> None:
    """GitHub puts `repository-sha/` in front of each name."""
    archive = unpack(a_tar({f"tools-abc/{path}": content for path, content in FILES.items()}), strip_root=True)
    assert sorted(archive.files) == sorted(FILES)


def test_names_that_begin_with_a_dot_and_slash_are_plain() -> None:
    """`tar -C folder .` writes them so."""
    assert list(unpack(a_tar({"./SKILL.md": a_skill()})).files) == ["SKILL.md"]


@pytest.mark.parametrize("tar_format", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_all_three_dialects_of_tar_are_read(tar_format: int) -> None:
    """Long names are written in three ways."""
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
def test_what_is_no_regular_file_is_left_out_and_named(kind: bytes, target: str) -> None:
    """Links and devices are not followed, made or read; whoever wants their folder learns of them."""
    archive = unpack(a_tar(FILES, an_odd_member("odd", kind, target)))
    assert "odd" not in archive.files
    assert "link" in archive.left_out["odd"]
    assert sorted(archive.files) == sorted(FILES)


def test_a_sparse_file_is_left_out() -> None:
    """A header of one block must not stand for gigabytes of zeros."""
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
def test_a_file_with_a_bad_path_is_left_out_and_named(path: str) -> None:
    """Nothing is ever written under a name from an archive, and it is not taken under another name either."""
    archive = unpack(a_tar({**FILES, path: "evil"}))
    assert sorted(archive.files) == sorted(FILES)
    assert "its path must" in archive.left_out[path]


@pytest.mark.parametrize("path", ["/SKILL.md", "../SKILL.md", "./SKILL.md"])
def test_a_file_outside_of_the_one_folder_is_refused(path: str) -> None:
    """Taking the folder off must not turn a bad path into a good one."""
    assert refusal(a_tar({path: a_skill()}), strip_root=True).code == "bad_archive"


def test_a_name_of_bytes_that_are_no_text_is_left_out() -> None:
    """Such a name has no place in a manifest."""
    header = bytearray(a_header("name"))
    header[0:4] = b"\xff\xfe\xfd\xfc"
    header[148:156] = b"%06o\0 " % sum(bytes(header[:148]) + b" " * 8 + bytes(header[156:]))
    archive = unpack(gzip.compress(bytes(header) + END))
    assert archive.files == {}
    assert len(archive.left_out) == 1


def test_a_file_that_comes_twice_is_refused() -> None:
    """Otherwise one reader would scan the first and another install the second."""
    problem = refusal(packed([a_member("SKILL.md", "good"), a_member("SKILL.md", "evil")]))
    assert problem.code == "bad_archive"
    assert "'SKILL.md' twice" in problem.message


def test_too_many_entries_are_refused() -> None:
    """The limit counts whatever comes, folders too."""
    folders = [an_odd_member(f"folder{number}", tarfile.DIRTYPE) for number in range(6)]
    assert refusal(a_tar({}, *folders), Limits(archive_entries=5)).code == "archive_too_large"
    assert unpack(a_tar({}, *folders), Limits(archive_entries=6)).files == {}


def test_a_file_beyond_the_limit_is_known_but_not_kept() -> None:
    """A large file elsewhere in a repository does not hinder a small skill."""
    archive = unpack(a_tar({"large.bin": bytes(2000), **FILES}), Limits(file_bytes=1999))
    assert archive.files["large.bin"].offset is None
    assert archive.files["large.bin"].size == 2000
    assert archive.read("SKILL.md").decode() == a_skill()


def test_a_file_of_exactly_the_limit_is_kept() -> None:
    """The limit is the largest size that is allowed."""
    assert unpack(a_tar({"large.bin": bytes(2000)}), Limits(file_bytes=2000)).read("large.bin") == bytes(2000)


def test_a_bomb_is_refused_before_it_goes_off() -> None:
    """G39: 64 MiB of zeros in a few KiB are not inflated into memory or onto the disk."""
    bomb = a_tar({f"zeros{number}": bytes(1 * MIB) for number in range(64)})
    assert len(bomb) < 100 * KIB
    tracemalloc.start()
    problem = refusal(bomb, Limits(archive_bytes=4 * MIB))
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert problem.code == "archive_too_large"
    assert peak_bytes < 6 * MIB


def test_a_bomb_under_a_name_that_is_left_out_is_refused_too() -> None:
    """What is skipped is inflated all the same, so it counts."""
    limits = Limits(archive_bytes=1 * MIB, archive_entries=10)
    assert refusal(a_tar({"../zeros": bytes(8 * MIB)}), limits).code == "archive_too_large"


def test_a_bomb_behind_the_end_of_the_archive_is_refused_too() -> None:
    """Looking whether the archive is whole must not inflate without end."""
    tail = gzip.compress(a_header("SKILL.md") + END + bytes(64 * MIB))
    assert refusal(tail, Limits(archive_bytes=1 * MIB, archive_entries=10)).code == "archive_too_large"


@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK])
def test_a_bomb_in_the_headers_is_refused(kind: bytes) -> None:
    """G39: long names and attributes are read into memory whole, so they are limited like the rest."""
    bomb = gzip.compress(a_header("name", kind, 64 * MIB) + bytes(64 * MIB) + a_header("SKILL.md") + END)
    tracemalloc.start()
    problem = refusal(bomb)
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert "header is too large" in problem.message
    assert peak_bytes < 4 * MIB


def test_a_header_that_takes_forever_to_parse_is_refused() -> None:
    """CVE-2024-6232: a long row of digits costs older versions of tarfile quadratic time."""
    digits = b"1" * 16_384
    hostile = gzip.compress(a_header("x", tarfile.XHDTYPE, len(digits)) + digits + a_header("SKILL.md") + END)
    assert "too long a number" in refusal(hostile).message


def test_headers_nested_without_end_are_refused() -> None:
    """Each extended header may be followed by another, and tarfile calls itself for each."""
    record = b"10 a=bcde\n"
    chain = (a_header("x", tarfile.XHDTYPE, len(record)) + record.ljust(512, b"\0")) * 3000
    assert refusal(gzip.compress(chain + a_header("SKILL.md") + END)).code == "bad_archive"


@pytest.mark.parametrize("size", [-1, -512, -1024, -(2**62)])
def test_a_size_below_zero_is_refused(size: int) -> None:
    """CVE-2025-8194: it leads older versions of tarfile round in circles, and means "all" to whoever reads."""
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


def test_a_size_that_is_a_lie_is_refused() -> None:
    """A header that promises more than follows."""
    short = gzip.compress(a_header("SKILL.md", size=5000) + bytes(512))
    assert refusal(short).code == "bad_archive"


def test_an_archive_cut_short_anywhere_is_refused() -> None:
    """G37: half a download is an error, never a repository with fewer files.

    tarfile itself takes the lack of a header for the end, and does not look at gzip's checksum.
    """
    whole = a_tar({f"{number}.md": random.Random(number).randbytes(50) for number in range(6)})
    for length in range(len(whole)):
        assert refusal(whole[:length]).code == "bad_archive", length
    assert len(unpack(whole).files) == 6


def test_a_tar_cut_short_in_a_whole_gzip_is_refused() -> None:
    """G37: the end mark must be there; a missing or damaged header is not an end."""
    plain = gzip.decompress(a_tar({f"{number}.md": "text" for number in range(5)}))
    for blocks in range(10):
        assert refusal(gzip.compress(plain[: blocks * 512])).code == "bad_archive", blocks
    damaged = plain[: 4 * 512] + b"\xaa" * 512 + plain[5 * 512 :]
    assert refusal(gzip.compress(damaged)).code == "bad_archive"


@pytest.mark.parametrize(
    "content", [b"", b"hello", b"PK\x03\x04", a_header("SKILL.md") + END, b"\x1f\x8b", b"\x1f\x8bhello"]
)
def test_what_is_no_gzip_is_refused(content: bytes) -> None:
    """Neither an empty answer nor a bare tar is taken."""
    assert refusal(content).code == "bad_archive"


def test_an_archive_without_files_is_empty() -> None:
    """Which is not an error of the archive."""
    assert unpack(a_tar({})).files == {}


@settings(deadline=None)
@given(st.data())
def test_a_damaged_archive_is_refused_or_whole_and_nothing_else(data: st.DataObject) -> None:
    """Whatever bytes come, the answer is an Archive or Invalid; every other exception is a bug."""
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
def test_damaged_gzip_is_refused(noise: bytes, at: int) -> None:
    """The checksum finds what the decoder does not."""
    whole = a_tar(FILES)
    damaged = whole[:at] + noise + whole[at + len(noise) :]
    try:
        archive = unpack(damaged)
    except Invalid:
        return
    assert {path: archive.read(path).decode() for path in archive.files} == FILES


def test_reading_many_members_does_not_keep_them() -> None:
    """G39: the index of an archive is all that stays in memory."""
    content = a_tar({f"folder/file-{number}.md": "" for number in range(5000)})
    tracemalloc.start()
    archive = unpack(content)
    kept_bytes, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(archive.files) == 5000
    assert peak_bytes < kept_bytes + 1 * MIB


def test_the_files_of_a_folder_are_found_by_name() -> None:
    """A folder is not confused with one whose name begins alike."""
    paths = ["a/SKILL.md", "a/b/c.md", "a-b/SKILL.md", "a.md", "a0/x.md", "b.md"]
    archive = unpack(a_tar(dict.fromkeys(paths, "")))
    assert archive.paths_under("a") == ["a/SKILL.md", "a/b/c.md"]
    assert sorted(paths) == archive.paths_under("")
    assert archive.paths_under("zzz") == []


def test_an_archive_that_nobody_holds_gives_its_file_back() -> None:
    """Open files are few: the last reader closes it."""
    archive = unpack(a_tar(FILES))
    number = archive.pack.fileno()
    assert os.fstat(number)
    del archive
    gc.collect()
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(number)


def test_keeping_an_archive_costs_more_than_its_bytes() -> None:
    """However small, it holds an open file and an index, and the cache must see that."""
    small, many = unpack(a_tar({})), unpack(a_tar({f"{number}": "" for number in range(2000)}))
    assert small.weight >= 1 * MIB
    assert many.weight >= small.weight + 2000 * KIB


def test_unpacking_leaves_no_named_file_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was unpacked has no name that anybody could open or run."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    archive = unpack(a_tar(FILES))
    assert archive.files
    assert list(tmp_path.iterdir()) == []
