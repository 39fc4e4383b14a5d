"""Options and arguments shared by several commands."""

from typing import Annotated
from uuid import UUID

import typer

from assay.model.errors import Invalid

Url = Annotated[str | None, typer.Option("--url", help="Address of the registry; default: the one on this machine.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document on standard output.")]
Reason = Annotated[str, typer.Option("--reason", help="Reason, recorded in the history.")]
SubmissionId = Annotated[str, typer.Argument(metavar="ID", help="Id of a submission, or the URL of its page.")]
SubmissionIds = Annotated[list[str], typer.Argument(metavar="ID", help="Ids of submissions, or URLs of their pages.")]
SUBMISSION_PAGE = "/submissions/"


def read_ids(texts: list[str]) -> list[UUID]:
    """Return the distinct ids in the given order. Raises Invalid for the first malformed one."""
    return list(dict.fromkeys(map(read_id, texts)))


def read_id(text: str) -> UUID:
    """Return the id in a complete id or in the URL of a submission's page; Invalid otherwise."""
    written = text.partition(SUBMISSION_PAGE)[2].rstrip("/") if SUBMISSION_PAGE in text else text
    try:
        return UUID(written)
    except ValueError:
        raise Invalid(f"{text!r} is neither the id of a submission nor the URL of its page.") from None
