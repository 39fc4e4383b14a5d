"""Hostile archives in place of a repository's archive."""

import gzip
import io
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from assay.fetch.archive import unpack_tar
from assay.fetch.limits import Limits
from tests.support.archives import a_header, a_member, a_tar, a_zip, an_odd_member, packed
from tests.support.registry import Registry
from tests.support.skills import a_skill

ROOT = "tools-abc"
SKILL = a_member(f"{ROOT}/SKILL.md", a_skill("pdf"))
BLOCK, MIB = 512, 1024 * 1024


def with_skill(*members: tuple[tarfile.TarInfo, bytes]) -> bytes:
    """Return a skill with hidden additions."""
    return packed([SKILL, *members])


def odd(path: str, kind: bytes, target: str = "") -> bytes:
    """Return a skill with a special member."""
    return with_skill((an_odd_member(f"{ROOT}/{path}", kind, target), b""))


def beside(path: str, content: bytes = b"x") -> bytes:
    """Return a skill with one more file."""
    return with_skill(a_member(f"{ROOT}/{path}", content))


def of_bytes(name: bytes) -> bytes:
    """Return a skill with an undecodable name."""
    header = bytearray(a_header(f"{ROOT}/placeholder"))
    header[:100] = f"{ROOT}/".encode().ljust(0) + name.ljust(100 - len(ROOT) - 1, b"\0")
    header[148:156] = b"%06o\0 " % (sum(header[:148]) + 8 * 32 + sum(header[156:]))
    content = a_skill("pdf").encode()
    skill = a_header(f"{ROOT}/SKILL.md", size=len(content)) + content.ljust(-(-len(content) // BLOCK) * BLOCK, b"\0")
    return gzip.compress(skill + bytes(header) + bytes(2 * BLOCK))


def many_entries(number: int) -> bytes:
    """Return an archive with too many folders."""
    return gzip.compress(a_header(f"{ROOT}/folder", tarfile.DIRTYPE) * number + bytes(2 * BLOCK), 1)


@dataclass(frozen=True)
class Case:
    """An archive with the expected state and reason."""

    archive: bytes
    state: str = "REJECTED"
    code: str | None = "unsafe_file"


CORPUS: Mapping[str, Case] = {
    "symbolic link out": Case(odd("keys", tarfile.SYMTYPE, "../../../root/.ssh/id_rsa")),
    "symbolic link inside": Case(odd("again.md", tarfile.SYMTYPE, "SKILL.md")),
    "hard link": Case(odd("passwd", tarfile.LNKTYPE, "/etc/passwd")),
    "character device": Case(odd("null", tarfile.CHRTYPE)),
    "block device": Case(odd("disk", tarfile.BLKTYPE)),
    "pipe": Case(odd("pipe", tarfile.FIFOTYPE)),
    "traversal": Case(beside("../../etc/cron.d/x")),
    "traversal within": Case(beside("a/../../x")),
    "absolute below the root": Case(beside("/etc/passwd")),
    "windows path": Case(beside("a\\..\\b")),
    "drive": Case(beside("C:/x")),
    "control characters": Case(beside("a\x1b[2Jb")),
    "right to left": Case(beside("gnp.\u202etxt")),
    "no text": Case(of_bytes(b"\xff\xfe.md")),
    "case collision": Case(with_skill(a_member(f"{ROOT}/a.md"), a_member(f"{ROOT}/A.md"))),
    "accent collision": Case(with_skill(a_member(f"{ROOT}/\u00e9"), a_member(f"{ROOT}/e\u0301"))),
    "file and folder": Case(with_skill(a_member(f"{ROOT}/a", b"x"), a_member(f"{ROOT}/A/b", b"x"))),
    "outside of its folder": Case(packed([SKILL, a_member("../x", b"x")]), "FAILED", "bad_archive"),
    "absolute": Case(packed([SKILL, a_member("/etc/passwd", b"x")]), "FAILED", "bad_archive"),
    "twice": Case(packed([SKILL, SKILL]), "FAILED", "bad_archive"),
    "cut short": Case(a_tar({f"{ROOT}/SKILL.md": a_skill("pdf")})[:-20], "FAILED", "bad_archive"),
    "no archive": Case(b"<html>", "FAILED", "bad_archive"),
    "zip": Case(a_zip({"SKILL.md": a_skill("pdf")}), "FAILED", "bad_archive"),
    # Too large for an archive: the tree and the files decide.
    "bomb": Case(gzip.compress(a_header(f"{ROOT}/x", size=300 * MIB) + bytes(300 * MIB), 1), "PUBLISHED", None),
    "entries": Case(many_entries(100_001), "PUBLISHED", None),
}


@pytest.mark.process
async def test_every_hostile_archive_is_rejected_with_its_reason(registry: Registry, tmp_path: Path) -> None:
    """G18, G39: nothing is written under its names."""
    submissions = {}
    for number, (name, case) in enumerate(CORPUS.items()):
        repository = registry.github.add_repository(f"acme/tools-{number}", {"SKILL.md": a_skill(f"pdf-{number}")})
        repository.archive_override = case.archive
        submissions[name] = (await registry.submit(f"acme/tools-{number}", f"pdf-{number}"))["id"]
    await registry.work()
    for name, case in CORPUS.items():
        told = await registry.read(submissions[name])
        code = told["reason"]["code"] if told["reason"] else None
        assert (name, told["state"], code) == (name, case.state, case.code)
    written = {path.name for path in tmp_path.rglob("*") if path.is_file()}
    assert not written & {"keys", "passwd", "x", "disk", "null", "pipe", "again.md"}


def test_nested_archive_is_an_ordinary_file() -> None:
    bomb = gzip.compress(bytes(64 * MIB), 1)
    archive = unpack_tar(io.BytesIO(beside("inner.tar.gz", bomb)), Limits(), strip_root=True)
    assert archive.read("inner.tar.gz") == bomb
    assert sorted(archive.files) == ["SKILL.md", "inner.tar.gz"]


@pytest.mark.parametrize("ratio", [10, 1000])
def test_compression_ratio_does_not_matter(ratio: int) -> None:
    limits = Limits(archive_bytes=MIB, archive_entries=10)
    content = (bytes(ratio) + b"x") * (2 * MIB // (ratio + 1))
    raised = pytest.raises(Exception, match="unpacks to more than")
    with raised:
        unpack_tar(io.BytesIO(beside("x.bin", content)), limits, strip_root=True)
