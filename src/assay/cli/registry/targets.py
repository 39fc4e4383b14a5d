"""Arguments of `assay submit`: a repository, a folder in a repository, or a local folder."""

import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from assay.cli.skill_folders.local_skill import LocalSkill
from assay.cli.skill_folders.select import refuse_credentials, select_skills
from assay.fetch.limits import Limits
from assay.model.errors import Invalid

SHORT_NAME = re.compile(r"[\w-][\w.-]*/[\w.-]+", re.ASCII)
# Arguments with these prefixes are local paths, even if nothing exists there.
LOCAL_PREFIXES = ("/", ".", "~")


@dataclass(frozen=True)
class RepositoryTarget:
    """A repository or a folder in one; the registry finds its skills."""

    url: str

    def __str__(self) -> str:
        return self.url


@dataclass(frozen=True)
class FolderTarget:
    """A local skill."""

    skill: LocalSkill

    def __str__(self) -> str:
        return str(self.skill.folder)


Target = RepositoryTarget | FolderTarget


@dataclass(frozen=True)
class Targets:
    """The targets to submit, and descriptions of the local files that are not sent."""

    all: tuple[Target, ...]
    left_out: tuple[str, ...]

    @property
    def skills(self) -> tuple[LocalSkill, ...]:
        """The local skills, which are uploaded."""
        return tuple(each.skill for each in self.all if isinstance(each, FolderTarget))


def read_targets(
    arguments: list[str], web_url: str, limits: Limits, *, nested: bool, include_hidden: bool = False
) -> Targets:
    """Read all arguments before anything is sent. Raises Invalid for the first one that is wrong.

    Raises Invalid also for files that hold credentials, unless `include_hidden`.
    """
    targets: list[Target] = []
    left_out: list[str] = []
    for argument in arguments:
        path = None if "://" in argument else _local_path(argument)
        if path is None:
            targets.append(RepositoryTarget(repository_url(argument, web_url)))
            continue
        if not path.is_dir():
            raise Invalid(f"{argument!r} is a file: pass the folder of the skill.")
        found = select_skills(path, limits, nested=nested)
        targets.extend(map(FolderTarget, found.skills))
        left_out.extend(found.left_out)
    read = Targets(tuple(dict.fromkeys(targets)), tuple(left_out))
    if not include_hidden:
        refuse_credentials(read.skills, limits)
    return read


def repository_url(text: str, web_url: str) -> str:
    """Return the complete URL of a repository given as a URL, `owner/repository` or `github.com/owner/repository`."""
    if "://" in text:
        return text
    host = urlsplit(web_url)
    if text.startswith(f"{host.netloc}/"):
        return f"{host.scheme}://{text}"
    if SHORT_NAME.fullmatch(text):
        return f"{web_url}/{text}"
    if text.startswith(LOCAL_PREFIXES):
        raise Invalid(f"There is no folder {text!r}.")
    raise Invalid(f"{text!r} is neither a folder nor a repository.")


def _local_path(argument: str) -> Path | None:
    """Return the path if something exists there; None also for invalid paths and a missing home directory."""
    with suppress(OSError, RuntimeError):
        path = Path(argument).expanduser()
        return path if path.exists() else None
    return None
