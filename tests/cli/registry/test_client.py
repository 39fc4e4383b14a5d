"""The command line against a registry that is old, failing or hostile."""

import json
import re

import pytest

from tests.support.cli.live import Ran, assay, without_settings
from tests.support.cli.output import one_line
from tests.support.cli.responses import (
    EARLIER,
    ID,
    LATER,
    MOMENT,
    a_detail,
    a_page,
    a_submission,
    an_acceptance,
    some_stats,
)
from tests.support.cli.scripted import Script, ScriptedResponse, a_problem
from tests.support.registry import SECRET

pytestmark = pytest.mark.process

SUBMIT, SUBMISSIONS, ONE = "POST /api/v1/submissions", "GET /api/v1/submissions", f"GET /api/v1/submissions/{ID}"
STREAM = "GET /api/v1/submissions/stream"
PAUSE = "/api/v1/admin/queue/pause"
HOSTILE = "\x1b]0;owned\x07\x1b[2J[bold red]x[/]\n\rassay: all is well\u202egpj.\u200b"
HARMLESS = r"\x1b]0;owned\x07\x1b[2J[bold red]x[/]\n\rassay: all is well\u202egpj.\u200b"


def call(script: Script, *arguments: str, **variables: str) -> Ran:
    """Run a command against the script."""
    return assay(*arguments, "--url", script.url, environment=without_settings(**variables))


def events(*data: dict[str, object]) -> ScriptedResponse:
    """Return a stream that opens, sends this, and disconnects."""
    changes = "".join(f"event: state_changed\nid: 2\ndata: {json.dumps(each)}\n\n" for each in data)
    return ScriptedResponse(f"retry: 2000\nid: 1\n\n{changes}", headers={"Content-Type": "text/event-stream"})


def a_change(state: str, at: str = LATER) -> dict[str, object]:
    """Return a state change as the stream sends it."""
    return {"submissionId": ID, "skillName": "pdf", "state": state, "at": at}


def test_stale_stream_event_does_not_end_the_wait(script: Script) -> None:
    """The stream may still report how an earlier cycle ended; only the current state counts."""
    script.answers(SUBMIT, ScriptedResponse(an_acceptance()))
    waiting, done = ScriptedResponse(a_detail("RECEIVED")), ScriptedResponse(a_detail("TIER1_FAILED"))
    old = [a_change("TIER1_SCANNING", at=EARLIER), a_change("PUBLISHED", at=EARLIER)]
    script.answers(STREAM, events(*old, a_change("TIER1_SCANNING"), a_change("TIER1_FAILED")))
    script.answers(ONE, waiting, waiting, waiting, done)
    ran = call(script, "submit", "acme/tools", "--wait", "--timeout", "30")
    assert ran.code == 1, ran.out + ran.err
    assert [line for line in ran.err.splitlines() if line.startswith("pdf")] == [
        "pdf RECEIVED",
        "pdf TIER1_SCANNING",
        "pdf TIER1_FAILED",
    ]


def test_without_wait_only_the_admission_is_reported(script: Script) -> None:
    """The exit code does not depend on how fast a worker is."""
    script.answers(SUBMIT, ScriptedResponse(an_acceptance(), status=201))
    script.answers(ONE, ScriptedResponse(a_detail("TIER1_FAILED")))
    ran = call(script, "submit", "acme/tools")
    assert (ran.code, ran.out.split()[:2]) == (0, ["created", "RECEIVED"])


def test_registry_without_a_stream_is_polled(script: Script) -> None:
    """Until the submission is decided, despite errors; FAILED has its own exit code."""
    script.answers(SUBMIT, ScriptedResponse(an_acceptance(), status=201))
    reason = {"code": "github_unavailable", "message": "GitHub does not answer.", "nextStep": "Submit it again."}
    failed = ScriptedResponse(a_detail("FAILED", reason=reason))
    trouble = a_problem(500, "internal_error", "Assay failed.")
    script.answers(
        ONE, ScriptedResponse(a_detail("RECEIVED")), ScriptedResponse(a_detail("TIER1_SCANNING")), trouble, failed
    )
    ran = call(script, "submit", "acme/tools", "--wait", "--timeout", "30")
    assert (ran.code, "GitHub does not answer. Submit it again." in ran.out) == (7, True), ran.out
    assert len(script.asked_for("/api/v1/submissions/stream")) >= 1


def test_503_is_retried_after_retry_after(script: Script) -> None:
    """The reason is printed once."""
    busy = a_problem(503, "unavailable", "The database does not answer.", Retry_After="0")
    script.answers(ONE, busy, busy, busy, ScriptedResponse(a_detail("PUBLISHED")))
    ran = call(script, "queue", "show", ID)
    assert (ran.code, ran.out.startswith("pdf of acme/tools")) == (0, True)
    assert ran.err == "The database does not answer. Retrying in 0 s.\n"


@pytest.mark.parametrize(("retry_after", "asked"), [("0", 4), ("3600", 1), ("soon", 1)])
def test_repeated_503_is_reported(script: Script, retry_after: str, asked: int) -> None:
    """After a few retries: exit code 5 with the registry's message."""
    busy = a_problem(503, "rate_limited", "GitHub's budget is spent.", Retry_After=retry_after)
    script.answers(ONE, busy)
    ran = call(script, "queue", "show", ID, "--json")
    assert (ran.code, ran.out, len(script.asked)) == (5, "", asked)
    assert ran.err.endswith("assay: GitHub's budget is spent.\n")


@pytest.mark.parametrize(
    ("answer", "code", "said"),
    [
        (a_problem(400, "bad_filter", "state: no such state."), 2, "state: no such state."),
        (a_problem(404, "not_found", "There is no such submission."), 3, "There is no such submission."),
        (a_problem(403, "forbidden", "This is for administrators only."), 4, "This is for administrators only."),
        (a_problem(409, "conflict", "It has changed."), 4, "It has changed."),
        (a_problem(429, "too_many_attempts", "Slower.", Retry_After="1"), 5, "Slower."),
        (a_problem(500, "internal_error", "Assay failed."), 5, "Assay failed."),
        (ScriptedResponse("<html>", 502), 5, "The server at {url} does not respond like an Assay registry."),
        (ScriptedResponse("<html>"), 5, "The server at {url} does not respond like an Assay registry."),
        (ScriptedResponse([1]), 5, "The server at {url} does not respond like an Assay registry."),
        (
            ScriptedResponse("", 302, {"Location": "http://b.example/"}),
            5,
            "{url} redirects to http://b.example/: use that URL instead.",
        ),
        (ScriptedResponse({"id": 1}), 5, "The registry's response has an unknown format. "),
        (a_problem(404, "x", HOSTILE), 3, HARMLESS),
    ],
)
def test_every_refusal_is_one_line_and_an_exit_code(
    script: Script, answer: ScriptedResponse, code: int, said: str
) -> None:
    """The registry's message on one line; no traceback, no redirect followed."""
    script.answers(ONE, answer)
    ran = call(script, "queue", "show", ID)
    assert (ran.code, ran.out) == (code, "")
    assert one_line(ran.err).startswith(said.format(url=script.url) if "{url}" in said else said)


def test_hostile_text_cannot_control_the_terminal(script: Script) -> None:
    """Escape sequences, markup, line breaks and invisible characters are printed as text by every command."""
    finding = {"ruleId": HOSTILE, "severity": "high", "confidence": 1, "file": HOSTILE, "line": 1, "message": HOSTILE}
    reason = {"code": HOSTILE, "message": HOSTILE, "nextStep": HOSTILE}
    detail = a_detail("REJECTED", HOSTILE, repository=HOSTILE, reason=reason, scanResults=[{"findings": [finding]}])
    health = {
        "degraded": True,
        "alarms": [{"code": HOSTILE, "message": HOSTILE, "since": MOMENT}],
        "waiting": 1,
        "oldestWaiting": None,
        "drainRate": {"last1h": 1, "last6h": 2},
        "paused": {"reason": HOSTILE, "until": MOMENT},
    }
    script.answers(SUBMIT, ScriptedResponse(an_acceptance()))
    script.answers(ONE, ScriptedResponse(detail))
    script.answers(
        SUBMISSIONS, ScriptedResponse(a_page(a_submission(HOSTILE, HOSTILE, repository=HOSTILE, reason=reason)))
    )
    script.answers("GET /api/v1/submissions/stats", ScriptedResponse(some_stats()))
    script.answers("GET /api/v1/queue/health", ScriptedResponse(health))
    for command in (["submit", "acme/tools", "--wait"], ["queue", "show", ID], ["queue", "list"], ["queue"]):
        ran = call(script, *command)
        shown = ran.out + ran.err
        assert HARMLESS in shown, command
        assert re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e\u200b]|^\r?assay: all", shown, re.MULTILINE) is None, (
            command
        )
    assert json.loads(call(script, "queue", "show", ID, "--json").out)["skillName"] == HOSTILE


def test_unencodable_characters_are_escaped(script: Script) -> None:
    script.answers(SUBMISSIONS, ScriptedResponse(a_page(a_submission(name="日本 é"))))
    ran = call(script, "queue", "list", PYTHONIOENCODING="ascii")
    assert (ran.code, r"\u65e5\u672c \xe9" in ran.out) == (0, True), ran.out


def test_overview_works_without_health(script: Script) -> None:
    """Older registries have no health route."""
    script.answers(SUBMISSIONS, ScriptedResponse(a_page(a_submission())))
    script.answers("GET /api/v1/submissions/stats", ScriptedResponse(some_stats()))
    ran = call(script, "queue")
    assert (ran.code, "does not report the health of its queue" in ran.out, "7 submissions" in ran.out) == (
        0,
        True,
        True,
    )
    assert call(script, "queue", "--json").json["health"] is None


def test_long_list_is_read_page_by_page(script: Script) -> None:
    """Up to the limit, with the filters on every page."""
    rows = [a_submission(name=f"s{number}", id=ID[:-1] + str(number)) for number in range(5)]
    first = a_page(*rows[:2], total=9, nextCursor="c1", queuePositions={rows[0]["id"]: 1})
    second = a_page(*rows[2:4], total=9, nextCursor="c2", queuePositions={rows[2]["id"]: 10_001})
    script.answers(SUBMISSIONS, ScriptedResponse(first), ScriptedResponse(second))
    ran = call(script, "queue", "list", "--limit", "4", "--state", "received", "--q", "s", "--source", "cli")
    assert (ran.code, ran.out.endswith("4 of 9.\n")) == (0, True)
    assert re.search(r"^s0 +│ RECEIVED │ +1 │", ran.out, re.MULTILINE)
    assert re.search(r"^s2 +│ RECEIVED │ +over 10,000 │", ran.out, re.MULTILINE)
    wanted = {"state": ["RECEIVED"], "q": ["s"], "source": ["cli"]}
    assert [each.query for each in script.asked] == [
        wanted | {"limit": ["4"]},
        wanted | {"limit": ["2"], "cursor": ["c1"]},
    ]


def test_requeue_repeats_until_nothing_is_left(script: Script) -> None:
    """Bounded by the time of the first response, so that new failures are not included."""
    route = "/api/v1/admin/queue/reprocess"
    common = {"dryRun": False, "matchedIsExact": True}
    script.answers(
        f"POST {route}",
        ScriptedResponse(common | {"matched": {"FAILED": 1200}, "requeued": 500, "remaining": 700, "before": MOMENT}),
        ScriptedResponse(common | {"matched": {"FAILED": 700}, "requeued": 500, "remaining": 200, "before": MOMENT}),
        ScriptedResponse(common | {"matched": {"FAILED": 200}, "requeued": 200, "remaining": 0, "before": MOMENT}),
    )
    arguments = (
        "queue",
        "requeue",
        "--state",
        "FAILED",
        "--reason-code",
        "x",
        "--source",
        "cli",
        "--repo",
        "acme/tools",
    )
    ran = call(script, *arguments, "--reason", "again", ASSAY_INTERNAL_KEY=SECRET)
    assert (ran.code, ran.out) == (0, "FAILED: 1,200\n1,200 requeued.\n")
    asked = {"states": ["FAILED"], "reason": "again", "reasonCode": "x", "source": "cli"}
    asked |= {"repoUrl": "https://github.com/acme/tools"}
    assert [json.loads(each.body) for each in script.asked] == [asked, *[asked | {"before": MOMENT}] * 2]


def test_requeue_stops_when_nothing_changes(script: Script) -> None:
    """Exit code 4 if others hold the submissions."""
    stands = {"dryRun": False, "matched": {"FAILED": 3}, "matchedIsExact": True, "before": MOMENT}
    script.answers("POST /api/v1/admin/queue/reprocess", ScriptedResponse(stands | {"requeued": 0, "remaining": 3}))
    ran = call(script, "queue", "requeue", "--state", "FAILED", "--reason", "x", ASSAY_INTERNAL_KEY=SECRET)
    assert (ran.code, len(script.asked)) == (4, 1)
    assert "3 were locked by another request and not requeued: run the command again." in ran.out


def test_local_key_is_not_sent_to_another_registry(script: Script, tmp_path) -> None:
    """With --url only ASSAY_INTERNAL_KEY is used; public commands send no key."""
    (tmp_path / "secrets.json").write_text(
        json.dumps(dict.fromkeys(("internal_key", "jwt_secret", "webhook_secret"), SECRET))
    )
    refused = call(script, "queue", "resume", ASSAY_DATA_DIR=str(tmp_path))
    assert (refused.code, script.asked) == (4, [])
    assert one_line(refused.err) == (
        "This command requires the internal key of the registry or the token of an administrator: set"
        f" ASSAY_INTERNAL_KEY or ASSAY_TOKEN, or run `assay login --url {script.url}`."
    )
    script.answers(f"DELETE {PAUSE}", ScriptedResponse({"ended": None}))
    script.answers(ONE, ScriptedResponse(a_detail()))
    given = "another-key-that-is-long-enough-for-it"
    assert call(script, "queue", "resume", ASSAY_DATA_DIR=str(tmp_path), ASSAY_INTERNAL_KEY=given).code == 0
    assert call(script, "queue", "show", ID, ASSAY_INTERNAL_KEY=given).code == 0
    assert [each.key for each in script.asked] == [given, None]


def test_token_is_sent_by_commands_that_need_an_identity(script: Script) -> None:
    """Reads do not send it."""
    script.answers(SUBMIT, ScriptedResponse(an_acceptance(), status=201))
    script.answers(f"DELETE {PAUSE}", ScriptedResponse({"ended": None}))
    script.answers(ONE, ScriptedResponse(a_detail()))
    token, key = f"vsk_{'x' * 43}", "another-key-that-is-long-enough-for-it"
    assert call(script, "submit", "acme/tools", ASSAY_TOKEN=token).code == 0
    assert call(script, "queue", "resume", ASSAY_TOKEN=token).code == 0
    assert call(script, "queue", "resume", ASSAY_TOKEN=token, ASSAY_INTERNAL_KEY=key).code == 0
    assert call(script, "queue", "show", ID, ASSAY_TOKEN=token).code == 0
    resumed, shown = [(each.key, each.authorization) for each in script.asked_for(PAUSE)], f"Bearer {token}"
    assert resumed == [(None, shown), (key, None)]
    *submitting, reading = [(each.key, each.authorization) for each in script.asked if each.path != PAUSE]
    assert (set(submitting), reading) == ({(None, shown)}, (None, None))


def test_stuck_submissions_are_listed_with_their_reason(script: Script) -> None:
    row = {"id": ID, "state": "TIER1_SCANNING", "skillName": "pdf", "stuckForMs": 3_900_000, "why": "lease_expired"}
    script.answers("GET /api/v1/admin/queue/stuck", ScriptedResponse({"stuck": [row], "nextCursor": "more"}))
    ran = call(script, "queue", "stuck", "--limit", "1", ASSAY_INTERNAL_KEY=SECRET)
    assert re.search(rf"pdf +│ TIER1_SCANNING │ 1 h 5 min │ lease_expired │ {ID}", ran.out)
    assert (ran.code, "There are more: increase --limit." in ran.out) == (0, True)
