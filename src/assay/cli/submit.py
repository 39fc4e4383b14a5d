"""`assay submit`: submit skills, and optionally wait for the verdicts."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated
from uuid import UUID

import typer

from assay import settings
from assay.cli.process.stopping import run_command
from assay.cli.registry.account import announce
from assay.cli.registry.client import Registry, open_registry
from assay.cli.registry.credentials import acting_credential
from assay.cli.registry.errors import Json
from assay.cli.registry.follow import wait_for_all
from assay.cli.registry.responses import DetailResponse, read_response
from assay.cli.registry.submissions import SkillSelection, SubmitResult, submit_targets
from assay.cli.registry.targets import FolderTarget, Targets, read_targets
from assay.cli.ui.exit_codes import Exit, exit_code_for_state, most_severe
from assay.cli.ui.options import AsJson, Url
from assay.cli.ui.submissions import page_for, show_results, show_verdicts
from assay.cli.ui.terminal import open_console, print_json, print_note
from assay.fetch.limits import Limits
from assay.model.errors import Invalid

MAX_SHOWN = 20
DEFAULT_SECONDS, MAX_SECONDS = 600, 86_400


@dataclass(frozen=True)
class Plan:
    """The validated arguments; without a timeout, the command does not wait."""

    targets: Targets
    selection: SkillSelection
    url: str | None
    timeout_seconds: int | None
    as_json: bool


def submit(
    what: Annotated[
        list[str],
        typer.Argument(
            metavar="URL|FOLDER",
            help="URL of a repository or of a folder in one, owner/repository, or a local folder.",
        ),
    ],
    name: Annotated[str | None, typer.Option("--name", help="Submit only the skill with this name.")] = None,
    path: Annotated[
        str | None,
        typer.Option("--path", help="Submit only the skill whose SKILL.md has this path in the repository."),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Submit all skills below the folder, including those inside another skill.")
    ] = False,
    include_hidden: Annotated[
        bool, typer.Option("--include-hidden", help="Also send .env files, private keys and other credential files.")
    ] = False,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until each is decided, and show the verdicts.")] = False,
    timeout: Annotated[
        int,
        typer.Option("--timeout", min=1, max=MAX_SECONDS, metavar="SECONDS", help="Maximum time for --wait."),
    ] = DEFAULT_SECONDS,
    url: Url = None,
    as_json: AsJson = False,
) -> None:
    """Submit skills from repositories or local folders.

    All skills of a repository are submitted, and all skills below a local folder that has no SKILL.md itself. A local
    folder is uploaded with its hidden files, except .git; files that hold credentials are refused. Uploads need an
    account (`assay login`, or ASSAY_TOKEN); on the machine of the registry, the operator needs none.

    Example: assay submit anthropics/skills --wait

    Exit codes; if several apply, the first of 1, 2, 3, 4, 5, 7, 8, 6 is used:
    0  all skills were accepted; with --wait, all are published
    1  a skill was refused
    2  an argument is invalid
    3  the repository does not exist
    4  a conflict, or missing permission
    5  the registry or GitHub is unavailable
    6  a skill waits for a reviewer
    7  a skill could not be scanned, or was taken out of the queue
    8  the timeout ended before all were decided
    """
    limits = Limits()
    targets = read_targets(
        what, settings.read().github_web_url, limits, nested=everything, include_hidden=include_hidden
    )
    selection = SkillSelection(name, path, everything)
    _check(selection, targets)
    plan = Plan(targets, selection, url, timeout if wait else None, as_json)
    raise typer.Exit(run_command(_submit(plan, limits)))


def _check(selection: SkillSelection, targets: Targets) -> None:
    is_for_one = selection.skill_name is not None or selection.skill_path is not None
    if is_for_one and (len(targets.all) > 1 or selection.everything_below):
        raise Invalid("--name and --path select one skill: pass a single argument, without --all.")
    if selection.skill_path is not None and isinstance(targets.all[0], FolderTarget):
        raise Invalid("--path applies to repositories: pass the folder of the skill itself.")


async def _submit(plan: Plan, limits: Limits) -> Exit:
    async with open_registry(plan.url, acting_credential) as registry:
        await announce(registry, uploads=bool(plan.targets.skills))
        _print_files(plan.targets)
        results = await submit_targets(registry, plan.targets.all, plan.selection, limits)
        if not plan.as_json:
            show_results(open_console(), registry, results)
        details: dict[UUID, Json] = {}
        if plan.timeout_seconds is not None:
            details = await wait_for_all(registry, results, plan.timeout_seconds)
        code = most_severe(_exit(each, details) for each in results)
        if plan.as_json:
            print_json(_document(registry, results, details, code))
        elif details:
            show_verdicts(open_console(), registry, [read_response(DetailResponse, each) for each in details.values()])
        return code


def _print_files(targets: Targets) -> None:
    """Print which local files are not sent, and which hidden ones are."""
    _print_some("Not sent", targets.left_out)
    _print_some(
        "Hidden files that are sent", [f"{each.name}/{path}" for each in targets.skills for path in each.hidden_files]
    )


def _print_some(title: str, items: Sequence[str]) -> None:
    if items:
        more = f"; {len(items) - MAX_SHOWN:,} more" if len(items) > MAX_SHOWN else ""
        print_note(f"{title}: {'; '.join(items[:MAX_SHOWN])}{more}.")


def _exit(result: SubmitResult, details: dict[UUID, Json]) -> Exit:
    if result.id is None or result.id not in details:
        return result.exit
    return exit_code_for_state(str(details[result.id]["state"]), waited=True)


def _document(registry: Registry, results: Sequence[SubmitResult], details: dict[UUID, Json], code: Exit) -> Json:
    return {
        "registry": registry.base_url,
        "exitCode": int(code),
        "results": [_result_json(registry, each, details.get(each.id) if each.id else None) for each in results],
    }


def _result_json(registry: Registry, result: SubmitResult, detail: Json | None) -> Json:
    page = registry.page_of(result.id) if result.id else None
    return {
        "target": result.target,
        "outcome": result.outcome,
        "alreadyVerified": result.already_verified,
        "id": result.id,
        "state": detail["state"] if detail else result.state,
        "skillName": result.skill_name,
        "skillPath": result.skill_path,
        "code": result.code,
        "detail": result.detail,
        "page": page_for(registry, read_response(DetailResponse, detail)) if detail else page,
        "submission": detail,
    }
