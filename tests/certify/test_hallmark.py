"""The hallmark: verifiable, and broken by one changed byte."""

import base64
import copy
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.app.keys import open_signing_key
from assay.certify.certify import STEPS, tier_of, trust_of
from assay.certify.hallmark import open_hallmark, sign_hallmark
from assay.model.skill import Tier
from assay.model.source import Source

SOURCE = Source({"SKILL.md": b"hello", "scripts/run.py": b"print()"}, commit="0" * 40)


def test_statement_names_content_and_files(tmp_path: Path) -> None:
    """in-toto in a DSSE envelope."""
    key = open_signing_key(tmp_path / "key.pem")
    envelope = sign_hallmark(SOURCE.manifest, {"score": 90}, key)
    statement = open_hallmark(envelope, {key.id: key.public_pem})
    assert statement is not None
    assert statement["_type"] == "https://in-toto.io/Statement/v1"
    assert envelope["payloadType"] == "application/vnd.in-toto+json"
    assert [each["name"] for each in statement["subject"]] == ["content", "SKILL.md", "scripts/run.py"]
    assert f"sha256:{statement['subject'][0]['digest']['sha256']}" == SOURCE.digest
    assert statement["predicate"] == {"score": 90}


def test_changed_payload_or_unknown_key_is_rejected(tmp_path: Path) -> None:
    key, other = open_signing_key(tmp_path / "key.pem"), open_signing_key(tmp_path / "other.pem")
    envelope = sign_hallmark(SOURCE.manifest, {"score": 10}, key)
    forged = copy.deepcopy(envelope)
    statement = msgspec.json.decode(base64.b64decode(forged["payload"]))
    statement["predicate"]["score"] = 100
    forged["payload"] = base64.b64encode(msgspec.json.encode(statement)).decode()
    assert open_hallmark(forged, {key.id: key.public_pem}) is None
    assert open_hallmark(envelope, {key.id: other.public_pem}) is None
    assert open_hallmark(envelope, {}) is None


def test_key_is_created_once_and_private(tmp_path: Path) -> None:
    file = tmp_path / "keys" / "key.pem"
    assert open_signing_key(file).id == open_signing_key(file).id
    assert file.stat().st_mode & 0o077 == 0
    assert "PRIVATE" not in repr(open_signing_key(file))


@given(st.dictionaries(st.text(min_size=1, max_size=20), st.binary(max_size=50), min_size=1, max_size=5), st.data())
def test_digest_depends_on_every_byte_and_path(files: dict[str, bytes], data: st.DataObject) -> None:
    """G46: not on their order."""
    source = Source(files, commit="")
    assert Source(dict(reversed(files.items())), commit="other").digest == source.digest
    path = data.draw(st.sampled_from(sorted(files)))
    assert Source({**files, path: files[path] + b"x"}, commit="").digest != source.digest
    assert Source({**files, path + "x": b""}, commit="").digest != source.digest


@pytest.mark.parametrize(
    ("tiers", "reviewed", "tier"),
    [({1}, False, Tier.SCANNED), ({1, 2}, False, Tier.VERIFIED), ({1}, True, Tier.CERTIFIED)],
)
def test_tier_follows_the_checks(tiers: set[int], reviewed: bool, tier: Tier) -> None:
    """G45."""
    assert tier_of(frozenset(tiers), reviewed=reviewed) is tier


def test_trust_is_monotone_in_score_and_tier() -> None:
    """G45."""
    reached = set()
    for tier in Tier:
        scores = [trust_of(tier, score) for score in range(101)]
        assert scores == sorted(scores, key=lambda each: each[0])
        reached |= {trust for _, trust in scores}
    assert reached == {trust for _, trust in STEPS}
    assert trust_of(Tier.SCANNED, 100) < trust_of(Tier.VERIFIED, 100) < trust_of(Tier.CERTIFIED, 100)
