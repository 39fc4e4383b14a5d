"""Hand skills in, and say what became of each."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import assert_never
from uuid import UUID

from assay.cli.registry.client import Answer, Registry
from assay.cli.registry.errors import Json, NoAnswer
from assay.cli.registry.folder import pack
from assay.cli.registry.responses import AcceptedRead, DetailRead, DiscoverRead, ItemRead, read
from assay.cli.registry.targets import RepositoryUrl, Target, Upload
from assay.cli.ui.exits import Exit, exit_of_error, exit_of_state
from assay.fetch.limits import Limits
from assay.model.errors import AssayError, NoSkill
from assay.submit.validate import parse_repository_url

SUBMISSIONS = "/api/v1/submissions"
AT_ONCE = 4
MOST_ITEMS = 1_000
CREATED = 201


@dataclass(frozen=True)
class Wish:
    """Which skill of a repository, by name and path; or every one of a folder in it."""

    skill_name: str | None = None
    skill_path: str | None = None
    all_below: bool = False


@dataclass(frozen=True)
class Admission:
    """What became of one skill; `exit` is the code of it alone, while nobody has waited."""

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


async def hand_in(registry: Registry, targets: Sequence[Target], wish: Wish, limits: Limits) -> list[Admission]:
    """All targets, a few at once; one that is not accepted does not stop the others."""
    room = asyncio.Semaphore(AT_ONCE)

    async def one(target: Target) -> list[Admission]:
        async with room:
            try:
                return await _hand_in(registry, target, wish, limits)
            except NoAnswer:
                raise
            except AssayError as error:
                return [Admission(str(target), "error", exit_of_error(error), code=error.code, detail=error.message)]

    return [each for some in await asyncio.gather(*map(one, targets)) for each in some]


async def _hand_in(registry: Registry, target: Target, wish: Wish, limits: Limits) -> list[Admission]:
    match target:
        case Upload(skill):
            archive = await asyncio.to_thread(pack, skill, limits)
            path, filename = f"{SUBMISSIONS}/upload", f"{skill.name}.tar.gz"
            answers = [await registry.upload(path, archive, filename, skillName=wish.skill_name)]
        case RepositoryUrl(url):
            answers = [await registry.post(SUBMISSIONS, body) for body in await _bodies(registry, url, wish)]
        case _:
            assert_never(target)
    return [each for answer in answers for each in await _admissions(registry, str(target), answer)]


async def _bodies(registry: Registry, url: str, wish: Wish) -> list[Json]:
    """What to ask for: one skill, the whole repository, or by name all that are below a folder of it."""
    whole: Json = {"repoUrl": url, "skillName": wish.skill_name, "skillPath": wish.skill_path, "source": "cli"}
    if not wish.all_below:
        return [whole]
    found = read(DiscoverRead, (await registry.post(f"{SUBMISSIONS}/discover", {"repoUrl": url})).body)
    _, folder = parse_repository_url(url, found.repo_url.removesuffix(f"/{found.repository}"))
    if not folder:
        return [whole]
    below = [{"name": each.name, "path": each.path} for each in found.skills if each.path.startswith(f"{folder}/")]
    if not below:
        raise NoSkill(f"{found.repository} has no SKILL.md below {folder}.")
    chunks = [below[start : start + MOST_ITEMS] for start in range(0, len(below), MOST_ITEMS)]
    return [{"repoUrl": found.repo_url, "skills": chunk, "source": "cli"} for chunk in chunks]


async def _admissions(registry: Registry, target: str, answer: Answer) -> list[Admission]:
    accepted = read(AcceptedRead, answer.body)
    if accepted.batch is not None:
        return [_of_item(target, item) for item in accepted.batch.results]
    submission = read(DetailRead, await registry.get(f"{SUBMISSIONS}/{accepted.id}"))
    item = ItemRead(
        outcome=_outcome(accepted, is_new=answer.status == CREATED),
        id=accepted.id,
        # As it was admitted: a quick worker may have decided it since, which is for those to know who wait.
        state=accepted.state,
        skill_name=submission.skill_name,
        skill_path=submission.skill_path,
        already_verified=accepted.already_verified,
    )
    return [_of_item(target, item)]


def _outcome(accepted: AcceptedRead, *, is_new: bool) -> str:
    if accepted.blocked:
        return "blocked"
    if accepted.duplicate:
        return "duplicate"
    return "created" if is_new else "reopened"


def _of_item(target: str, item: ItemRead) -> Admission:
    return Admission(
        target=target,
        outcome=item.outcome,
        exit=Exit.INVALID if item.state is None else exit_of_state(item.state, waited=False),
        id=item.id,
        state=item.state,
        skill_name=item.skill_name,
        skill_path=item.skill_path,
        already_verified=item.already_verified,
        code=item.code,
        detail=item.detail,
    )
