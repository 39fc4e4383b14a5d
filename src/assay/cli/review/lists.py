"""`assay review list`: what waits for a person, oldest first."""

from typing import Annotated

import typer

from assay.cli.process.stopping import run_command
from assay.cli.registry.address import admin_proof
from assay.cli.registry.client import open_registry
from assay.cli.registry.responses import read
from assay.cli.review.answers import ReviewsRead, WaitingRead
from assay.cli.ui.options import AsJson, Url
from assay.cli.ui.terminal import a_table, cell, open_console, print_json, print_line
from assay.cli.ui.times import shown_duration

REVIEWS = "/api/v1/admin/reviews"


def list_reviews(
    reason: Annotated[str | None, typer.Option("--reason", help="Only with this code, such as appealed.")] = None,
    q: Annotated[str | None, typer.Option("--q", help="Only with this in the skill's name or owner/repo.")] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=100, help="How many at most.")] = 50,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """List what waits for a reviewer, the longest waiting first. Needs the key."""
    run_command(_list(url, reason, q, limit, as_json=as_json))


async def _list(url: str | None, reason: str | None, q: str | None, limit: int, *, as_json: bool) -> None:
    console = open_console()
    async with open_registry(url, admin_proof(url)) as registry:
        answer = await registry.get(REVIEWS, reason=reason, q=q, limit=limit)
    if as_json:
        print_json(answer)
        return
    page = read(ReviewsRead, answer)
    if not page.reviews:
        print_line(console, "Nothing waits for a reviewer.")
        return
    table = a_table("Skill", "Score", "For", "Why", "Gravest", "Id", right=("Score",), whole=("Id",))
    for each in page.reviews:
        table.add_row(*map(cell, _row(each)))
    console.print(table)
    at_least = "" if page.total_is_exact else "at least "
    print_line(console, f"{len(page.reviews):,} of {at_least}{page.total:,}.")


def _row(each: WaitingRead) -> tuple[str, ...]:
    submission = each.submission
    why = submission.reason.code if submission.reason else "–"
    return (
        f"{submission.repository} {submission.skill_name}",
        "–" if submission.score is None else str(submission.score),
        shown_duration(each.age_seconds * 1000),
        f"{why}, appeal" if each.appeal and why != "appealed" else why,
        ", ".join(finding.rule_id for finding in each.top_findings),
        str(submission.id),
    )
