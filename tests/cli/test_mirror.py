"""`assay mirror`: a verified copy, that goes on where it was and believes nothing that is not proved."""

import io
import json
import signal
import subprocess
import tarfile
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from assay.cli.client import open_registry
from assay.cli.mirror.folder import Folder, Kept
from assay.cli.mirror.follow import follow_page
from assay.cli.mirror.source import Unproved, Upstream, read_keys
from assay.model.errors import Conflict
from assay.publish.withdraw import remark, unlist, withdraw
from tests.catalogue import publish
from tests.cli.live import AT_A_KEYBOARD, Live
from tests.cli.test_up import wait_for
from tests.conftest import Registry
from tests.skills import a_skill
from tests.streams import serving


async def mirrored(registry: Registry, folder: Folder, keys: dict[str, str] | None = None) -> Kept:
    """Everything that there is, over a real connection."""
    async with serving(registry.app) as url, open_registry(url) as source:
        known = folder.read_state()
        state = Kept(url, known.serial if known else 0, keys or (known.keys if known else await read_keys(source)))
        while True:
            followed = await follow_page(folder, Upstream(source, state.keys), state)
            state = followed.state
            if not followed.has_more:
                return state


def kept(folder: Folder, name: str) -> dict[str, object]:
    """What the copy has of a listing."""
    return json.loads((folder.root / "skills" / f"{name}.json").read_text())


async def test_everything_is_there_and_proved(registry: Registry, tmp_path: Path) -> None:
    """Listings, the bytes of every version, the blocklist, and the signed pages; a second run has nothing to do."""
    name = await publish(registry, "acme/tools", "Says hello.", "Says hello better.")
    folder = Folder(tmp_path / "copy")
    state = await mirrored(registry, folder)
    listing = kept(folder, name)
    archives = sorted((tmp_path / "copy" / "contents").rglob("*.tar.gz"))
    assert len(archives) == len(listing["versions"]) == 2  # type: ignore[arg-type]
    with tarfile.open(fileobj=io.BytesIO(archives[0].read_bytes())) as archive:
        assert archive.getnames() == ["greet/SKILL.md"]
    assert json.loads((folder.root / "blocklist.json").read_bytes())["count"] == 0
    assert len(list((folder.root / "feed").glob("*.json"))) == len(list((folder.root / "feed").glob("*.sig"))) >= 1
    assert (await mirrored(registry, folder)).serial == state.serial


async def test_what_is_taken_back_goes(registry: Registry, tmp_path: Path) -> None:
    """Bytes that were withdrawn are removed, and a listing that is gone says why."""
    first = await publish(registry, "acme/tools", "Says hello.", "Steals keys.")
    second = await publish(registry, "acme/other", "Says goodbye.")
    folder = Folder(tmp_path / "copy")
    await mirrored(registry, folder)
    async with registry.app.store.begin() as db:
        why = remark("withdrawn", "It steals keys.", at=registry.app.clock.now(), by="root")
        await withdraw(db, first, "1.0.1", why)
        await unlist(db, second, remark("unlisted", "On holiday.", at=registry.app.clock.now(), by="acme"))
    await mirrored(registry, folder)
    assert kept(folder, first)["skill"]["currentVersion"] == "1.0.0"  # type: ignore[index]
    assert "On holiday." in kept(folder, second)["gone"]["message"]  # type: ignore[index]
    assert len(list((folder.root / "contents").rglob("*.tar.gz"))) == 2


async def test_nothing_unproved_is_kept(registry: Registry, tmp_path: Path) -> None:
    """A key that nobody trusts, and bytes that are not those that were certified: neither moves the serial."""
    await publish(registry, "acme/tools", "Says hello.")
    folder = Folder(tmp_path / "copy")
    with pytest.raises(Unproved, match="does not know"):
        await mirrored(registry, folder, keys={"0" * 32: "no key"})
    assert folder.read_state() is None
    blobs = registry.app.settings.data_dir / "blobs"
    for file in blobs.rglob("*"):
        if file.is_file():
            file.unlink()
    other = await publish(registry, "umbrella/kit", "Says something else.")
    assert other == "umbrella/kit/greet"
    with pytest.raises(Exception, match=r"content|files|There is no"):
        await mirrored(registry, folder)
    assert folder.read_state() is None


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    """Not a mirror, not empty: nothing is written into it."""
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(Conflict, match="holds no mirror"):
        Folder(tmp_path).read_state()


@pytest.mark.parametrize("name", ["../../etc/passwd", "a/../b", "a/b/..", "x/y/\x00z"])
def test_no_name_leads_out_of_the_folder(tmp_path: Path, name: str) -> None:
    """Names come from outside."""
    folder = Folder(tmp_path / "copy")
    folder.keep_skill(name, {})
    written = list(tmp_path.rglob("*.json"))
    assert all((tmp_path / "copy" / "skills") in file.parents for file in written)
    assert len(written) == 1


def test_the_command_copies_a_registry(live: Live, tmp_path: Path) -> None:
    """With a document at the end; another registry does not fit into the same folder."""
    ran = live.assay("mirror", live.url, str(tmp_path / "copy"), "--json")
    assert ran.code == 0, ran.err
    assert ran.json["serial"] >= 0
    again = live.assay("mirror", "http://127.0.0.1:9", str(tmp_path / "copy"))
    assert (again.code, "is a copy of" in again.err) == (4, True)


def test_what_comes_later_is_followed_until_ctrl_c(live: Live, tmp_path: Path) -> None:
    """New skills come into the copy; the end is clean."""
    copy = tmp_path / "copy"
    command = [*AT_A_KEYBOARD, "mirror", live.url, str(copy), "--follow", "--every", "0.2"]
    with subprocess.Popen(command, env=live.environment, stderr=subprocess.PIPE, text=True) as following:
        wait_for((copy / "blocklist.json").exists, "a first copy")
        live.github.add_repository("later/tools", files={"SKILL.md": a_skill("greet")})
        web = live.environment["ASSAY_GITHUB_WEB_URL"]
        assert live.assay("submit", f"{web}/later/tools", "--name", "greet", "--wait").code == 0
        wait_for((copy / "skills" / "later" / "tools" / "greet.json").exists, "the new skill")
        following.send_signal(signal.SIGINT)
        _, said = following.communicate(timeout=60)
    assert following.returncode == 130
    assert "Traceback" not in said


def test_a_key_is_trusted_only_when_it_is_named(live: Live, tmp_path: Path) -> None:
    """A registry with other keys than those of the first time is not believed, until whoever runs the mirror is."""
    folder = Folder(tmp_path / "copy")
    assert live.assay("mirror", live.url, str(folder.root)).code == 0
    known = folder.read_state()
    assert known is not None
    stranger = Ed25519PrivateKey.generate().public_key()
    pem = stranger.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()
    folder.write_state(Kept(known.registry, 0, {"0" * 32: pem}))
    refused = live.assay("mirror", live.url, str(folder.root))
    assert (refused.code, "does not know" in refused.err) == (4, True), refused.err
    assert live.assay("mirror", live.url, str(folder.root), "--trust", "f" * 32).code == 3
    named = [part for key in known.keys for part in ("--trust", key)]
    assert live.assay("mirror", live.url, str(folder.root), *named).code == 0
    again = folder.read_state()
    assert again is not None
    assert again.serial == known.serial
    assert set(known.keys) < set(again.keys)
