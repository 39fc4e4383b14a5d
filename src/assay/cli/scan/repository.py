"""Skills in a repository at one commit. Imported only to scan a URL, because it loads the network stack."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from assay import settings
from assay.cli.process.stopping import run_async
from assay.cli.scan.skill import FailedSkill, FoundSkill, ScanRoot, SkillLocation
from assay.cli.skill_folders.walk import SKILL
from assay.cli.ui.exit_codes import exit_code_for_error
from assay.fetch.checkouts import Checkouts, Resolution
from assay.fetch.limits import Limits
from assay.fetch.listing import list_files
from assay.fetch.paths import folder_of
from assay.github.client import GitHub, GitHubUrls
from assay.github.identities import open_identities
from assay.github.session import open_session
from assay.github.token_budget import TokenBudget
from assay.model.clock import Clock
from assay.model.errors import AssayError, Invalid, NoSkill, NotFound
from assay.model.repository import Host, RepositoryName
from assay.settings import Settings
from assay.submit.validate import RepositoryPage, parse_page_url

COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
NEWEST = "HEAD"


@dataclass(frozen=True)
class RepositoryUrl:
    """The URL of a repository or of a page in it, and the settings under which it was accepted."""

    url: str
    page: RepositoryPage
    settings: Settings

    @property
    def ref(self) -> str:
        """The branch or commit in the URL, or HEAD."""
        return self.page.ref or NEWEST


def read_url(url: str) -> RepositoryUrl:
    """Parse a URL. Raises Invalid if it is not a repository on an accepted host."""
    config = settings.read()
    try:
        return RepositoryUrl(url, parse_page_url(url, config.github_web_url, config.git_hosts), config)
    except Invalid:
        accepted = f"{config.github_web_url}/owner/repository"
        others = f", or one on {', '.join(config.git_hosts)}" if config.git_hosts else ""
        raise Invalid(f"{url!r} is not an accepted repository: use {accepted}{others}.") from None


def find_in_repository(repository: RepositoryUrl, limits: Limits) -> list[FoundSkill | FailedSkill]:
    """Return every skill in and below the URL's folder; one FailedSkill if the repository cannot be read."""
    try:
        return run_async(_find(repository, limits))
    except Invalid:
        raise
    except AssayError as problem:
        return [FailedSkill(repository.url, problem.message, problem.code, exit_code_for_error(problem))]


async def _find(repository: RepositoryUrl, limits: Limits) -> list[FoundSkill | FailedSkill]:
    config, page, clock = repository.settings, repository.page, Clock()
    urls = GitHubUrls(config.github_api_url, config.github_raw_url, config.github_codeload_url)

    def now() -> float:
        return clock.now().timestamp()

    async with open_session() as session:
        identities = open_identities(config.plain_github_tokens, config.github_app, session, urls.api, now)
        checkouts = Checkouts(GitHub(session, urls, TokenBudget(identities, now)), limits, clock)
        resolution = _at(repository.ref, await checkouts.resolve(page.repository, clock.now()))
        commit, name = resolution.commit, resolution.facts.name
        files = await list_files(checkouts.github, checkouts.git, name, commit, page.folder, _is_skill)
        paths = _skill_paths(page, [entry.path for entry in files])
        if not paths:
            where = f" below {page.folder}" if page.folder else ""
            raise NoSkill(f"{name} has no {SKILL}{where} at {commit[:12]}.")
        return await _extract_all(checkouts, resolution, _root(name, commit, config.github_web_url), paths)


def _root(name: RepositoryName, commit: str, web_url: str) -> ScanRoot:
    """Return the root with its page URLs; hosts other than GitHub have no common URL for a file."""
    if name.host is Host.GIT:
        return ScanRoot(f"{name.page_url}@{commit}", None, name.page_url, commit)
    page = f"{web_url}/{name}"
    return ScanRoot(f"{page}/tree/{commit}", f"{page}/blob/{commit}/", page, commit)


def _is_skill(path: str) -> bool:
    return path.rpartition("/")[2] == SKILL


def _at(ref: str, newest: Resolution) -> Resolution:
    """Return the resolution for a commit id, or for the default branch, which a registry uses. Raises Invalid."""
    if COMMIT.fullmatch(ref):
        return replace(newest, commit=ref)
    if ref not in (NEWEST, newest.facts.default_branch):
        raise Invalid(
            f"{newest.facts.name} can only be scanned at {newest.facts.default_branch} or at a complete commit id,"
            f" not at {ref!r}."
        )
    return newest


def _skill_paths(page: RepositoryPage, paths: Sequence[str]) -> list[str]:
    inside = f"{page.folder}/" if page.folder else ""
    if page.is_skill_file:
        return [path for path in paths if path == f"{inside}{SKILL}"]
    return sorted(path for path in paths if path.startswith(inside))


async def _extract_all(
    checkouts: Checkouts, resolution: Resolution, root: ScanRoot, paths: Sequence[str]
) -> list[FoundSkill | FailedSkill]:
    skills: list[FoundSkill | FailedSkill] = []
    size_bytes = 0
    for path in paths:
        location = SkillLocation(root, folder_of(path))
        try:
            async with checkouts.open_skill(resolution, path) as source:
                skills.append(FoundSkill(location, source))
                size_bytes += source.manifest.size_bytes
        except (Invalid, NotFound) as problem:
            skills.append(FailedSkill(str(location), problem.message, problem.code))
        if size_bytes > checkouts.limits.archive_bytes:
            raise Invalid(
                f"The skills of {resolution.facts.name} have more than {checkouts.limits.archive_bytes:,} bytes:"
                " pass the URL of a folder in it.",
                code="archive_too_large",
            )
    return skills
