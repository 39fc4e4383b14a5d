"""Blobs: what was put in comes out, byte for byte, or an error that says which."""

import asyncio
import shutil
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from obstore.store import LocalStore, MemoryStore, ObjectStore

from assay.blobs.blobs import Blobs
from assay.model.errors import NotFound, Unavailable
from assay.model.source import Source
from tests.support.skills import a_skill

NOWHERE = f"sha256:{'0' * 64}"
SOURCE = Source({"SKILL.md": a_skill().encode(), "a/技能.md": b"x\ny", "same.md": b"x\ny", "empty": b""}, commit="abc")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "blobs"


@pytest.fixture
def blobs(folder: Path) -> Blobs:
    return Blobs(LocalStore(str(folder), mkdir=True))


def files_in(folder: Path) -> list[Path]:
    """Everything that lies on disk."""
    return [file for file in folder.rglob("*") if file.is_file()]


@pytest.mark.parametrize("kind", [LocalStore, MemoryStore])
async def test_what_was_put_in_comes_out(kind: type[ObjectStore], tmp_path: Path) -> None:
    """Every file under its path, and the digest names the whole, in a directory as in an object store."""
    blobs = Blobs(LocalStore(str(tmp_path)) if kind is LocalStore else MemoryStore())
    digest = await blobs.save(SOURCE)
    assert digest == SOURCE.digest
    loaded = await blobs.load(digest)
    assert loaded.files == SOURCE.files
    assert loaded.digest == loaded.commit == digest


PATHS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)


@settings(deadline=None)
@given(st.dictionaries(PATHS, st.binary(max_size=50), max_size=5))
def test_any_source_survives_the_round_trip(files: dict[str, bytes]) -> None:
    """Paths and bytes of any kind, line ends in both."""

    async def round_trip() -> None:
        blobs = Blobs(MemoryStore())
        loaded = await blobs.load(await blobs.save(Source(files, commit="")))
        assert loaded.files == files

    asyncio.run(round_trip())


async def test_saving_the_same_again_changes_nothing(blobs: Blobs, folder: Path) -> None:
    """Twice, or twenty times at once: one object, written once."""
    digest = await blobs.save(SOURCE)
    (file,) = files_in(folder)
    written = file.stat()
    assert set(await asyncio.gather(*(blobs.save(SOURCE) for _ in range(20)))) == {digest}
    assert files_in(folder) == [file]
    assert (file.stat().st_mtime_ns, file.stat().st_ino) == (written.st_mtime_ns, written.st_ino)


async def test_saving_at_once_for_the_first_time_makes_one_whole_object(blobs: Blobs, folder: Path) -> None:
    """Twenty workers find the same new content: nobody reads half of it, and nothing else stays behind."""
    await asyncio.gather(*(blobs.save(SOURCE) for _ in range(20)))
    assert len(files_in(folder)) == 1
    assert (await blobs.load(SOURCE.digest)).files == SOURCE.files


async def test_one_file_is_read_by_its_path(blobs: Blobs) -> None:
    """Or it is not found."""
    digest = await blobs.save(SOURCE)
    assert await blobs.read_file(digest, "a/技能.md") == b"x\ny"
    assert await blobs.read_file(digest, "empty") == b""
    for path in ("", "nope", "../SKILL.md", "a"):
        with pytest.raises(NotFound):
            await blobs.read_file(digest, path)


async def test_a_digest_that_is_not_there_is_not_found(blobs: Blobs) -> None:
    """Which is the caller's matter, not a failure of the store."""
    with pytest.raises(NotFound) as missing:
        await blobs.load(NOWHERE)
    assert missing.value.code == "content_not_found"


@pytest.mark.parametrize(
    "digest", ["sha256:../../etc/passwd", "sha256:..", "sha256:", "/etc/passwd", f"sha256:{'A' * 64}", NOWHERE + "\n"]
)
async def test_no_digest_leads_out_of_the_store(blobs: Blobs, digest: str) -> None:
    """Whatever is asked for, only contents are read."""
    with pytest.raises(NotFound):
        await blobs.load(digest)


@settings(deadline=None)
@given(st.data())
def test_a_damaged_object_is_an_error_not_an_answer(data: st.DataObject) -> None:
    """G46: whatever happens to the bytes on disk, what comes out is what went in, or nothing."""

    async def damage() -> None:
        blobs = Blobs(MemoryStore())
        digest = await blobs.save(SOURCE)
        path = f"{digest[7:9]}/{digest[9:]}"
        whole = bytes(blobs.store.get(path).bytes())
        at = data.draw(st.integers(0, len(whole)))
        damaged = whole[:at] + data.draw(st.binary(max_size=4)) + whole[at + data.draw(st.integers(0, 9)) :]
        blobs.store.put(path, damaged)
        try:
            loaded = await blobs.load(digest)
        except Unavailable as problem:
            assert problem.code == "content_damaged"
        else:
            assert loaded.files == SOURCE.files

    asyncio.run(damage())


async def test_one_flipped_bit_on_disk_is_seen(blobs: Blobs, folder: Path) -> None:
    """G46: in the manifest or in any file."""
    digest = await blobs.save(SOURCE)
    (file,) = files_in(folder)
    whole = file.read_bytes()
    for at in range(len(whole)):
        file.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        with pytest.raises(Unavailable) as raised:
            await blobs.load(digest)
        assert raised.value.code == "content_damaged", at


async def test_a_store_that_fails_is_unavailable_not_empty(blobs: Blobs, folder: Path) -> None:
    """G9: neither reading nor writing takes a broken store for an empty one."""
    digest = await blobs.save(SOURCE)
    shutil.rmtree(folder)
    folder.write_text("a file where the folder was")
    for work in (blobs.load(digest), blobs.save(Source({"SKILL.md": b"other"}, commit=""))):
        with pytest.raises(Unavailable) as raised:
            await work
        assert raised.value.code == "blobs_unavailable"
