"""Blobs: byte for byte, or an error."""

import asyncio
import shutil
import zlib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from obstore.store import LocalStore, MemoryStore, ObjectStore

from assay.blobs.blobs import LARGEST_PACKED_BYTES, Blobs, unpack
from assay.model.errors import NotFound, Unavailable
from assay.model.source import Source
from tests.support.blobs import unrecorded
from tests.support.skills import a_skill

NOWHERE = f"sha256:{'0' * 64}"
LARGE = Source({"SKILL.md": a_skill(body="Greet the user politely.\n" * 1000).encode()}, commit="abc")
SOURCE = Source({"SKILL.md": a_skill().encode(), "a/技能.md": b"x\ny", "same.md": b"x\ny", "empty": b""}, commit="abc")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "blobs"


@pytest.fixture
def blobs(folder: Path) -> Blobs:
    return unrecorded(LocalStore(str(folder), mkdir=True))


def files_in(folder: Path) -> list[Path]:
    """Return every file on disk."""
    return [file for file in folder.rglob("*") if file.is_file()]


@pytest.mark.parametrize("kind", [LocalStore, MemoryStore])
async def test_round_trip(kind: type[ObjectStore], tmp_path: Path) -> None:
    """in a directory and in an object store."""
    blobs = unrecorded(LocalStore(str(tmp_path)) if kind is LocalStore else MemoryStore())
    digest = await blobs.save(SOURCE)
    assert digest == SOURCE.digest
    loaded = await blobs.load(digest)
    assert loaded.files == SOURCE.files
    assert loaded.digest == loaded.commit == digest


PATHS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)


@settings(deadline=None)
@given(st.dictionaries(PATHS, st.binary(max_size=50), max_size=5))
def test_round_trip_of_any_source(files: dict[str, bytes]) -> None:
    async def round_trip() -> None:
        blobs = unrecorded(MemoryStore())
        loaded = await blobs.load(await blobs.save(Source(files, commit="")))
        assert loaded.files == files

    asyncio.run(round_trip())


async def test_saving_again_changes_nothing(blobs: Blobs, folder: Path) -> None:
    digest = await blobs.save(SOURCE)
    (file,) = files_in(folder)
    written = file.stat()
    assert set(await asyncio.gather(*(blobs.save(SOURCE) for _ in range(20)))) == {digest}
    assert files_in(folder) == [file]
    assert (file.stat().st_mtime_ns, file.stat().st_ino) == (written.st_mtime_ns, written.st_ino)


async def test_concurrent_first_saves_make_one_object(blobs: Blobs, folder: Path) -> None:
    await asyncio.gather(*(blobs.save(SOURCE) for _ in range(20)))
    assert len(files_in(folder)) == 1
    assert (await blobs.load(SOURCE.digest)).files == SOURCE.files


async def test_large_content_is_compressed(blobs: Blobs, folder: Path) -> None:
    digest = await blobs.save(LARGE)
    (file,) = files_in(folder)
    assert file.stat().st_size < LARGE.manifest.size_bytes / 50
    assert (await blobs.load(digest)).files == LARGE.files
    assert unpack(await blobs.packed(digest), digest).files == LARGE.files


async def test_content_of_an_earlier_release_is_read(blobs: Blobs, folder: Path) -> None:
    """It was not compressed."""
    digest = await blobs.save(LARGE)
    (file,) = files_in(folder)
    file.write_bytes(zlib.decompress(file.read_bytes()))
    assert (await blobs.load(digest)).files == LARGE.files


async def test_damaged_object_cannot_exhaust_the_memory(blobs: Blobs, folder: Path) -> None:
    digest = await blobs.save(LARGE)
    (file,) = files_in(folder)
    file.write_bytes(zlib.compress(bytes(LARGEST_PACKED_BYTES + 1)))
    with pytest.raises(Unavailable) as raised:
        await blobs.load(digest)
    assert raised.value.code == "content_damaged"


async def test_content_that_cannot_be_recorded_is_not_stored(folder: Path) -> None:
    async def fail(_digest: str, _size_bytes: int) -> None:
        raise Unavailable("The database does not answer.")

    with pytest.raises(Unavailable):
        await Blobs(LocalStore(str(folder), mkdir=True), fail).save(SOURCE)
    assert files_in(folder) == []


async def test_one_file_is_read_by_its_path(blobs: Blobs) -> None:
    digest = await blobs.save(SOURCE)
    assert await blobs.read_file(digest, "a/技能.md") == b"x\ny"
    assert await blobs.read_file(digest, "empty") == b""
    for path in ("", "nope", "../SKILL.md", "a"):
        with pytest.raises(NotFound):
            await blobs.read_file(digest, path)


async def test_unknown_digest_is_not_found(blobs: Blobs) -> None:
    with pytest.raises(NotFound) as missing:
        await blobs.load(NOWHERE)
    assert missing.value.code == "content_not_found"


@pytest.mark.parametrize(
    "digest", ["sha256:../../etc/passwd", "sha256:..", "sha256:", "/etc/passwd", f"sha256:{'A' * 64}", NOWHERE + "\n"]
)
async def test_digest_cannot_leave_the_store(blobs: Blobs, digest: str) -> None:
    with pytest.raises(NotFound):
        await blobs.load(digest)


@settings(deadline=None)
@given(st.data())
def test_damaged_object_is_an_error(data: st.DataObject) -> None:
    """G46."""

    async def damage() -> None:
        blobs = unrecorded(MemoryStore())
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


@pytest.mark.parametrize("source", [SOURCE, LARGE], ids=["uncompressed", "compressed"])
async def test_flipped_bit_is_detected(blobs: Blobs, folder: Path, source: Source) -> None:
    """G46."""
    digest = await blobs.save(source)
    (file,) = files_in(folder)
    whole = file.read_bytes()
    for at in range(len(whole)):
        file.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        with pytest.raises(Unavailable) as raised:
            await blobs.load(digest)
        assert raised.value.code == "content_damaged", at


async def test_failing_store_is_unavailable(blobs: Blobs, folder: Path) -> None:
    """G9: not empty."""
    digest = await blobs.save(SOURCE)
    shutil.rmtree(folder)
    folder.write_text("a file where the folder was")
    for work in (blobs.load(digest), blobs.save(Source({"SKILL.md": b"other"}, commit=""))):
        with pytest.raises(Unavailable) as raised:
            await work
        assert raised.value.code == "blobs_unavailable"
