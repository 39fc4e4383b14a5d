"""`assay review` against real processes."""

from pathlib import Path

import pytest

from tests.support.cli.live import Live

pytestmark = pytest.mark.process

DOUBTFUL = str(Path(__file__).parents[2] / "src/assay/cli/examples/system-cleanup")


def test_list_show_and_decide(live: Live) -> None:
    """The decision needs a reason and is made once."""
    submitted = live.assay("submit", DOUBTFUL, "--wait", "--json").json["results"][0]
    number = submitted["id"]
    listed = live.assay("review", "list", "--q", "system-cleanup", "--json").json["reviews"]
    assert [each["submission"]["id"] for each in listed] == [number]
    table = live.assay("review", "list", COLUMNS="200")
    assert (table.code, number in table.out, "tier1_concerns" in table.out) == (0, True, True), table.out
    shown = live.assay("review", "show", number)
    assert (shown.code, "+docker system prune" in shown.out) == (0, True), shown.out
    assert live.assay("review", "approve", number).code == 2, "a reason is required"
    rejected = live.assay("review", "reject", number, "--reason", "It comes back by itself.")
    assert (rejected.code, "REJECTED" in rejected.out) == (0, True), rejected.out
    assert live.assay("review", "reject", number, "--reason", "Once more.").code == 4
    approved = live.assay("review", "approve", number, "--reason", "On second thought.", "--json")
    assert (approved.code, approved.json["state"]) == (0, "PUBLISHED"), approved.out + approved.err
    assert live.assay("review", "list", "--q", "system-cleanup").out.strip() == "No submission waits for a reviewer."
    assert live.assay("review", "show", "00000000-0000-7000-8000-000000000000").code == 3


def test_adopt_requires_a_replaced_repository(live: Live) -> None:
    """Invalid names fail before any request; unknown ones are reported."""
    refused = live.assay("review", "adopt", "tools", "--reason", "Made anew.")
    assert (refused.code, "'tools' must look like owner/repository" in refused.err) == (2, True), refused.err
    unknown = live.assay("review", "adopt", "nobody/nothing", "--reason", "Made anew.")
    assert unknown.code == 3, unknown.err
