"""The subcommands of `assay review`."""

from typing import Annotated
from urllib.parse import quote

import typer
from rich.console import Console

from assay.cli.process.stopping import run_command
from assay.cli.registry.client import open_registry
from assay.cli.registry.credentials import admin_credential
from assay.cli.registry.errors import Json
from assay.cli.registry.responses import RegistryModel, read_response
from assay.cli.review.responses import DecisionResponse, ReviewResponse, ReviewsResponse, WaitingResponse
from assay.cli.ui.options import AsJson, Reason, SubmissionId, Url, read_id
from assay.cli.ui.submissions import why, worst_findings
from assay.cli.ui.terminal import SEVERITY_COLOURS, cell, make_table, open_console, print_json, print_line, state_cell
from assay.cli.ui.times import format_duration
from assay.model.errors import Invalid

REVIEWS = "/api/v1/admin/reviews"


def list_reviews(
    reason: Annotated[
        str | None, typer.Option("--reason", help="Only submissions with this reason code, such as appealed.")
    ] = None,
    q: Annotated[
        str | None, typer.Option("--q", help="Only submissions with this text in the skill name or owner/repository.")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=100, help="Maximum number of rows.")] = 50,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """List submissions that wait for a reviewer, the longest waiting first. Requires the internal key."""
    run_command(_list(url, reason, q, limit, as_json=as_json))


async def _list(url: str | None, reason: str | None, q: str | None, limit: int, *, as_json: bool) -> None:
    console = open_console()
    async with open_registry(url, admin_credential) as registry:
        response = await registry.get(REVIEWS, reason=reason, q=q, limit=limit)
    if as_json:
        print_json(response)
        return
    page = read_response(ReviewsResponse, response)
    if not page.reviews:
        print_line(console, "No submission waits for a reviewer.")
        return
    table = make_table("Skill", "Score", "Waiting", "Reason", "Top findings", "Id", right=("Score",), whole=("Id",))
    for each in page.reviews:
        table.add_row(*map(cell, _row(each)))
    console.print(table)
    at_least = "" if page.total_is_exact else "at least "
    print_line(console, f"{len(page.reviews):,} of {at_least}{page.total:,}.")


def _row(each: WaitingResponse) -> tuple[str, ...]:
    submission = each.submission
    reason = submission.reason.code if submission.reason else "–"
    return (
        f"{submission.repository} {submission.skill_name}",
        "–" if submission.score is None else str(submission.score),
        format_duration(each.age_seconds * 1000),
        f"{reason}, appeal" if each.appeal and reason != "appealed" else reason,
        ", ".join(finding.rule_id for finding in each.top_findings),
        str(submission.id),
    )


def show(submission: SubmissionId, url: Url = None, as_json: AsJson = False) -> None:
    """Show a submission for review: its findings, its appeal, and the differences from the live version.

    Requires the internal key.
    """
    run_command(_show(url, f"{REVIEWS}/{read_id(submission)}", as_json=as_json))


async def _show(url: str | None, path: str, *, as_json: bool) -> None:
    async with open_registry(url, admin_credential) as registry:
        response = await registry.get(path)
    if as_json:
        print_json(response)
    else:
        _print(open_console(), read_response(ReviewResponse, response))


def _print(console: Console, review: ReviewResponse) -> None:
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
    print_line(console, f"Changes since {review.live.version}:" if review.live else "No version is live. Files:")
    for change in review.changes:
        print_line(console, cell(f"{change.status} {change.filename}", "bold"))
        for line in (change.patch or "").splitlines():
            print_line(console, f"  {line}")


def _moved(review: ReviewResponse) -> str:
    if not review.upstream_moved:
        return ""
    commit = (review.upstream_commit or "")[:12]
    return f"The repository has moved on to {commit}; an approval applies to the files that were scanned."


def approve(submission: SubmissionId, reason: Reason, url: Url = None, as_json: AsJson = False) -> None:
    """Approve a submission: publish exactly the scanned files as CERTIFIED.

    Requires the internal key. Exits with 4 if the submission cannot be approved.

    Example: assay review approve 0190b0c4-0000-7000-8000-000000000000 --reason "False positive, checked by hand"
    """
    _decide("approve", submission, reason, url, as_json=as_json)


def reject(submission: SubmissionId, reason: Reason, url: Url = None, as_json: AsJson = False) -> None:
    """Reject a submission: refuse these files, now and whenever they are submitted again.

    Requires the internal key. Exits with 4 if the submission does not wait for review.
    """
    _decide("reject", submission, reason, url, as_json=as_json)


def _decide(verb: str, submission: str, reason: str, url: str | None, *, as_json: bool) -> None:
    response = run_command(_post_decision(url, f"{REVIEWS}/{read_id(submission)}", verb, reason))
    if as_json:
        print_json(response)
        return
    console, decision = open_console(), read_response(DecisionResponse, response)
    listed = f"as {decision.published_skill_name}" if decision.published_skill_name else ""
    print_line(console, str(decision.id), state_cell(decision.state), listed)
    if decision.upstream_moved:
        print_line(console, "The repository has moved on; its new files are processed separately.")


async def _post_decision(url: str | None, path: str, verb: str, reason: str) -> Json:
    async with open_registry(url, admin_credential) as registry:
        seen = read_response(ReviewResponse, await registry.get(path))
        return (await registry.post(f"{path}/{verb}", {"reason": reason, "version": seen.version})).body


RepositoryArgument = Annotated[
    str, typer.Argument(metavar="OWNER/REPOSITORY", help="The name of the repository on GitHub.")
]


class _Adopted(RegistryModel, frozen=True):
    repository: str
    former_id: int
    present_id: int


def adopt(repository: RepositoryArgument, reason: Reason, url: Url = None, as_json: AsJson = False) -> None:
    """Keep the listings of a repository that was deleted and created again under the same name.

    Requires the internal key. Exits with 4 if the repository has not been recreated.
    """
    owner, slash, name = repository.partition("/")
    if not (owner and slash and name) or "/" in name:
        raise Invalid(f"{repository!r} must look like owner/repository.", code="bad_repository")
    response = run_command(_adopt(url, f"/api/v1/admin/repositories/{quote(owner)}/{quote(name)}/adopt", reason))
    if as_json:
        print_json(response)
        return
    adopted = read_response(_Adopted, response)
    ids = f"{adopted.present_id} (before: {adopted.former_id})"
    print_line(open_console(), f"{adopted.repository}: its listings now belong to repository {ids}.")


async def _adopt(url: str | None, path: str, reason: str) -> Json:
    async with open_registry(url, admin_credential) as registry:
        return (await registry.post(path, {"reason": reason})).body


app = typer.Typer(
    no_args_is_help=True, help="Review submissions that need a person's decision. Requires the internal key."
)
app.command("list")(list_reviews)
for verb in (show, approve, reject, adopt):
    app.command()(verb)
