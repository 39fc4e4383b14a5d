"""Validation of repository URLs, skill names and paths."""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import unquote, urlsplit

from assay.fetch.limits import Limits
from assay.fetch.paths import checked_path, folder_of
from assay.model.errors import Invalid
from assay.model.repository import Host, RepositoryName, repository_on_server
from assay.model.skill import slug_of

DEFAULT_PATH = "SKILL.md"
MIN_NAME_LENGTH, MAX_NAME_LENGTH = 2, 100
GITHUB_SEGMENT = re.compile(r"[\w.-]{1,100}", re.ASCII)
# Without a leading dash, which git would read as an option.
GIT_SEGMENT = re.compile(r"[A-Za-z0-9_.][\w.-]{0,99}", re.ASCII)
# Separates a repository from its pages on servers with nested groups (GitLab).
DIVIDER = "-"
# Path segments that follow `owner/repository` on other servers (Gitea, Bitbucket).
PAGES = frozenset({"src", "tree", "blob", "raw", "branches", "commits", "issues", "pulls", "releases", "wiki"})
MAX_PATH_SEGMENTS = 10
# Folders that configure an agent; a skill in one of them is private to its repository.
AGENT_FOLDERS = frozenset({".claude", ".cursor", ".codex", ".gemini", ".github", ".vscode", ".windsurf"})


@dataclass(frozen=True)
class RequestedSkill:
    """A validated request to list one skill."""

    repository: RepositoryName
    skill_name: str
    skill_path: str


@dataclass(frozen=True)
class RepositoryPage:
    """A repository page by its URL: the repository, the folder and the branch, tag or commit (`ref`) it shows."""

    repository: RepositoryName
    folder: str = ""
    ref: str | None = None
    is_skill_file: bool = False


def parse_requested_skill(
    repo_url: str, skill_name: str | None, skill_path: str | None, web_url: str, git_hosts: tuple[str, ...] = ()
) -> RequestedSkill:
    """Validate one request. The URL of a folder (`…/tree/main/skills/pdf`) implies the path. Raises Invalid."""
    repository, folder = parse_repository_url(repo_url, web_url, git_hosts)
    path = checked_skill_path(skill_path or (f"{folder}/{DEFAULT_PATH}" if folder else DEFAULT_PATH))
    name = skill_name or folder_of(path).rpartition("/")[2] or repository.name
    return RequestedSkill(repository, checked_skill_name(name), path)


def parse_repository_url(repo_url: str, web_url: str, git_hosts: tuple[str, ...] = ()) -> tuple[RepositoryName, str]:
    """Return repository and folder ("" for the root) of a URL on GitHub or an accepted git host. Raises Invalid."""
    page = parse_page_url(repo_url, web_url, git_hosts)
    return page.repository, page.folder


@lru_cache(maxsize=1024)  # the items of a bulk request repeat their repositories
def parse_page_url(repo_url: str, web_url: str, git_hosts: tuple[str, ...] = ()) -> RepositoryPage:
    """Parse the URL of a repository or one of its pages. Raises Invalid unless the host is accepted."""
    url = repo_url.strip()
    below = _segments_below(web_url, url)
    for host in () if below else git_hosts:
        if segments := _segments_below(f"http://{host}" if ":" in host else f"https://{host}", url):
            path, page = split_path(segments)
            return _page_of(repository_on_server(host, path), page)
    owner, name, *rest = [*below, "", ""]
    name = name.removesuffix(".git")
    if not _is_segment(owner, GITHUB_SEGMENT) or not _is_segment(name, GITHUB_SEGMENT):
        also = f", or be a repository on {', '.join(git_hosts)}" if git_hosts else ""
        raise Invalid(
            f"repoUrl must look like {web_url}/owner/repository{also}, not {repo_url[:200]!r}.", code="bad_repo_url"
        )
    return _page_of(RepositoryName(Host.GITHUB, owner, name), rest[:-2])


def checked_skill_name(name: str) -> str:
    """Return the normalised name: 2 to 100 visible characters without slashes. Raises Invalid."""
    name = unicodedata.normalize("NFC", name.strip())
    if not MIN_NAME_LENGTH <= len(name) <= MAX_NAME_LENGTH:
        raise Invalid(f"skillName must have {MIN_NAME_LENGTH} to {MAX_NAME_LENGTH} characters.", code="bad_skill_name")
    if "/" in name or "\\" in name or name in ("..", ".") or not _is_visible(name):
        raise Invalid("skillName must not contain slashes or invisible characters.", code="bad_skill_name")
    if not slug_of(name):
        raise Invalid("skillName must contain a letter or a digit.", code="bad_skill_name")
    return name


def checked_skill_path(path: str) -> str:
    """Return the normalised path of a SKILL.md in a repository. Raises Invalid."""
    path = checked_path(unicodedata.normalize("NFC", path.strip()), Limits())
    if path.rpartition("/")[2] != DEFAULT_PATH:
        raise Invalid(f"skillPath must end in {DEFAULT_PATH}: {path!r}.", code="bad_skill_path")
    if not AGENT_FOLDERS.isdisjoint(path.lower().split("/")):
        raise Invalid(
            f"skillPath {path!r} is in a folder with an agent's own configuration, which cannot be listed.",
            code="bad_skill_path",
        )
    return path


def _segments_below(web_url: str, url: str) -> list[str]:
    """Return the path segments below `web_url`; none if the URL is elsewhere or contains credentials."""
    try:
        accepted, given = urlsplit(web_url), urlsplit(url)
        is_accepted = (given.scheme, given.hostname, given.port) == (accepted.scheme, accepted.hostname, accepted.port)
    except ValueError:
        return []
    base, path = _segments(accepted.path), _segments(given.path)
    # urlsplit drops line breaks and tabs, so the parsed URL may differ from the one that was sent.
    if not is_accepted or given.username is not None or path[: len(base)] != base or not _is_visible(url):
        return []
    return path[len(base) :]


def _segments(path: str) -> list[str]:
    path = path.removeprefix("/").removesuffix("/")
    return [unquote(segment) for segment in path.split("/")] if path else []


def split_path(segments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Split the path on another git host into repository and page. Raises Invalid."""
    if DIVIDER in segments:
        at = segments.index(DIVIDER)
        path, page = list(segments[:at]), list(segments[at + 1 :])
    elif len(segments) > 2 and segments[2] in PAGES:
        path, page = list(segments[:2]), list(segments[2:])
    else:
        path, page = list(segments), []
    if path:
        path[-1] = path[-1].removesuffix(".git")
    if not 2 <= len(path) <= MAX_PATH_SEGMENTS or not all(_is_segment(segment, GIT_SEGMENT) for segment in path):
        raise Invalid(
            "repoUrl must look like https://host/owner/repository, with ASCII letters, digits, '.', '_' and '-'.",
            code="bad_repo_url",
        )
    return path, page


def _is_segment(text: str, pattern: re.Pattern[str]) -> bool:
    return pattern.fullmatch(text) is not None and text not in (".", "..")


def _page_of(repository: RepositoryName, page: list[str]) -> RepositoryPage:
    """Return the folder of `tree/main/skills/pdf`, or of the file in `blob/main/…`, and the branch."""
    match page:
        case ["src", "branch" | "tag" | "commit", *of_gitea]:
            return _page_of(repository, ["tree", *of_gitea])
        case ["tree" | "src", ref, *path, last] if last != DEFAULT_PATH:
            return RepositoryPage(repository, "/".join([*path, last]), ref)
        case ["tree" | "blob" | "src", ref, *path, last]:
            return RepositoryPage(repository, "/".join(path), ref, is_skill_file=last == DEFAULT_PATH)
        case ["tree" | "src", ref]:
            return RepositoryPage(repository, "", ref)
        case _:
            return RepositoryPage(repository)


def _is_visible(name: str) -> bool:
    return all(category[0] != "C" and category not in ("Zl", "Zp") for category in map(unicodedata.category, name))
