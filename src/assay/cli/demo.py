"""`assay demo`: upload the bundled example skills, good and bad, and show the verdicts."""

from importlib.resources import as_file, files

from assay.cli.process.stopping import run_command
from assay.cli.registry.account import announce
from assay.cli.registry.client import Registry, open_registry
from assay.cli.registry.credentials import acting_credential
from assay.cli.registry.follow import wait_for_all
from assay.cli.registry.responses import DetailResponse, read_response
from assay.cli.registry.submissions import SkillSelection, submit_targets
from assay.cli.registry.targets import FolderTarget
from assay.cli.skill_folders.local_skill import LocalSkill
from assay.cli.skill_folders.select import select_skills
from assay.cli.ui.options import Url
from assay.cli.ui.submissions import show_verdicts
from assay.cli.ui.terminal import open_console, print_line
from assay.fetch.limits import Limits
from assay.model.errors import Invalid

WAIT_SECONDS = 60


def demo(url: Url = None) -> None:
    """Upload six example skills and show the verdict on each. Requires a running registry, but no network.

    On the machine of the registry, the skills are uploaded to the operator's namespace. With --url, or if you have run
    `assay login`, they are uploaded to yours.
    """
    with as_file(files("assay.cli") / "examples") as folder:
        examples = select_skills(folder, Limits(), nested=False).skills
        run_command(_demo(url, examples))


async def _demo(url: str | None, examples: tuple[LocalSkill, ...]) -> None:
    async with open_registry(url, acting_credential) as registry:
        await announce(registry, uploads=True)
        details = await _submit_examples(registry, examples)
        console = open_console()
        show_verdicts(console, registry, details)
        print_line(console, f"Open {registry.base_url}/queue and {registry.base_url}/skills to see them.")


async def _submit_examples(registry: Registry, examples: tuple[LocalSkill, ...]) -> list[DetailResponse]:
    results = await submit_targets(registry, [*map(FolderTarget, examples)], SkillSelection(), Limits())
    for each in results:
        if each.id is None:
            raise Invalid(f"{each.target} was not accepted: {each.detail}")
    responses = await wait_for_all(registry, results, WAIT_SECONDS)
    return [read_response(DetailResponse, each) for each in responses.values()]
