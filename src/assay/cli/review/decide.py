"""`assay review approve` and `reject`: the decision, with its reason."""

from assay.cli.process.stopping import run_command
from assay.cli.queue.ids import read_id
from assay.cli.queue.options import Why
from assay.cli.registry.address import admin_proof
from assay.cli.registry.client import open_registry
from assay.cli.registry.errors import Json
from assay.cli.registry.responses import read
from assay.cli.review.answers import DecisionRead, ReviewRead
from assay.cli.review.lists import REVIEWS
from assay.cli.review.show import Submission
from assay.cli.ui.options import AsJson, Url
from assay.cli.ui.terminal import open_console, print_json, print_line, state_cell


def approve(submission: Submission, reason: Why, url: Url = None, as_json: AsJson = False) -> None:
    """Publish exactly the files that were examined, as CERTIFIED. Needs the key. Ends with 4 if it cannot be."""
    _decide("approve", submission, reason, url, as_json=as_json)


def reject(submission: Submission, reason: Why, url: Url = None, as_json: AsJson = False) -> None:
    """Refuse these files, now and when they come again. Needs the key. Ends with 4 if it does not wait."""
    _decide("reject", submission, reason, url, as_json=as_json)


def _decide(verb: str, submission: str, reason: str, url: str | None, *, as_json: bool) -> None:
    answer = run_command(_ask(url, f"{REVIEWS}/{read_id(submission)}", verb, reason))
    if as_json:
        print_json(answer)
        return
    console, decision = open_console(), read(DecisionRead, answer)
    listed = f"as {decision.published_skill_name}" if decision.published_skill_name else ""
    print_line(console, str(decision.id), state_cell(decision.state), listed)
    if decision.upstream_moved:
        print_line(console, "Its source has moved on; the new files are looked at by themselves.")


async def _ask(url: str | None, path: str, verb: str, reason: str) -> Json:
    async with open_registry(url, admin_proof(url)) as registry:
        seen = read(ReviewRead, await registry.get(path))
        return (await registry.post(f"{path}/{verb}", {"reason": reason, "version": seen.version})).body
