"""What an argument of `assay submit` means: a repository, a folder in one, or a folder of this machine."""

import re
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from assay.cli.registry.folder import LocalSkill, find_skills
from assay.fetch.limits import Limits
from assay.model.errors import Invalid

SHORT = re.compile(r"[\w-][\w.-]*/[\w.-]+", re.ASCII)
# What begins so is a place on this machine, there or not.
LOCAL = ("/", ".", "~")


@dataclass(frozen=True)
class RepositoryUrl:
    """A repository, or a folder in one; the registry says which of its skills there are."""

    url: str

    def __str__(self) -> str:
        return self.url


@dataclass(frozen=True)
class Upload:
    """A skill of this machine."""

    skill: LocalSkill

    def __str__(self) -> str:
        return str(self.skill.folder)


Target = RepositoryUrl | Upload


@dataclass(frozen=True)
class Targets:
    """What is to be sent, and what of the folders is not."""

    all: tuple[Target, ...]
    left_out: tuple[str, ...]


def read_targets(arguments: list[str], web_url: str, limits: Limits, *, nested: bool) -> Targets:
    """All arguments, before anything is sent: one that cannot be meant stops everything."""
    targets: list[Target] = []
    left_out: list[str] = []
    for argument in arguments:
        place = None if "://" in argument else _place(argument)
        if place is None:
            targets.append(RepositoryUrl(repository_url(argument, web_url)))
            continue
        if not place.is_dir():
            raise Invalid(f"{argument!r} is a file: give the folder of the skill.")
        found = find_skills(place, limits, nested=nested)
        targets.extend(map(Upload, found.skills))
        left_out.extend(found.left_out)
    return Targets(tuple(dict.fromkeys(targets)), tuple(left_out))


def repository_url(text: str, web_url: str) -> str:
    """A URL as it is; `owner/repository` and `github.com/owner/repository` with what is missing."""
    if "://" in text:
        return text
    host = urlsplit(web_url)
    if text.startswith(f"{host.netloc}/"):
        return f"{host.scheme}://{text}"
    if SHORT.fullmatch(text):
        return f"{web_url}/{text}"
    what = "There is no such folder" if text.startswith(LOCAL) else "This is no folder and no repository"
    raise Invalid(f"{what}: {text!r}.")


def _place(argument: str) -> Path | None:
    """What is there on this machine, if anything; no home and names that cannot be are nothing."""
    with suppress(OSError, RuntimeError):
        place = Path(argument).expanduser()
        return place if place.exists() else None
    return None
