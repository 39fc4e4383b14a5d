"""Skills in archives: read through limits, never unpacked."""

import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from assay.cli.scan.archive import find_in_archive
from assay.cli.scan.skill import FailedSkill
from assay.fetch.limits import Limits
from tests.support.archives import a_tar, a_zip, an_odd_member
from tests.support.cli.here import assay_here, one_line
from tests.support.cli.skills_here import below, skills_of, written
from tests.support.skills import a_bad_skill, a_repository, a_skill


@pytest.mark.parametrize(
    ("name", "pack"), [("bundle.zip", a_zip), ("bundle.tar.gz", a_tar), ("bundle.tgz", a_tar), ("bundle", a_zip)]
)
def test_archive_scan_equals_folder_scan(folder: Path, name: str, pack: Callable[[dict[str, str]], bytes]) -> None:
    """Same digests and findings; nothing is unpacked."""
    files = a_repository("pdf", "csv") | below("skills/steal", a_bad_skill())
    (folder / name).write_bytes(pack(files))
    packed = skills_of(name)
    assert list(packed) == [f"{name}/skills/{each}" for each in ("csv", "pdf", "steal")]
    assert [path.name for path in folder.iterdir()] == [name]
    unpacked = skills_of(written(folder / "plain", files))
    assert [skill["digest"] for skill in packed.values()] == [skill["digest"] for skill in unpacked.values()]
    assert packed[f"{name}/skills/steal"]["findings"] == unpacked["plain/skills/steal"]["findings"]


def test_unreadable_archives_do_not_hide_others(folder: Path) -> None:
    """Corrupt, mislabelled, and with a link inside a skill."""
    whole = a_tar(a_repository("pdf"))
    (folder / "cut.tgz").write_bytes(whole[: len(whole) // 2])
    (folder / "not.zip").write_text("Not a zip.")
    link = an_odd_member("skills/csv/key", tarfile.SYMTYPE, "/etc/passwd")
    (folder / "link.tgz").write_bytes(a_tar(a_repository("csv", "tsv"), link))
    ran = assay_here("scan", "cut.tgz", "not.zip", "link.tgz")
    assert ran.code == 7
    assert ran.out.startswith("PASS     100 tsv (link.tgz/skills/tsv)\n")
    lines = ran.err.splitlines()
    assert [line.split(": ")[1] for line in lines] == ["cut.tgz", "not.zip", "link.tgz/skills/csv"]
    assert "cannot be read" in lines[0]
    assert "link" in lines[2]


def test_archive_limits_are_enforced(folder: Path) -> None:
    """A decompression bomb and an oversized file are rejected."""
    bomb, large = folder / "bomb.tgz", folder / "large.zip"
    bomb.write_bytes(a_tar({"SKILL.md": a_skill(), **{str(number): "0" * 100_000 for number in range(20)}}))
    (refused,) = find_in_archive(bomb, "bomb.tgz", Limits(archive_bytes=1_000_000))
    assert isinstance(refused, FailedSkill)
    assert (refused.code, refused.where) == ("archive_too_large", "bomb.tgz")
    (unread,) = find_in_archive(bomb, "bomb.tgz", Limits(archive_bytes=1_000))
    assert isinstance(unread, FailedSkill)
    assert unread.message == "The archive has more than 1,000 bytes."
    large.write_bytes(a_zip({"SKILL.md": a_skill(), "large": "0" * (1024 * 1024 + 1)}))
    ran = assay_here("scan", "large.zip")
    assert (ran.code, "the limit is" in one_line(ran)) == (7, True)
