"""`assay demo`: upload the bundled example skills, good and bad, and watch what happens to each."""

from importlib.resources import as_file, files

from assay.cli.process.stopping import run_command
from assay.cli.registry.admissions import Wish, hand_in
from assay.cli.registry.client import Registry, open_registry
from assay.cli.registry.folder import LocalSkill, find_skills
from assay.cli.registry.responses import DetailRead, read
from assay.cli.registry.targets import Upload
from assay.cli.registry.wait import wait_for_all
from assay.cli.ui.options import Url
from assay.cli.ui.submissions import show_verdicts
from assay.cli.ui.terminal import open_console, print_line
from assay.fetch.limits import Limits
from assay.model.errors import Invalid

ANSWER_SECONDS = 60


def demo(url: Url = None) -> None:
    """Upload six example skills and show how each is judged. Needs a running registry, but no network."""
    with as_file(files("assay.cli") / "examples") as folder:
        examples = find_skills(folder, Limits(), nested=False).skills
        run_command(_demo(url, examples))


async def _demo(url: str | None, examples: tuple[LocalSkill, ...]) -> None:
    async with open_registry(url) as registry:
        details = await _judged(registry, examples)
        console = open_console()
        show_verdicts(console, registry, details)
        print_line(console, f"See them at {registry.base_url}/queue and {registry.base_url}/skills")


async def _judged(registry: Registry, examples: tuple[LocalSkill, ...]) -> list[DetailRead]:
    admissions = await hand_in(registry, [*map(Upload, examples)], Wish(), Limits())
    for each in admissions:
        if each.id is None:
            raise Invalid(f"{each.target} was not accepted: {each.detail}")
    answers = await wait_for_all(registry, admissions, ANSWER_SECONDS)
    return [read(DetailRead, each) for each in answers.values()]
