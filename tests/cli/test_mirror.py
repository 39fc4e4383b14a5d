"""`assay mirror`: a verified copy that resumes and trusts only signed data."""

import io
import json
import signal
import subprocess
import tarfile
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from assay.cli.mirror.folder import MirrorFolder, MirrorState
from assay.cli.mirror.follow import follow_page
from assay.cli.mirror.upstream import Upstream, VerificationFailed, fetch_keys
from assay.cli.registry.client import open_registry
from assay.model.errors import Conflict
from assay.moderation.withdraw import status_reason, unlist, withdraw
from tests.support.catalogue import publish, read
from tests.support.cli.live import AT_A_KEYBOARD, Live
from tests.support.cli.scripted import ScriptedResponse, a_script
from tests.support.cli.up import wait_for
from tests.support.registry import SECRET, Registry
from tests.support.skills import a_skill
from tests.support.streams import serving

pytestmark = pytest.mark.process

LONG = "acme/tools/greet"


async def mirrored(registry: Registry, folder: MirrorFolder, keys: dict[str, str] | None = None) -> MirrorState:
    """Mirror everything over a real connection."""
    async with serving(registry.app) as url, open_registry(url) as source:
        known = folder.read_state()
        state = MirrorState(
            url, known.serial if known else 0, keys or (known.keys if known else await fetch_keys(source))
        )
        while True:
            followed = await follow_page(folder, Upstream(source, state.keys), state)
            state = followed.state
            if not followed.has_more:
                return state


def kept(folder: MirrorFolder, name: str) -> dict[str, object]:
    """Return the mirrored listing."""
    return json.loads((folder.root / "skills" / f"{name}.json").read_text())


def archives_of(folder: MirrorFolder) -> list[Path]:
    """Return the mirrored contents."""
    return sorted((folder.root / "contents").rglob("*.tar.gz"))


async def test_mirror_is_complete_and_verified(registry: Registry, tmp_path: Path) -> None:
    """Listings, every version, the blocklist and signed pages; a second run does nothing."""
    name = await publish(registry, "acme/tools", "Says hello.", "Says hello better.")
    folder = MirrorFolder(tmp_path / "copy")
    state = await mirrored(registry, folder)
    listing = kept(folder, name)
    archives = archives_of(folder)
    assert len(archives) == len(listing["versions"]) == 2  # type: ignore[arg-type]
    with tarfile.open(fileobj=io.BytesIO(archives[0].read_bytes())) as archive:
        assert archive.getnames() == ["greet/SKILL.md"]
    assert json.loads((folder.root / "blocklist.json").read_bytes())["count"] == 0
    assert len(list((folder.root / "feed").glob("*.json"))) == len(list((folder.root / "feed").glob("*.sig"))) >= 1
    assert (await mirrored(registry, folder)).serial == state.serial


async def test_withdrawn_content_is_removed(registry: Registry, tmp_path: Path) -> None:
    """A removed listing keeps its reason."""
    first = await publish(registry, "acme/tools", "Says hello.", "Steals keys.")
    second = await publish(registry, "acme/other", "Says goodbye.")
    folder = MirrorFolder(tmp_path / "copy")
    await mirrored(registry, folder)
    async with registry.app.store.begin() as db:
        why = status_reason("withdrawn", "It steals keys.", at=registry.app.clock.now(), by="root")
        await withdraw(db, first, "1.0.1", why)
        await unlist(db, second, status_reason("unlisted", "On holiday.", at=registry.app.clock.now(), by="acme"))
    await mirrored(registry, folder)
    assert kept(folder, first)["skill"]["currentVersion"] == "1.0.0"  # type: ignore[index]
    assert "On holiday." in kept(folder, second)["gone"]["message"]  # type: ignore[index]
    assert len(archives_of(folder)) == 2


async def test_blocked_content_is_removed(registry: Registry, tmp_path: Path) -> None:
    """G56: blocked by source or by digest."""
    name = await publish(registry, "acme/tools", "Says hello.")
    await publish(registry, "acme/other", "Says goodbye.")
    digest = (await read(registry, name))["versions"][0]["contentDigest"]
    folder = MirrorFolder(tmp_path / "copy")
    await mirrored(registry, folder)
    assert len(archives_of(folder)) == 2
    for what in ({"contentDigest": digest}, {"repository": "acme/other"}):
        body = {**what, "threatType": "malware", "severity": "critical", "reason": "It steals keys."}
        answer = await registry.client.post("/api/v1/admin/blocklist", json=body, headers={"X-Internal-Key": SECRET})
        assert answer.status_code == 200, answer.text
    await mirrored(registry, folder)
    assert archives_of(folder) == []
    assert json.loads((folder.root / "blocklist.json").read_bytes())["count"] == 2


async def test_content_shared_with_another_listing_stays(registry: Registry, tmp_path: Path) -> None:
    """Until it is withdrawn there too."""
    names = [await publish(registry, repository, "Says hello.") for repository in ("acme/tools", "umbrella/fork")]
    folder = MirrorFolder(tmp_path / "copy")
    for name, left in zip(names, (1, 0), strict=True):
        await mirrored(registry, folder)
        assert len(archives_of(folder)) == 1
        async with registry.app.store.begin() as db:
            why = status_reason("withdrawn", "It is not ours.", at=registry.app.clock.now(), by="root")
            await withdraw(db, name, "1.0.0", why)
        await mirrored(registry, folder)
        assert len(archives_of(folder)) == left


async def test_listing_with_many_versions_is_mirrored_completely() -> None:
    """By following pages."""
    entries = [{"version": f"1.0.{number}"} for number in reversed(range(130))]
    with a_script() as script:
        script.answers(
            "GET /api/v1/skills/acme/tools/greet",
            ScriptedResponse({"skill": {"name": LONG}, "versions": entries[:100]}),
        )
        pages = [{"versions": entries[:100], "nextCursor": "a+b"}, {"versions": entries[100:], "nextCursor": None}]
        script.answers("GET /api/v1/skills/acme/tools/greet/versions", *map(ScriptedResponse, pages))
        async with open_registry(script.url) as source:
            listing = await Upstream(source, {}).skill(LONG)
        assert script.asked[-1].query == {"cursor": ["a+b"]}
    assert listing["versions"] == entries


async def test_unverified_data_is_rejected(registry: Registry, tmp_path: Path) -> None:
    """An untrusted key or changed bytes do not advance the serial."""
    await publish(registry, "acme/tools", "Says hello.")
    folder = MirrorFolder(tmp_path / "copy")
    with pytest.raises(VerificationFailed, match="does not trust"):
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


def test_foreign_folder_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(Conflict, match="is not a mirror"):
        MirrorFolder(tmp_path).read_state()


@pytest.mark.parametrize("name", ["../../etc/passwd", "a/../b", "a/b/..", "x/y/\x00z"])
def test_names_cannot_leave_the_folder(tmp_path: Path, name: str) -> None:
    folder = MirrorFolder(tmp_path / "copy")
    folder.save_skill(name, {})
    written = list(tmp_path.rglob("*.json"))
    assert all((tmp_path / "copy" / "skills") in file.parents for file in written)
    assert len(written) == 1


def test_mirror_command(live: Live, tmp_path: Path) -> None:
    """Ends with a JSON document; another registry is rejected for the same folder."""
    ran = live.assay("mirror", live.url, str(tmp_path / "copy"), "--json")
    assert ran.code == 0, ran.err
    assert ran.json["serial"] >= 0
    again = live.assay("mirror", "http://127.0.0.1:9", str(tmp_path / "copy"))
    assert (again.code, "is a copy of" in again.err) == (4, True)


def test_mirror_follows_until_interrupted(live: Live, tmp_path: Path) -> None:
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


def test_changed_keys_must_be_trusted_explicitly(live: Live, tmp_path: Path) -> None:
    folder = MirrorFolder(tmp_path / "copy")
    assert live.assay("mirror", live.url, str(folder.root)).code == 0
    known = folder.read_state()
    assert known is not None
    stranger = Ed25519PrivateKey.generate().public_key()
    pem = stranger.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()
    folder.write_state(MirrorState(known.registry, 0, {"0" * 32: pem}))
    refused = live.assay("mirror", live.url, str(folder.root))
    assert (refused.code, "does not trust" in refused.err) == (4, True), refused.err
    assert live.assay("mirror", live.url, str(folder.root), "--trust", "f" * 32).code == 3
    named = [part for key in known.keys for part in ("--trust", key)]
    assert live.assay("mirror", live.url, str(folder.root), *named).code == 0
    again = folder.read_state()
    assert again is not None
    assert again.serial == known.serial
    assert set(known.keys) < set(again.keys)
