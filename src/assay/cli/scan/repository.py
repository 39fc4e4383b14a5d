"""Skills of a repository on GitHub, at one commit; loaded only when a URL is scanned, for it needs the network."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from assay import settings
from assay.cli.exits import exit_of_error
from assay.cli.folder import SKILL
from assay.cli.scan.place import Place, Root
from assay.cli.scan.skill import Failed, Found
from assay.cli.stopping import run_until_done
from assay.fetch.checkouts import Checkouts, Resolution
from assay.fetch.limits import Limits
from assay.fetch.paths import folder_of
from assay.github.budget import TokenBudget
from assay.github.client import GitHub, GitHubUrls
from assay.github.identities import open_identities
from assay.github.session import open_session
from assay.model.clock import Clock
from assay.model.errors import AssayError, Invalid, NoSkill, NotFound
from assay.model.repository import RepositoryName
from assay.submit.validate import parse_repository_url

COMMIT = re.compile(r"[0-9a-f]{40}")
NEWEST = "HEAD"


@dataclass(frozen=True)
class RepositoryUrl:
    """A repository or a folder of it; `ref` is the branch or commit that the URL shows."""

    url: str
    web_url: str
    name: RepositoryName
    folder: str
    ref: str
    is_one_skill: bool


def read_url(url: str) -> RepositoryUrl:
    """What a URL means; Invalid if it is not one of a repository on GitHub."""
    web_url = settings.read().github_web_url
    try:
        name, folder = parse_repository_url(url, web_url)
    except Invalid:
        raise Invalid(f"{url!r} is no repository on GitHub: give {web_url}/owner/repository.") from None
    below = urlsplit(url).path.removeprefix(urlsplit(web_url).path.rstrip("/")).strip("/").split("/")[2:]
    ref = below[1] if len(below) > 1 and below[0] in ("tree", "blob") else NEWEST
    return RepositoryUrl(url, web_url, name, folder, ref, is_one_skill=bool(below) and below[-1] == SKILL)


def find_in_repository(wanted: RepositoryUrl, limits: Limits) -> list[Found | Failed]:
    """Every skill at or below the folder; one Failed if GitHub has no such repository, or does not answer."""
    try:
        return run_until_done(_find(wanted, limits))
    except Invalid:
        raise
    except AssayError as problem:
        return [Failed(wanted.url, problem.message, problem.code, exit_of_error(problem))]


async def _find(wanted: RepositoryUrl, limits: Limits) -> list[Found | Failed]:
    chosen, clock = settings.read(), Clock()
    urls = GitHubUrls(chosen.github_api_url, chosen.github_raw_url, chosen.github_codeload_url)

    def now() -> float:
        return clock.now().timestamp()

    async with open_session() as session:
        identities = open_identities(chosen.plain_github_tokens, chosen.github_app, session, urls.api, now)
        github = GitHub(session, urls, TokenBudget(identities, now))
        checkouts = Checkouts(github, limits, clock)
        resolution = _at(wanted.ref, await checkouts.resolve(wanted.name, clock.now()))
        commit, name = resolution.commit, resolution.facts.name
        tree = await github.get_tree(name, commit)
        paths = _skill_paths(wanted, [entry.path for entry in tree])
        if not paths:
            where = f" below {wanted.folder}" if wanted.folder else ""
            raise NoSkill(f"{name} has no {SKILL}{where} at {commit[:12]}.")
        page = f"{wanted.web_url}/{name}"
        root = Root(f"{page}/tree/{commit}", f"{page}/blob/{commit}/", page, commit)
        return await _cut_all(checkouts, resolution, root, paths)


def _at(ref: str, newest: Resolution) -> Resolution:
    """The commit that the URL names; a branch must be the one that the registry would take."""
    if COMMIT.fullmatch(ref):
        return replace(newest, commit=ref)
    if ref not in (NEWEST, newest.facts.default_branch):
        raise Invalid(
            f"{newest.facts.name} is scanned at {newest.facts.default_branch} or at a whole commit id, not at {ref!r}."
        )
    return newest


def _skill_paths(wanted: RepositoryUrl, paths: Sequence[str]) -> list[str]:
    inside = f"{wanted.folder}/" if wanted.folder else ""
    if wanted.is_one_skill:
        return [path for path in paths if path == f"{inside}{SKILL}"]
    return sorted(path for path in paths if path.startswith(inside) and path.rpartition("/")[2] == SKILL)


async def _cut_all(
    checkouts: Checkouts, resolution: Resolution, root: Root, paths: Sequence[str]
) -> list[Found | Failed]:
    skills: list[Found | Failed] = []
    size_bytes = 0
    for path in paths:
        place = Place(root, folder_of(path))
        try:
            async with checkouts.cut(resolution, path) as source:
                skills.append(Found(place, source))
                size_bytes += source.manifest.size_bytes
        except (Invalid, NotFound) as problem:
            skills.append(Failed(str(place), problem.message, problem.code))
        if size_bytes > checkouts.limits.archive_bytes:
            raise Invalid(
                f"The skills of {resolution.facts.name} have more than {checkouts.limits.archive_bytes:,} bytes:"
                " name a folder of it.",
                code="archive_too_large",
            )
    return skills
