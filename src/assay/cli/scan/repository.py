"""Skills of a repository, at one commit; loaded only when a URL is scanned, for it needs the network."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from assay import settings
from assay.cli.process.stopping import run_until_done
from assay.cli.registry.folder import SKILL
from assay.cli.scan.place import Place, Root
from assay.cli.scan.skill import Failed, Found
from assay.cli.ui.exits import exit_of_error
from assay.fetch.checkouts import Checkouts, Resolution
from assay.fetch.limits import Limits
from assay.fetch.listing import list_files
from assay.fetch.paths import folder_of
from assay.github.budget import TokenBudget
from assay.github.client import GitHub, GitHubUrls
from assay.github.identities import open_identities
from assay.github.session import open_session
from assay.model.clock import Clock
from assay.model.errors import AssayError, Invalid, NoSkill, NotFound
from assay.model.repository import Host, RepositoryName
from assay.settings import Settings
from assay.submit.validate import RepositoryPage, parse_page_url

COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
NEWEST = "HEAD"


@dataclass(frozen=True)
class RepositoryUrl:
    """A repository, or what one of its pages shows, as the settings of this machine accept it."""

    url: str
    page: RepositoryPage
    settings: Settings

    @property
    def ref(self) -> str:
        """The branch or commit that the URL shows."""
        return self.page.ref or NEWEST


def read_url(url: str) -> RepositoryUrl:
    """What a URL means; Invalid if it is not one of a repository on an accepted host."""
    chosen = settings.read()
    try:
        return RepositoryUrl(url, parse_page_url(url, chosen.github_web_url, chosen.git_hosts), chosen)
    except Invalid:
        accepted = f"{chosen.github_web_url}/owner/repository"
        others = f", or one on {', '.join(chosen.git_hosts)}" if chosen.git_hosts else ""
        raise Invalid(f"{url!r} is no repository that is accepted: give {accepted}{others}.") from None


def find_in_repository(wanted: RepositoryUrl, limits: Limits) -> list[Found | Failed]:
    """Every skill at or below the folder; one Failed if there is no such repository, or its host does not answer."""
    try:
        return run_until_done(_find(wanted, limits))
    except Invalid:
        raise
    except AssayError as problem:
        return [Failed(wanted.url, problem.message, problem.code, exit_of_error(problem))]


async def _find(wanted: RepositoryUrl, limits: Limits) -> list[Found | Failed]:
    chosen, clock = wanted.settings, Clock()
    urls = GitHubUrls(chosen.github_api_url, chosen.github_raw_url, chosen.github_codeload_url)

    def now() -> float:
        return clock.now().timestamp()

    async with open_session() as session:
        identities = open_identities(chosen.plain_github_tokens, chosen.github_app, session, urls.api, now)
        checkouts = Checkouts(GitHub(session, urls, TokenBudget(identities, now)), limits, clock)
        resolution = _at(wanted.ref, await checkouts.resolve(wanted.page.repository, clock.now()))
        commit, name = resolution.commit, resolution.facts.name
        files = await list_files(checkouts.github, checkouts.git, name, commit, wanted.page.folder, _is_skill)
        paths = _skill_paths(wanted.page, [entry.path for entry in files])
        if not paths:
            where = f" below {wanted.page.folder}" if wanted.page.folder else ""
            raise NoSkill(f"{name} has no {SKILL}{where} at {commit[:12]}.")
        return await _cut_all(checkouts, resolution, _root(name, commit, chosen.github_web_url), paths)


def _root(name: RepositoryName, commit: str, web_url: str) -> Root:
    """Where people see the commit. What other servers call the page of a file differs, so none is named there."""
    if name.host is Host.GIT:
        return Root(f"{name.page_url}@{commit}", None, name.page_url, commit)
    page = f"{web_url}/{name}"
    return Root(f"{page}/tree/{commit}", f"{page}/blob/{commit}/", page, commit)


def _is_skill(path: str) -> bool:
    return path.rpartition("/")[2] == SKILL


def _at(ref: str, newest: Resolution) -> Resolution:
    """The commit that the URL names; a branch must be the one that the registry would take."""
    if COMMIT.fullmatch(ref):
        return replace(newest, commit=ref)
    if ref not in (NEWEST, newest.facts.default_branch):
        raise Invalid(
            f"{newest.facts.name} is scanned at {newest.facts.default_branch} or at a whole commit id, not at {ref!r}."
        )
    return newest


def _skill_paths(page: RepositoryPage, paths: Sequence[str]) -> list[str]:
    inside = f"{page.folder}/" if page.folder else ""
    if page.is_skill_file:
        return [path for path in paths if path == f"{inside}{SKILL}"]
    return sorted(path for path in paths if path.startswith(inside))


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
