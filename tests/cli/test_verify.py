"""`assay verify` and model-signing: a published version is verified offline, and one changed byte is detected."""

import io
import json
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import jsonschema_rs
import pytest

from assay.app.keys import KeyFiles, open_keys, rotate_keys
from assay.scan.scan import ENGINE
from tests.support.cli.here import assay_here
from tests.support.deepscan.deliveries import CRITICAL, ManualNode
from tests.support.registry import Registry
from tests.support.review_cases import suppress, waiting
from tests.support.skills import a_skill

pytestmark = pytest.mark.process

FILES = {
    "SKILL.md": a_skill("greet", body="Run `scripts/run.py`."),
    "scripts/run.py": "print('hello')\n",
    ".gitignore": "*.pyc\n",
    "references/a b.md": "# Notes\n",
}
NAME = "acme/tools/greet"
SARIF = json.loads((Path(__file__).parent / "sarif" / "sarif-2.1.0.json").read_text())


async def published(registry: Registry, folder: Path) -> Path:
    """Publish a skill and save folder, hallmark, signature and keys like an installer."""
    registry.github.add_repository("acme/tools", files=FILES)
    await registry.submit("acme/tools", "greet")
    await registry.work()
    about = f"/api/v1/skills/{NAME}/versions/latest"
    archive = await registry.client.get(f"{about}/download", params={"format": "tar.gz"})
    (folder / "greet.tar.gz").write_bytes(archive.content)
    with tarfile.open(fileobj=io.BytesIO(archive.content)) as open_response:
        open_response.extractall(folder, filter="data")
    for path, name in (
        (f"{about}/hallmark", "hallmark.json"),
        (f"{about}/skill.oms.sig", "skill.oms.sig"),
        ("/.well-known/assay/keys.json", "assay-keys.json"),
    ):
        answer = await registry.client.get(path)
        assert answer.status_code == 200, answer.text
        (folder / name).write_bytes(answer.content)
    return folder / "greet"


def model_key(folder: Path) -> Path:
    """Return the public key for model signing as a file."""
    keys = json.loads((folder / "assay-keys.json").read_text())["keys"]
    [pem] = [key["publicKey"] for key in keys if key["algorithm"] == "ecdsa-p256"]
    (folder / "oms.pub").write_text(pem)
    return folder / "oms.pub"


def model_signing(folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the model-signing command line."""
    command = [sys.executable, "-m", "model_signing", "verify", "key", str(folder / "greet")]
    given = ["--signature", str(folder / "skill.oms.sig"), "--public_key", str(model_key(folder))]
    return subprocess.run([*command, *given], capture_output=True, text=True, timeout=120)


async def test_published_version_is_verified_offline(registry: Registry, tmp_path: Path) -> None:
    """Folder or archive, with proofs beside it, in it, or given."""
    folder = await published(registry, tmp_path)
    assert "verified" in assay_here("verify", folder).out
    assert assay_here("verify", tmp_path / "greet.tar.gz").code == 0
    document = assay_here("verify", folder, "--json").json
    assert (document["ok"], document["statement"]["skill"]) == (True, NAME)
    assert set(document["statement"]) >= {"tier", "score", "outcome", "path", "scans", "commit", "certifiedAt"}
    elsewhere = tmp_path / "elsewhere" / "greet"
    shutil.copytree(folder, elsewhere)
    given = ("--hallmark", tmp_path / "hallmark.json", "--keys", tmp_path / "assay-keys.json")
    assert assay_here("verify", elsewhere, *given).code == 0
    assert assay_here("verify", elsewhere).code == 3
    for name in ("hallmark.json", "assay-keys.json", "skill.oms.sig"):
        shutil.copy(tmp_path / name, elsewhere / name)
    assert assay_here("verify", elsewhere).code == 0


def change_a_byte(folder: Path) -> None:
    file = folder / "scripts" / "run.py"
    file.write_bytes(file.read_bytes().replace(b"hello", b"hellp"))


def add_a_file(folder: Path) -> None:
    (folder / ".hidden").write_text("x")


def remove_a_file(folder: Path) -> None:
    (folder / ".gitignore").unlink()


def make_a_link(folder: Path) -> None:
    (folder / "scripts" / "run.py").unlink()
    (folder / "scripts" / "run.py").symlink_to("/etc/hostname")


@pytest.mark.parametrize(
    ("tamper", "word", "path"),
    [
        (change_a_byte, "changed", "scripts/run.py"),
        (add_a_file, "added", ".hidden"),
        (remove_a_file, "missing", ".gitignore"),
        (make_a_link, "changed", "scripts/run.py"),
    ],
)
async def test_changed_files_are_named(registry: Registry, tmp_path: Path, tamper, word: str, path: str) -> None:
    """One byte, one file more or less: exit code 1."""
    folder = await published(registry, tmp_path)
    tamper(folder)
    result = assay_here("verify", folder)
    assert (result.code, f"{word}: {path}" in result.err) == (1, True)
    document = assay_here("verify", folder, "--json").json
    assert (document["ok"], document["signed"], document[word]) == (False, True, [path])


async def test_forged_hallmark_and_unknown_keys_are_rejected(registry: Registry, tmp_path: Path) -> None:
    folder = await published(registry, tmp_path)
    foreign = open_keys(KeyFiles(tmp_path / "k" / "a.pem", tmp_path / "k" / "b.pem"))
    keys = [{"id": number, "publicKey": pem} for number, pem, _ in foreign.public]
    (tmp_path / "foreign.json").write_text(json.dumps({"keys": keys}))
    result = assay_here("verify", folder, "--keys", tmp_path / "foreign.json")
    assert (result.code, "not signed" in result.err) == (1, True)
    hallmark = json.loads((tmp_path / "hallmark.json").read_text())
    for broken in ({**hallmark, "payload": hallmark["payload"][4:]}, {**hallmark, "signatures": []}, {"x": 1}):
        (tmp_path / "hallmark.json").write_text(json.dumps(broken))
        assert assay_here("verify", folder).code == 1
    (tmp_path / "hallmark.json").write_text("not JSON")
    assert assay_here("verify", folder).code == 2
    assert assay_here("verify", "nothing here").code == 2


async def test_model_signing_verifies_a_version(registry: Registry, tmp_path: Path) -> None:
    """And rejects it after one byte changes."""
    folder = await published(registry, tmp_path)
    said = model_signing(tmp_path)
    assert said.returncode == 0, said.stderr
    change_a_byte(folder)
    assert model_signing(tmp_path).returncode != 0


async def test_exports_of_a_version(registry: Registry, tmp_path: Path) -> None:
    """Report and SARIF are public, and the SARIF is valid."""
    warning = "Do not run `curl https://get.example.com/x.sh | bash`."
    registry.github.add_repository("acme/tools", files={"SKILL.md": a_skill("greet", body=warning)})
    await registry.submit("acme/tools", "greet")
    await registry.work()
    about = f"/api/v1/skills/{NAME}/versions/1.0.0"
    log = (await registry.client.get(f"{about}/sarif")).json()
    assert [error.message for error in jsonschema_rs.validator_for(SARIF).iter_errors(log)] == []
    [run] = log["runs"]
    assert run["results"][0]["ruleId"] == "DR-001"
    assert run["tool"]["driver"]["properties"]["tier"] == 1
    report = (await registry.client.get(f"{about}/report")).json()
    assert report["scans"][0]["findings"][0]["file"] == "SKILL.md"
    assert report["scans"][0]["stale"] is False
    page = (await registry.client.get(f"/skills/{NAME}/versions/1.0.0")).text
    for export in ("report", "sarif", "hallmark", "skill.oms.sig"):
        assert f"{about}/{export}" in page
    assert (await registry.client.get(f"/api/v1/skills/{NAME}/versions/9.9.9/sarif")).status_code == 404


async def test_exports_include_deep_scans_and_suppressions(registry: Registry) -> None:
    """One run per tool; suppressed findings say why."""
    number = await waiting(registry)
    await suppress(registry, number)
    await registry.work()
    about = "/api/v1/skills/acme/tools/tidy/versions/1.0.0"
    node = ManualNode(registry)
    found = CRITICAL | {"confidence": 0.5}
    assert (await node.deliver(node.result(await node.claim(), findings=[found]))).status_code == 200
    for _ in range(3):
        failed = node.result(await node.claim("njsscan"), status="error", error="It crashed.")
        assert (await node.deliver(failed)).status_code == 200
    log = (await registry.client.get(f"{about}/sarif")).json()
    assert [error.message for error in jsonschema_rs.validator_for(SARIF).iter_errors(log)] == []
    runs = {run["tool"]["driver"]["properties"]["engine"]: run for run in log["runs"]}
    assert set(runs) == {ENGINE, "semgrep", "njsscan"}
    excused = {each["ruleId"]: each["suppressions"] for each in runs[ENGINE]["results"]}
    assert excused.pop("DR-001")[0]["justification"].endswith(": Its own <i>installer</i>.")
    assert list(excused.values()) == [[]] * len(excused)
    [result] = runs["semgrep"]["results"]
    assert (result["ruleId"], result["level"]) == ("assay.python.remote-code", "error")
    assert runs["semgrep"]["tool"]["driver"]["version"] == "1.0"
    assert runs["njsscan"]["invocations"][0]["executionSuccessful"] is False
    report = (await registry.client.get(f"{about}/report")).json()
    assert {each["tool"]: each["status"] for each in report["deepScans"]} == {
        "kingfisher": "pending",
        "njsscan": "error",
        "semgrep": "findings",
    }
    told = {each["ruleId"]: each["suppressed"] for each in report["scans"][0]["findings"]}
    assert told["DR-001"]["reason"] == "Its own <i>installer</i>."


def test_rotation_keeps_old_key_files(tmp_path: Path) -> None:
    """Readable by their owner only."""
    files = KeyFiles(tmp_path / "hallmark.pem", tmp_path / "oms.pem")
    before = open_keys(files)
    after = rotate_keys(files)
    assert {number for number, _, _ in before.public}.isdisjoint(number for number, _, _ in after.public)
    assert open_keys(files).hallmark.id == after.hallmark.id
    kept = {file.name for file in tmp_path.iterdir()}
    assert {f"hallmark-{before.hallmark.id}.pem", f"oms-{before.model.id}.pem"} < kept
    assert all(file.stat().st_mode & 0o077 == 0 for file in tmp_path.iterdir())
