"""What an argument of `assay scan` means: a folder, a SKILL.md, an archive, or a repository."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from assay.cli.registry.folder import SKILL
from assay.cli.scan.archive import NAMES, find_in_archive, is_archive
from assay.cli.scan.folder import Findings, find_in_folder
from assay.cli.scan.skill import Failed, Found
from assay.cli.ui.lazy import found_at
from assay.fetch.limits import Limits
from assay.model.errors import Invalid


def find_skills(arguments: Sequence[str], limits: Limits) -> Findings:
    """The skills of all arguments, each once; an argument that cannot be meant stops everything before the network."""
    looks = [_look(argument, limits) for argument in arguments]
    skills: dict[str, Found | Failed] = {}
    passed_over: list[str] = []
    for look in looks:
        found = look()
        skills |= {each.where: each for each in found.skills}
        passed_over += found.passed_over
    return Findings(tuple(skills.values()), tuple(passed_over))


def _look(argument: str, limits: Limits) -> Callable[[], Findings]:
    if "://" in argument:
        return _look_at_url(argument, limits)
    path = _path(argument)
    if path.is_dir():
        return partial(find_in_folder, path, limits)
    if path.name == SKILL:
        return partial(find_in_folder, path.parent, limits, alone=True)
    if is_archive(path):
        return lambda: Findings(tuple(find_in_archive(path, argument, limits)))
    raise Invalid(f"{argument!r} is neither a folder, a {SKILL} nor an archive ({', '.join(NAMES)}).")


def _look_at_url(url: str, limits: Limits) -> Callable[[], Findings]:
    # The network is a second's worth of modules, which a scan of a folder does not need.
    wanted = found_at("assay.cli.scan.repository:read_url")(url)
    find = found_at("assay.cli.scan.repository:find_in_repository")
    return lambda: Findings(tuple(find(wanted, limits)))


def _path(argument: str) -> Path:
    try:
        path = Path(argument).expanduser()
        exists = path.exists()
    except (OSError, RuntimeError, ValueError):
        exists = False
    if not exists:
        raise Invalid(f"There is no such file or folder: {argument!r}; a repository is given by its https:// URL.")
    return path
