"""`assay submit`: hand in skills, and wait for what becomes of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated
from uuid import UUID

import typer

from assay import settings
from assay.cli.process.stopping import run_command
from assay.cli.registry.address import own_proof
from assay.cli.registry.admissions import Admission, Wish, hand_in
from assay.cli.registry.client import Registry, open_registry
from assay.cli.registry.errors import Json
from assay.cli.registry.responses import DetailRead, read
from assay.cli.registry.targets import Targets, Upload, read_targets
from assay.cli.registry.wait import wait_for_all
from assay.cli.ui.exits import Exit, exit_of_state, worst
from assay.cli.ui.options import AsJson, Url
from assay.cli.ui.submissions import page_for, show_admissions, show_verdicts
from assay.cli.ui.terminal import open_console, print_json, say
from assay.fetch.limits import Limits
from assay.model.errors import Invalid

SHOWN = 5
USUAL_SECONDS, LONGEST_SECONDS = 600, 86_400


@dataclass(frozen=True)
class Plan:
    """What is to be sent, where to, and how long to wait for it; no timeout: not at all."""

    targets: Targets
    wish: Wish
    url: str | None
    timeout_seconds: int | None
    as_json: bool


def submit(
    what: Annotated[
        list[str],
        typer.Argument(
            metavar="URL|FOLDER",
            help="URL of a repository or of a folder in one, owner/repository, or a folder of this machine.",
        ),
    ],
    name: Annotated[str | None, typer.Option("--name", help="Name of the skill, if only one is meant.")] = None,
    path: Annotated[
        str | None, typer.Option("--path", help="Path of its SKILL.md in the repository, if only one is meant.")
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="All skills below the folder, also those inside another skill.")
    ] = False,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until each is decided and show the verdicts.")] = False,
    timeout: Annotated[
        int, typer.Option("--timeout", min=1, max=LONGEST_SECONDS, metavar="SECONDS", help="How long to wait.")
    ] = USUAL_SECONDS,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Submit skills of repositories, or of folders of this machine.

    A repository is looked through for every skill in it; a folder without a SKILL.md, too.

    Exit codes; of several, the first of 1, 2, 3, 4, 5, 7, 8, 6 counts:
    0  all were accepted; with --wait, all are published
    1  a skill was refused
    2  an argument is wrong
    3  there is no such repository
    4  something is in the way
    5  the registry, or GitHub, does not answer
    6  a skill waits for a reviewer
    7  a skill could not be examined, or is out of the queue
    8  gave up waiting
    """
    limits = Limits()
    targets = read_targets(what, settings.read().github_web_url, limits, nested=everything)
    wish = Wish(name, path, everything)
    _check(wish, targets)
    plan = Plan(targets, wish, url, timeout if wait else None, as_json)
    raise typer.Exit(run_command(_submit(plan, limits)))


def _check(wish: Wish, targets: Targets) -> None:
    is_for_one = wish.skill_name is not None or wish.skill_path is not None
    if is_for_one and (len(targets.all) > 1 or wish.all_below):
        raise Invalid("--name and --path are for one skill: give one argument, without --all.")
    if wish.skill_path is not None and isinstance(targets.all[0], Upload):
        raise Invalid("--path is for a repository: give the folder of the skill itself.")


async def _submit(plan: Plan, limits: Limits) -> Exit:
    _say_what_is_left_out(plan.targets.left_out)
    async with open_registry(plan.url, own_proof()) as registry:
        admissions = await hand_in(registry, plan.targets.all, plan.wish, limits)
        if not plan.as_json:
            show_admissions(open_console(), registry, admissions)
        details: dict[UUID, Json] = {}
        if plan.timeout_seconds is not None:
            details = await wait_for_all(registry, admissions, plan.timeout_seconds)
        code = worst(_exit(each, details) for each in admissions)
        if plan.as_json:
            print_json(_document(registry, admissions, details, code))
        elif details:
            show_verdicts(open_console(), registry, [read(DetailRead, each) for each in details.values()])
        return code


def _say_what_is_left_out(left_out: Sequence[str]) -> None:
    if left_out:
        more = f"; {len(left_out) - SHOWN:,} more" if len(left_out) > SHOWN else ""
        say(f"Not sent: {'; '.join(left_out[:SHOWN])}{more}.")


def _exit(admission: Admission, details: dict[UUID, Json]) -> Exit:
    if admission.id is None or admission.id not in details:
        return admission.exit
    return exit_of_state(str(details[admission.id]["state"]), waited=True)


def _document(registry: Registry, admissions: Sequence[Admission], details: dict[UUID, Json], code: Exit) -> Json:
    return {
        "registry": registry.base_url,
        "exitCode": int(code),
        "results": [_shown(registry, each, details.get(each.id) if each.id else None) for each in admissions],
    }


def _shown(registry: Registry, admission: Admission, detail: Json | None) -> Json:
    page = registry.page_of(admission.id) if admission.id else None
    return {
        "target": admission.target,
        "outcome": admission.outcome,
        "alreadyVerified": admission.already_verified,
        "id": admission.id,
        "state": detail["state"] if detail else admission.state,
        "skillName": admission.skill_name,
        "skillPath": admission.skill_path,
        "code": admission.code,
        "detail": admission.detail,
        "page": page_for(registry, read(DetailRead, detail)) if detail else page,
        "submission": detail,
    }
