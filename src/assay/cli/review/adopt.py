"""`assay review adopt`: a repository that was made anew is still the one that is listed."""

from typing import Annotated
from urllib.parse import quote

import typer

from assay.cli.process.stopping import run_command
from assay.cli.queue.options import Why
from assay.cli.registry.address import admin_proof
from assay.cli.registry.client import open_registry
from assay.cli.registry.errors import Json
from assay.cli.registry.responses import Read, read
from assay.cli.ui.options import AsJson, Url
from assay.cli.ui.terminal import open_console, print_json, print_line
from assay.model.errors import Invalid

Named = Annotated[str, typer.Argument(metavar="OWNER/REPOSITORY", help="As it is called on GitHub.")]


class _Adopted(Read, frozen=True):
    repository: str
    former_id: int
    present_id: int


def adopt(repository: Named, reason: Why, url: Url = None, as_json: AsJson = False) -> None:
    """Let listings go on with a repository that was deleted and made anew. Needs the key. Ends with 4 if it was not."""
    owner, slash, name = repository.partition("/")
    if not (owner and slash and name) or "/" in name:
        raise Invalid(f"{repository!r} must look like owner/repository.", code="bad_repository")
    answer = run_command(_ask(url, f"/api/v1/admin/repositories/{quote(owner)}/{quote(name)}/adopt", reason))
    if as_json:
        print_json(answer)
        return
    adopted = read(_Adopted, answer)
    line = (
        f"{adopted.repository}: its listings go on with repository {adopted.present_id} (before: {adopted.former_id})."
    )
    print_line(open_console(), line)


async def _ask(url: str | None, path: str, reason: str) -> Json:
    async with open_registry(url, admin_proof(url)) as registry:
        return (await registry.post(path, {"reason": reason})).body
