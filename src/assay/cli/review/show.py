"""`assay review show`: one submission with everything that a decision needs."""

from typing import Annotated

import typer
from rich.console import Console

from assay.cli.process.stopping import run_command
from assay.cli.queue.ids import read_id
from assay.cli.registry.address import admin_proof
from assay.cli.registry.client import open_registry
from assay.cli.registry.responses import read
from assay.cli.review.answers import ReviewRead
from assay.cli.review.lists import REVIEWS
from assay.cli.ui.options import AsJson, Url
from assay.cli.ui.submissions import SEVERITY_COLOURS, why, worst_findings
from assay.cli.ui.terminal import cell, open_console, print_json, print_line, state_cell

Submission = Annotated[str, typer.Argument(metavar="ID", help="Id of a submission, or the address of its page.")]


def show(submission: Submission, url: Url = None, as_json: AsJson = False) -> None:
    """Show one submission as a reviewer sees it: findings, appeal, and every file that differs from what is live."""
    run_command(_show(url, f"{REVIEWS}/{read_id(submission)}", as_json=as_json))


async def _show(url: str | None, path: str, *, as_json: bool) -> None:
    async with open_registry(url, admin_proof(url)) as registry:
        answer = await registry.get(path)
    if as_json:
        print_json(answer)
    else:
        _print(open_console(), read(ReviewRead, answer))


def _print(console: Console, review: ReviewRead) -> None:
    detail = review.submission
    print_line(console, cell(detail.skill_name, "bold"), f"of {detail.repository}, {detail.skill_path}")
    score = "" if detail.score is None else f"score {detail.score}"
    print_line(console, state_cell(detail.state), score)
    for line in (why(detail), _moved(review)):
        if line:
            print_line(console, line)
    if review.appeal and review.appeal.text:
        print_line(console, f"Appeal ({review.appeal.status}):")
        for line in review.appeal.text.splitlines():
            print_line(console, f"  {line}")
    for each in worst_findings(detail):
        severity = cell(each.severity, SEVERITY_COLOURS.get(each.severity, ""))
        print_line(console, severity, f"{each.rule_id} {each.file}:{each.line}: {each.message}")
    print_line(console, f"Against {review.live.version}:" if review.live else "No version is live. Its files:")
    for change in review.changes:
        print_line(console, cell(f"{change.status} {change.filename}", "bold"))
        for line in (change.patch or "").splitlines():
            print_line(console, f"  {line}")


def _moved(review: ReviewRead) -> str:
    if not review.upstream_moved:
        return ""
    commit = (review.upstream_commit or "")[:12]
    return f"Its source has moved on to {commit}; what is approved are the files that were examined."
