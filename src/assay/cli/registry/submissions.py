"""Submission of targets to a registry, with one result per skill."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import assert_never
from uuid import UUID

from assay.cli.registry.client import Registry, RegistryResponse
from assay.cli.registry.errors import Json, RegistryUnreachable
from assay.cli.registry.responses import AcceptedResponse, DetailResponse, DiscoverResponse, ItemResponse, read_response
from assay.cli.registry.targets import FolderTarget, RepositoryTarget, Target
from assay.cli.skill_folders.pack import pack
from assay.cli.ui.exit_codes import Exit, exit_code_for_error, exit_code_for_state
from assay.fetch.limits import Limits
from assay.model.errors import AssayError, NoSkill
from assay.submit.validate import parse_repository_url

SUBMISSIONS = "/api/v1/submissions"
MAX_CONCURRENT = 4
MAX_ITEMS = 1_000
CREATED = 201


@dataclass(frozen=True)
class SkillSelection:
    """The skill of a repository to submit, by name and path; or every skill below the target's folder."""

    skill_name: str | None = None
    skill_path: str | None = None
    everything_below: bool = False


@dataclass(frozen=True)
class SubmitResult:
    """The result for one skill; `exit` is its exit code unless the command waits for the verdict."""

    target: str
    outcome: str
    exit: Exit
    id: UUID | None = None
    state: str | None = None
    skill_name: str | None = None
    skill_path: str | None = None
    already_verified: bool = False
    code: str | None = None
    detail: str | None = None


async def submit_targets(
    registry: Registry, targets: Sequence[Target], selection: SkillSelection, limits: Limits
) -> list[SubmitResult]:
    """Submit all targets, a few concurrently; one that is refused does not stop the others."""
    slots = asyncio.Semaphore(MAX_CONCURRENT)

    async def one(target: Target) -> list[SubmitResult]:
        async with slots:
            try:
                return await _submit_target(registry, target, selection, limits)
            except RegistryUnreachable:
                raise
            except AssayError as error:
                return [
                    SubmitResult(
                        str(target), "error", exit_code_for_error(error), code=error.code, detail=error.message
                    )
                ]

    return [each for some in await asyncio.gather(*map(one, targets)) for each in some]


async def _submit_target(
    registry: Registry, target: Target, selection: SkillSelection, limits: Limits
) -> list[SubmitResult]:
    match target:
        case FolderTarget(skill):
            archive = await asyncio.to_thread(pack, skill, limits)
            path, filename = f"{SUBMISSIONS}/upload", f"{skill.name}.tar.gz"
            responses = [await registry.upload(path, archive, filename, skillName=selection.skill_name)]
        case RepositoryTarget(url):
            responses = [
                await registry.post(SUBMISSIONS, body) for body in await _request_bodies(registry, url, selection)
            ]
        case _:
            assert_never(target)
    return [each for response in responses for each in await _results(registry, str(target), response)]


async def _request_bodies(registry: Registry, url: str, selection: SkillSelection) -> list[Json]:
    """Return the requests to send: for one skill, for the whole repository, or for all skills below its folder."""
    whole: Json = {
        "repoUrl": url,
        "skillName": selection.skill_name,
        "skillPath": selection.skill_path,
        "source": "cli",
    }
    if not selection.everything_below:
        return [whole]
    found = read_response(DiscoverResponse, (await registry.post(f"{SUBMISSIONS}/discover", {"repoUrl": url})).body)
    _, folder = parse_repository_url(url, found.repo_url.removesuffix(f"/{found.repository}"))
    if not folder:
        return [whole]
    below = [{"name": each.name, "path": each.path} for each in found.skills if each.path.startswith(f"{folder}/")]
    if not below:
        raise NoSkill(f"{found.repository} has no SKILL.md below {folder}.")
    chunks = [below[start : start + MAX_ITEMS] for start in range(0, len(below), MAX_ITEMS)]
    return [{"repoUrl": found.repo_url, "skills": chunk, "source": "cli"} for chunk in chunks]


async def _results(registry: Registry, target: str, response: RegistryResponse) -> list[SubmitResult]:
    accepted = read_response(AcceptedResponse, response.body)
    if accepted.batch is not None:
        return [_item_result(target, item) for item in accepted.batch.results]
    submission = read_response(DetailResponse, await registry.get(f"{SUBMISSIONS}/{accepted.id}"))
    item = ItemResponse(
        outcome=_outcome(accepted, is_new=response.status == CREATED),
        id=accepted.id,
        # The state at admission: a fast worker may have changed it since, which only `--wait` reports.
        state=accepted.state,
        skill_name=submission.skill_name,
        skill_path=submission.skill_path,
        already_verified=accepted.already_verified,
    )
    return [_item_result(target, item)]


def _outcome(accepted: AcceptedResponse, *, is_new: bool) -> str:
    if accepted.blocked:
        return "blocked"
    if accepted.duplicate:
        return "duplicate"
    return "created" if is_new else "reopened"


def _item_result(target: str, item: ItemResponse) -> SubmitResult:
    return SubmitResult(
        target=target,
        outcome=item.outcome,
        exit=Exit.INVALID if item.state is None else exit_code_for_state(item.state, waited=False),
        id=item.id,
        state=item.state,
        skill_name=item.skill_name,
        skill_path=item.skill_path,
        already_verified=item.already_verified,
        code=item.code,
        detail=item.detail,
    )
