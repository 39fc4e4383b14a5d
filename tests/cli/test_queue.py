"""`assay queue` against real processes."""

import json
import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from assay.cli.ui.times import format_duration, parse_duration
from assay.model.errors import Invalid
from tests.support.cli.live import Live, at_a_terminal, without_settings
from tests.support.cli.live import assay as call
from tests.support.cli.output import ANSI, one_line
from tests.support.processes import a_free_port
from tests.support.registry import SECRET
from tests.support.skills import a_bad_skill, a_repository

pytestmark = pytest.mark.process

LISTED = b"skills are listed"
NOBODY = "00000000-0000-7000-8000-000000000000"


@pytest.fixture
def standing(live: Live) -> Iterator[Live]:
    """Return the registry with a paused queue."""
    with live.paused():
        yield live


def waiting(live: Live, repository: str, *names: str) -> list[str]:
    """Return ids of waiting submissions."""
    live.github.add_repository(repository, files=a_repository(*names))
    results = live.assay("submit", repository, "--json").json["results"]
    return [each["id"] for each in sorted(results, key=lambda each: names.index(each["skillName"]))]


def line(live: Live, ids: list[str]) -> list[str]:
    """Return ids in claim order, once no worker holds one."""
    while True:
        page = live.get("/submissions?category=active&sort=processingOrder&limit=500")
        if page["queuePositions"].keys() >= set(ids):
            return [each["id"] for each in page["submissions"] if each["id"] in ids]


def test_overview_is_plain_without_a_terminal(standing: Live) -> None:
    """Counts, health, pause reason and positions, once, without colours."""
    [first, second] = waiting(standing, "overview/tools", "pdf", "csv")
    ran = standing.assay("queue")
    assert (ran.code, ran.err) == (0, "")
    assert re.search(r"^\d+ submissions: \d+ active, \d+ published, .* \d+ skills are listed\.$", ran.out, re.MULTILINE)
    assert re.search(r"^\d+ waiting, the oldest for .*\. Decided: \d+ in 1 h, \d+ in 6 h\.$", ran.out, re.MULTILINE)
    assert re.search(r"^Paused until \d{4}-\d\d-\d\d \d\d:\d\d: a test$", ran.out, re.MULTILINE)
    assert re.search(rf"^pdf +│ RECEIVED +│ +\d+ │ .* │ overview/tools +│ .* │ {first}", ran.out, re.MULTILINE), ran.out
    assert ANSI not in ran.out
    document = standing.assay("queue", "--json").json
    assert document["health"]["paused"]["reason"] == "a test"
    assert {first, second} <= {each["id"] for each in document["active"]}
    assert document["queuePositions"][first] >= 1
    assert document["stats"]["active"] >= 2


def test_overview_is_live_on_a_terminal(live: Live) -> None:
    """Until Ctrl-C, which is no failure; --once ends by itself."""
    seen, code = at_a_terminal(live, "queue", shows=LISTED, interrupt_after=2)
    assert code == 0
    assert seen.count(LISTED) > 2
    assert b"\x1b[2K" in seen
    seen, code = at_a_terminal(live, "queue", "--once", shows=LISTED)
    assert (code, seen.count(LISTED)) == (0, 1)


def test_list_filters(live: Live) -> None:
    """State, category, reason, words and source; unknown values are exit code 2."""
    bad = {f"skills/steal/{path}": text for path, text in a_bad_skill().items()}
    live.github.add_repository("narrowed/tools", files=a_repository("pdf") | bad)
    assert live.assay("submit", "narrowed/tools", "--wait").code == 1

    def names(*arguments: str) -> set[str]:
        answer = live.assay("queue", "list", "--q", "narrowed", *arguments, "--json").json
        return {each["skillName"] for each in answer["submissions"]}

    assert names() == {"pdf", "steal"}
    assert names("--state", "tier1_failed") == {"steal"}
    assert names("--category", "published") == {"pdf"}
    assert names("--reason", "tier1_findings") == {"steal"}
    assert names("--source", "upload") == set()
    assert len(names("--limit", "1")) == 1
    wrong = live.assay("queue", "list", "--state", "nonsense")
    assert (wrong.code, wrong.out) == (2, "")
    both = live.assay("queue", "list", "--state", "FAILED", "--category", "failed")
    assert (both.code, "only one" in one_line(both.err)) == (2, True)


def test_show_submission(live: Live) -> None:
    """By id or page URL, with reason, next step, durations and findings."""
    live.github.add_repository("shown/steal", files=a_bad_skill())
    [result] = live.assay("submit", "shown/steal", "--wait", "--json").json["results"]
    ran = live.assay("queue", "show", f"{live.url}/submissions/{result['id']}")
    assert (ran.code, ran.err) == (0, "")
    assert "steal of shown/steal, SKILL.md\nTIER1_FAILED (cli, score 49)\n" in ran.out
    assert "Then submit the skill again." in ran.out
    assert re.search(r"│ RECEIVED +│ submitted +│ internal key *$", ran.out, re.MULTILINE)
    assert re.search(r"^Waited .+, scanned in .+, .+ in total\.$", ran.out, re.MULTILINE)
    assert re.search(r"^critical │ EX-001 │ scripts/setup.sh:2 │ ", ran.out, re.MULTILINE)
    assert live.assay("queue", "show", result["id"], "--json").json["id"] == result["id"]


@pytest.mark.parametrize(
    ("given", "code", "said"),
    [
        (NOBODY, 3, "There is no submission"),
        (NOBODY[:8], 2, "'00000000' is neither the id of a submission nor the URL of its page."),
        ("http://127.0.0.1/submissions/x", 2, "'http://127.0.0.1/submissions/x' is neither"),
    ],
)
def test_unknown_and_malformed_ids(live: Live, given: str, code: int, said: str) -> None:
    """Exit codes 3 and 2."""
    ran = live.assay("queue", "show", given)
    assert (ran.code, ran.out) == (code, "")
    assert one_line(ran.err).startswith(said)


def test_pause_and_resume(live: Live) -> None:
    """--for sets the end; resuming without a pause is no failure."""
    paused = live.assay("queue", "pause", "--reason", "\x1b[31m[b]moving[/b]", "--for", "1h30m", "--json").json
    began, ends = (datetime.fromisoformat(paused[key]) for key in ("pausedAt", "expiresAt"))
    assert (ends - began).total_seconds() == 5_400
    assert live.assay("queue", "resume").out == (
        "The queue was resumed. It had been paused by internal key: \\x1b[31m[b]moving[/b]\n"
    )
    again = live.assay("queue", "resume")
    assert (again.code, again.out) == (0, "The queue was not paused.\n")


def test_invalid_duration_fails_before_any_request() -> None:
    environment = without_settings(ASSAY_PORT=str(a_free_port()), ASSAY_INTERNAL_KEY=SECRET)
    ran = call("queue", "pause", "--reason", "x", "--for", "3w", environment=environment)
    assert (ran.code, ran.out) == (2, "")
    assert one_line(ran.err) == "--for must be a duration such as 30m, 2h or 1h30m, not '3w'."


@pytest.mark.parametrize("given", ["", "soon", "30", "-5m", "1.5h", "3w", "0s", "25h", "1d1s", "9" * 20 + "s", "5m\n"])
def test_invalid_durations_are_rejected(given: str) -> None:
    with pytest.raises(Invalid, match="--for must be a duration such as 30m, 2h or 1h30m"):
        parse_duration(given, option="--for", at_most_seconds=86_400)


@pytest.mark.parametrize(
    ("given", "seconds"), [("1s", 1), ("30m", 1_800), ("2h", 7_200), ("1h30m", 5_400), ("1d", 86_400)]
)
def test_durations_are_parsed(given: str, seconds: int) -> None:
    """Up to one day."""
    assert seconds == parse_duration(given, option="--for", at_most_seconds=86_400)


@pytest.mark.parametrize(
    ("milliseconds", "shown"),
    [(0, "0 ms"), (999, "999 ms"), (1_000, "1 s"), (61_000, "1 min 1 s"), (3_600_000, "1 h"), (90_061_000, "1 d 1 h")],
)
def test_durations_are_formatted_with_two_units(milliseconds: int, shown: str) -> None:
    assert shown == format_duration(milliseconds)


def test_move_to_front_and_back(standing: Live) -> None:
    """Submissions that are not waiting are exit code 4, unknown ones 3."""
    # Submissions created together have no defined order among themselves.
    ids = line(standing, waiting(standing, "order/tools", "a1", "b2", "c3"))
    assert len(ids) == 3
    front = standing.assay("queue", "front", ids[2])
    assert (front.code, front.out) == (0, f"{ids[2]} moved to the front\n")
    assert line(standing, ids) == [ids[2], ids[0], ids[1]]
    assert standing.assay("queue", "back", ids[0], ids[0]).out == f"{ids[0]} moved to the back\n"
    assert line(standing, ids) == [ids[2], ids[1], ids[0]]
    assert standing.assay("queue", "hold", ids[1], "--reason", "x").code == 0
    some = standing.assay("queue", "front", ids[1], ids[0])
    assert (some.code, sorted(some.out.splitlines())) == (
        4,
        sorted([f"{ids[0]} moved to the front", f"{ids[1]} unchanged: ON_HOLD"]),
    )
    unknown = standing.assay("queue", "back", ids[0], ids[1], NOBODY, "--json")
    assert (unknown.code, unknown.json["missing"], unknown.json["changed"]) == (3, [NOBODY], [ids[0]])
    assert [each["id"] for each in unknown.json["skipped"]] == [ids[1]]


def test_dequeue_hold_and_requeue(standing: Live) -> None:
    """The reason is in the history; requeue by id or all at once."""
    ids = waiting(standing, "parked/tools", "a1", "b2", "c3")
    out = standing.assay("queue", "dequeue", ids[0], f"{standing.url}/submissions/{ids[1]}", "--reason", "not ours")
    assert (out.code, sorted(out.out.splitlines())) == (0, sorted(f"{each} dequeued" for each in ids[:2]))
    assert standing.assay("queue", "hold", ids[2], "--reason", "later").out == f"{ids[2]} put on hold\n"
    assert "not ours" in standing.assay("queue", "show", ids[0]).out
    back = standing.assay("queue", "requeue", ids[2], NOBODY, "--reason", "now")
    assert (back.code, sorted(back.out.splitlines())) == (3, sorted([f"{ids[2]} requeued", f"{NOBODY} not found"]))
    bulk = ("queue", "requeue", "--state", "dequeued", "--repo", "parked/tools")
    counted = standing.assay(*bulk, "--dry-run")
    assert (counted.code, counted.out) == (0, "DEQUEUED: 2\n2 would be requeued.\n")
    assert standing.get(f"/submissions/{ids[0]}")["state"] == "DEQUEUED"
    done = standing.assay(*bulk, "--reason", "ours after all", "--json")
    assert (done.code, done.json["requeued"], done.json["remaining"]) == (0, 2, 0)
    assert {standing.get(f"/submissions/{each}")["state"] for each in ids} == {"RECEIVED"}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--reason", "x"], "Pass either ids or --state."),
        ([NOBODY, "--state", "FAILED", "--reason", "x"], "Pass either ids or --state."),
        (
            [NOBODY, "--dry-run"],
            "--reason-code, --repo, --source and --dry-run require --state and cannot be used with ids.",
        ),
        (["--state", "FAILED"], "--reason is required."),
        (["--state", "BLOCKED", "--reason", "x"], "states[0]: "),
    ],
)
def test_requeue_requires_a_selection_and_a_reason(live: Live, arguments: list[str], said: str) -> None:
    ran = live.assay("queue", "requeue", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert one_line(ran.err).startswith(said)


def test_wrong_key_is_one_line(live: Live) -> None:
    """Exit code 4 for every verb that needs a key."""
    wrong = {"ASSAY_INTERNAL_KEY": "wrong" * 8}
    said = f"{live.url} does not accept this key: set ASSAY_INTERNAL_KEY to the registry's key."
    for verb in (
        ["pause", "--reason", "x"],
        ["resume"],
        ["front", NOBODY],
        ["hold", NOBODY, "--reason", "x"],
        ["stuck"],
    ):
        ran = live.assay("queue", *verb, **wrong)
        assert (ran.code, ran.out, one_line(ran.err)) == (4, "", said)


def test_key_is_found_in_the_data_directory(live: Live, tmp_path: Path) -> None:
    """None is created where there is none."""
    address = urlsplit(live.url)
    here = {"ASSAY_HOST": str(address.hostname), "ASSAY_PORT": str(address.port), "ASSAY_DATA_DIR": str(tmp_path)}
    without = call("queue", "stuck", environment=without_settings(**here))
    assert (without.code, list(tmp_path.iterdir())) == (4, [])
    assert one_line(without.err).startswith(
        "This command requires the internal key of the registry or the token of an administrator: set"
    )
    secrets = dict.fromkeys(("internal_key", "jwt_secret", "webhook_secret"), SECRET)
    (tmp_path / "secrets.json").write_text(json.dumps(secrets))
    found = call("queue", "stuck", environment=without_settings(**here))
    assert (found.code, found.out) == (0, "No submission is stuck.\n")
