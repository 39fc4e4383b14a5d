"""`assay seed`: submit the starter catalogue through the ordinary pipeline."""

from collections import Counter

import typer

from assay import settings
from assay.cli.process.stopping import run_command
from assay.cli.registry.account import announce
from assay.cli.registry.client import open_registry
from assay.cli.registry.credentials import acting_credential
from assay.cli.registry.errors import Json
from assay.cli.ui.exit_codes import Exit
from assay.cli.ui.options import AsJson, Url
from assay.cli.ui.terminal import print_json, print_note, printable
from assay.serve.skills.starter import starter_skills


def seed(url: Url = None, as_json: AsJson = False) -> None:
    """Submit the 118 well-known skills of the starter catalogue. Each is fetched and scanned like any other skill.

    Requires a running registry. Skills that were already submitted are not changed.

    Exit codes:
    0  all skills were accepted
    2  some skills were not accepted; the others are in the queue
    """
    response = run_command(_seed(url, settings.read().github_web_url))
    results = response["results"]
    counted = Counter(each["outcome"] for each in results)
    if as_json:
        print_json(response)
    else:
        for starter, each in zip(starter_skills(), results, strict=True):
            if each.get("detail"):
                print_note(f"{starter.full_name}: {printable(each['detail'])}")
        print(", ".join(f"{number} {outcome}" for outcome, number in sorted(counted.items())) + ".")
    raise typer.Exit(Exit.INVALID if any(each.get("id") is None for each in results) else Exit.DONE)


async def _seed(url: str | None, web_url: str) -> Json:
    items = [
        {"repoUrl": f"{web_url}/{each.repository}", "skillName": each.name, "skillPath": each.path}
        for each in starter_skills()
    ]
    async with open_registry(url, acting_credential) as registry:
        await announce(registry, uploads=False)
        return (await registry.post("/api/v1/submissions/bulk", {"items": items})).body
