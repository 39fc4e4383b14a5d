"""The scan results webhook: signed, once, for dispatched scans only."""

import json
from collections.abc import AsyncIterator
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import text

from assay.deepscan.messages import LARGEST_RESULT_BYTES
from assay.deepscan.signature import SIGNATURE_HEADER, TIMESTAMP_HEADER, sign
from assay.model.errors import Invalid
from assay.settings import Settings
from tests.support.deepscan.deliveries import CRITICAL, ManualNode, list_pending, publish, send
from tests.support.registry import SECRET, Registry
from tests.support.web.people import a_browser, audit_of, with_settings

pytestmark = pytest.mark.process

OTHER = "another-secret-that-is-long-enough-too"


@pytest.fixture
async def work(registry: Registry) -> AsyncIterator[tuple[ManualNode, dict[str, Any]]]:
    """Return a node that has claimed one scan."""
    await publish(registry)
    node = ManualNode(registry)
    yield node, await node.claim()


async def status_of(registry: Registry, tool: str = "semgrep") -> str:
    """Return the status of the scan."""
    served = (await registry.client.get("/api/v1/skills/acme/tools/greet")).json()
    return next(scan["status"] for scan in served["deepScans"] if scan["tool"] == tool)


async def test_result_is_stored_and_shown(registry: Registry, work: tuple[ManualNode, dict[str, Any]]) -> None:
    """G47: in version JSON, security summary and page."""
    node, taken = work
    found = CRITICAL | {"severity": "high", "excerpt": "<script>alert(1)</script>", "file": "<b>.py"}
    answer = await node.deliver(node.result(taken, findings=[found], sandbox={"landlock": "not here"}))
    assert (answer.status_code, answer.json()) == (
        200,
        {"ok": True, "status": "findings", "alreadyKnown": False, "withdrawn": []},
    )
    version = (await registry.client.get("/api/v1/skills/acme/tools/greet/versions/1.0.0")).json()
    by_tool = {scan["tool"]: scan for scan in version["deepScans"]}
    assert {tool: scan["status"] for tool, scan in by_tool.items()} == {
        "kingfisher": "pending",
        "njsscan": "pending",
        "semgrep": "findings",
    }
    assert by_tool["semgrep"]["findings"][0]["ruleId"] == "assay.python.remote-code"
    assert by_tool["semgrep"]["sandbox"] == {"landlock": "not here"}
    security = (await registry.client.get("/api/v1/skills/acme/tools/greet/security")).json()
    told = {each["provider"]: each["status"] for each in security["providers"]}
    assert (told["tier 3: semgrep"], told["tier 3: njsscan"]) == ("PASS", "PENDING")
    for page in ("/skills/acme/tools/greet", "/skills/acme/tools/greet/versions/1.0.0"):
        html = (await registry.client.get(page, headers={"Accept": "text/html"})).text
        assert "Deep scans" in html
        assert "&lt;script&gt;" in html
        assert "<script>alert" not in html
        assert html.count("has not scanned this version yet") == 2
        assert "found nothing" not in html


async def test_signature_must_be_valid_and_fresh(registry: Registry, work: tuple[ManualNode, dict[str, Any]]) -> None:
    """G83: otherwise 401, and audited."""
    node, taken = work
    body = json.dumps(node.result(taken)).encode()
    good = sign(SECRET, body, registry.app.clock.now())
    attempts = [
        (body, {}, "unsigned"),
        (body, {TIMESTAMP_HEADER: good[TIMESTAMP_HEADER]}, "unsigned"),
        (body, good | {TIMESTAMP_HEADER: "soon"}, "unsigned"),
        (body, sign(OTHER, body, registry.app.clock.now()), "bad_signature"),
        (body + b" ", good, "bad_signature"),
        (body, good | {TIMESTAMP_HEADER: str(int(good[TIMESTAMP_HEADER]) + 1)}, "bad_signature"),
        (body, good | {SIGNATURE_HEADER: good[SIGNATURE_HEADER].removeprefix("sha256=")}, "bad_signature"),
        (b"not json", {}, "unsigned"),
    ]
    for sent, headers, code in attempts:
        answer = await send(registry, sent, headers)
        assert (answer.status_code, answer.json()["code"]) == (401, code)
    for ahead in (-301, 301):
        answer = await node.deliver(node.result(taken), ahead=ahead)
        assert (answer.status_code, answer.json()["code"]) == (401, "stale_signature")
    assert await status_of(registry) == "running"
    assert len(await audit_of(registry.app, "webhook_refused")) == len(attempts) + 2
    assert (await node.deliver(node.result(taken), ahead=-290)).status_code == 200


async def test_delivery_is_accepted_once(registry: Registry, work: tuple[ManualNode, dict[str, Any]]) -> None:
    """G83: a repeat is 409."""
    node, taken = work
    result = node.result(taken)
    assert (await node.deliver(result)).status_code == 200
    again = await node.deliver(result)
    assert (again.status_code, again.json()["code"]) == (409, "delivery_replayed")
    other = await node.deliver(node.result(taken, findings=[CRITICAL]))
    assert (other.status_code, other.json()["alreadyKnown"]) == (200, True)
    assert await status_of(registry) == "clean"
    assert [event[2] for event in await audit_of(registry.app, "webhook_refused")] == [result["scanId"]]


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ({"scanId": str(uuid4())}, "scan_not_dispatched"),
        ({"contentDigest": "sha256:" + "0" * 64}, "result_does_not_match"),
        ({"commit": "0" * 40}, "result_does_not_match"),
        ({"tool": "njsscan"}, "result_does_not_match"),
        ({"nodeId": str(uuid4())}, "lease_lost"),
        ({"lease": str(uuid4())}, "lease_lost"),
    ],
    ids=["scan", "digest", "commit", "tool", "node", "lease"],
)
async def test_result_must_match_a_dispatched_scan(
    registry: Registry, work: tuple[ManualNode, dict[str, Any]], said: dict[str, str], code: str
) -> None:
    """G83."""
    node, taken = work
    answer = await node.deliver(node.result(taken, findings=[CRITICAL]) | said)
    assert (answer.status_code, answer.json()["code"]) == (409, code)
    assert await status_of(registry) == "running"
    assert len(await audit_of(registry.app, "webhook_refused")) == 1
    assert (await registry.client.get("/api/v1/skills/acme/tools/greet")).status_code == 200


async def test_failed_tool_is_retried_and_never_a_pass(registry: Registry) -> None:
    """G43: three times."""
    await publish(registry)
    node = ManualNode(registry)
    for expected in ("pending", "pending", "error"):
        answer = await node.deliver(node.result(await node.claim(), status="error", error="It crashed."))
        assert answer.json()["status"] == expected
    assert (await status_of(registry), await list_pending(registry)) == ("error", [])


async def test_oversized_result_is_rejected(registry: Registry, work: tuple[ManualNode, dict[str, Any]]) -> None:
    node, taken = work
    large = await node.deliver(b"x" * (LARGEST_RESULT_BYTES + 1))
    assert large.status_code == 413
    many = await node.deliver(node.result(taken, findings=[CRITICAL] * 101))
    assert many.status_code == 400
    assert await status_of(registry) == "running"


async def test_webhook_without_a_secret_is_disabled(
    registry: Registry, work: tuple[ManualNode, dict[str, Any]]
) -> None:
    """G83."""
    node, taken = work
    with pytest.raises(Invalid, match="ASSAY_WEBHOOK_SECRET"):
        Settings.from_mapping(
            {"ASSAY_DATABASE_URL": "postgresql://h/d", "ASSAY_INTERNAL_KEY": SECRET, "ASSAY_JWT_SECRET": SECRET}
        )
    async with a_browser(with_settings(registry.app, webhook_secret=None)) as client:
        body = json.dumps(node.result(taken)).encode()
        answer = await client.post(
            "/api/v1/webhooks/scan-results",
            content=body,
            headers={"Accept": "*/*", "Content-Type": "application/json", **sign("", body, registry.app.clock.now())},
        )
    assert answer.status_code == 503


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20) | st.just("a\0b"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=5,
)
GIVEN_OUT_AGAIN = text(
    """
    UPDATE deep_scan SET status = 'running', attempts = 1, tool_version = NULL, finished_at = NULL, error = NULL,
        node_id = :nodeId, lease = :lease, lease_expires_at = now()
    WHERE id = :scan
    """
)
FIELDS = ("deliveryId", "scanId", "nodeId", "lease", "tool", "toolVersion", "contentDigest", "commit", "status")
MORE = ("findings", "leftOut", "error", "durationMs", "sandbox", "surprise")


async def test_any_signed_body_gets_a_documented_response(
    registry: Registry, work: tuple[ManualNode, dict[str, Any]]
) -> None:
    """G83: each body is tried on an open scan, so it is read completely."""
    node, taken = work
    harmless = CRITICAL | {"confidence": 0.5}
    bodies: list[bytes] = [
        json.dumps(node.result(taken, **said)).encode()
        for said in (
            {"toolVersion": "1\0"},
            {"sandbox": {"landlock": "\0"}},
            {"sandbox": {"\0": "refused"}},
            {"findings": [harmless | {"file": "a\0b"}]},
            {"findings": [harmless | {"message": "a\0b"}]},
        )
    ]

    @settings(max_examples=60, database=None, suppress_health_check=list(HealthCheck))
    @given(st.binary(max_size=60) | st.dictionaries(st.sampled_from(FIELDS + MORE), JSON, max_size=4), st.booleans())
    def collect(change: bytes | dict[str, object], nested: bool) -> None:
        if isinstance(change, bytes):
            bodies.append(change)
        elif nested:
            bodies.append(json.dumps(node.result(taken, findings=[harmless | change])).encode())
        else:
            bodies.append(json.dumps(node.result(taken) | change).encode())

    collect()
    for body in bodies:
        answer = await node.deliver(body)
        assert answer.status_code in (200, 400, 409), (body, answer.text)
        if answer.status_code == 200:
            assert answer.json()["status"] in ("clean", "findings", "not_applicable", "pending", "error")
            assert answer.json()["alreadyKnown"] is False
            async with registry.app.store.begin() as db:
                await db.execute(GIVEN_OUT_AGAIN, taken | {"scan": taken["scans"][0]["scanId"]})
    assert (await registry.client.get("/healthz")).status_code == 200
