"""What may be submitted: repository URLs, skill names and paths, checked and made canonical."""

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import unquote, urlsplit

from assay.fetch.limits import Limits
from assay.fetch.paths import checked_path, folder_of
from assay.model.errors import Invalid
from assay.model.naming import slug_of
from assay.model.repository import Host, RepositoryName, on_server
from assay.submit.git_paths import split_path

DEFAULT_PATH = "SKILL.md"
SHORTEST_NAME, LONGEST_NAME = 2, 100
SEGMENT = re.compile(r"[\w.-]{1,100}", re.ASCII)
# Folders that configure an agent are not skills to hand out.
AGENT_FOLDERS = frozenset({".claude", ".cursor", ".codex", ".gemini", ".github", ".vscode", ".windsurf"})


@dataclass(frozen=True)
class Wanted:
    """A skill somebody wants listed: which one, where."""

    repository: RepositoryName
    skill_name: str
    skill_path: str


@dataclass(frozen=True)
class RepositoryPage:
    """What the address of a page says: the repository, a folder of it, and the branch or commit that is shown."""

    repository: RepositoryName
    folder: str = ""
    ref: str | None = None
    is_skill_file: bool = False


def wanted_skill(
    repo_url: str, skill_name: str | None, skill_path: str | None, web_url: str, git_hosts: tuple[str, ...] = ()
) -> Wanted:
    """Check one request. A URL of a folder (`…/tree/main/skills/pdf`) names the path by itself."""
    repository, folder = parse_repository_url(repo_url, web_url, git_hosts)
    path = checked_skill_path(skill_path or (f"{folder}/{DEFAULT_PATH}" if folder else DEFAULT_PATH))
    name = skill_name or folder_of(path).rpartition("/")[2] or repository.name
    return Wanted(repository, checked_skill_name(name), path)


def parse_repository_url(repo_url: str, web_url: str, git_hosts: tuple[str, ...] = ()) -> tuple[RepositoryName, str]:
    """Owner, name and perhaps a folder of a repository URL on GitHub or one of the other accepted hosts."""
    page = parse_page_url(repo_url, web_url, git_hosts)
    return page.repository, page.folder


@lru_cache(maxsize=1024)  # the items of a bulk request repeat their repositories
def parse_page_url(repo_url: str, web_url: str, git_hosts: tuple[str, ...] = ()) -> RepositoryPage:
    """A repository and what its page shows; Invalid if it is on no accepted host."""
    url = repo_url.strip()
    below = _segments_below(web_url, url)
    for host in () if below else git_hosts:
        if segments := _segments_below(f"http://{host}" if ":" in host else f"https://{host}", url):
            path, shown = split_path(segments)
            return _page_of(on_server(host, path), shown)
    owner, name, *rest = [*below, "", ""]
    name = name.removesuffix(".git")
    if not _is_segment(owner) or not _is_segment(name):
        also = f", or be a repository on {', '.join(git_hosts)}" if git_hosts else ""
        raise Invalid(
            f"repoUrl must look like {web_url}/owner/repository{also}, not {repo_url[:200]!r}.", code="bad_repo_url"
        )
    return _page_of(RepositoryName(Host.GITHUB, owner, name), rest[:-2])


def checked_skill_name(name: str) -> str:
    """2 to 100 visible characters, normalised; no slashes, since it becomes part of a name."""
    name = unicodedata.normalize("NFC", name.strip())
    if not SHORTEST_NAME <= len(name) <= LONGEST_NAME:
        raise Invalid(f"skillName must have {SHORTEST_NAME} to {LONGEST_NAME} characters.", code="bad_skill_name")
    if "/" in name or "\\" in name or name in ("..", ".") or not _is_visible(name):
        raise Invalid("skillName must not contain slashes or invisible characters.", code="bad_skill_name")
    if not slug_of(name):
        raise Invalid("skillName must contain a letter or a digit.", code="bad_skill_name")
    return name


def checked_skill_path(path: str) -> str:
    """The path of a SKILL.md inside a repository."""
    path = checked_path(unicodedata.normalize("NFC", path.strip()), Limits())
    if path.rpartition("/")[2] != DEFAULT_PATH:
        raise Invalid(f"skillPath must end in {DEFAULT_PATH}: {path!r}.", code="bad_skill_path")
    if not AGENT_FOLDERS.isdisjoint(path.lower().split("/")):
        raise Invalid(f"{path!r} is part of an agent's own configuration.", code="bad_skill_path")
    return path


def _segments_below(web_url: str, url: str) -> list[str]:
    """The parts of a URL's path below the accepted address; none if it is another's, or says more than an address."""
    try:
        accepted, given = urlsplit(web_url), urlsplit(url)
        is_accepted = (given.scheme, given.hostname, given.port) == (accepted.scheme, accepted.hostname, accepted.port)
    except ValueError:
        return []
    base, path = _segments(accepted.path), _segments(given.path)
    # urlsplit takes line ends and tabs out of a URL, so what it reads may not be what was sent.
    if not is_accepted or given.username is not None or path[: len(base)] != base or not _is_visible(url):
        return []
    return path[len(base) :]


def _segments(path: str) -> list[str]:
    path = path.removeprefix("/").removesuffix("/")
    return [unquote(segment) for segment in path.split("/")] if path else []


def _is_segment(text: str) -> bool:
    return SEGMENT.fullmatch(text) is not None and text not in (".", "..")


def _page_of(repository: RepositoryName, shown: list[str]) -> RepositoryPage:
    """What a page shows: the folder of `tree/main/skills/pdf`, or of the file in `blob/main/…`, and the branch."""
    match shown:
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
