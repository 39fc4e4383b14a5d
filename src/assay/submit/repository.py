"""A whole repository: every skill in its tree, and what its marketplace manifests say of them."""

import asyncio
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import msgspec

from assay.fetch.flight import SingleFlight
from assay.fetch.listing import list_files
from assay.fetch.paths import folder_of
from assay.git.client import Git
from assay.github.client import GitHub
from assay.model.clock import Clock
from assay.model.errors import AssayError, Invalid, NotFound, Unavailable
from assay.model.naming import slug_of
from assay.model.repository import Host, RepositoryFacts, RepositoryName
from assay.submit.validate import DEFAULT_PATH, checked_skill_name, checked_skill_path

MANIFESTS = (".claude-plugin/marketplace.json", ".agents/plugins/marketplace.json")
LARGEST_MANIFEST_BYTES = 1024 * 1024
MOST_SKILLS = 5_000
STILL_FRESH = timedelta(seconds=30)
REMEMBERED = 100
ANSWER_SECONDS = 30
# Folders that only group skills: they say nothing about the one inside.
GROUPS = frozenset({"skills", "plugins", "src"})


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A SKILL.md that cannot be submitted, or something a manifest promises and the tree does not have."""

    path: str
    why: str


@dataclass(frozen=True)
class RepositorySkills:
    """The skills of a repository at a commit, by path, and what was left out."""

    facts: RepositoryFacts
    commit: str
    skill_paths: tuple[str, ...]
    left_out: tuple[LeftOut, ...]
    looked_at: datetime


class _Plugin(msgspec.Struct, frozen=True):
    source: object = None
    skills: object = None


class _Metadata(msgspec.Struct, frozen=True):
    plugin_root: str = msgspec.field(default="", name="pluginRoot")


class _Manifest(msgspec.Struct, frozen=True):
    plugins: list[_Plugin] = []
    metadata: _Metadata = _Metadata()


class SkillFinder:
    """Looks into repositories for one process; who asks for the same one at the same time shares the look."""

    def __init__(self, github: GitHub, clock: Clock, git: Git | None = None) -> None:
        self._github = github
        self._git = git or Git()
        self._clock = clock
        self._looks = SingleFlight[RepositorySkills](weigh=lambda _: 1, at_most=REMEMBERED)

    async def find(self, name: RepositoryName) -> RepositorySkills:
        """Every skill of the newest commit. A rate limit is an error of its own, never "no skill"."""
        not_before = self._clock.now() - STILL_FRESH
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                return await self._looks.get(
                    name.key, lambda: self._look(name), fresh=lambda known: known.looked_at >= not_before
                )
        except TimeoutError:
            if name.host is Host.GIT:
                raise Unavailable(f"{name.server} takes too long to answer.", code="git_unavailable") from None
            raise Unavailable("GitHub takes too long to answer.", code="github_unavailable") from None

    async def _look(self, name: RepositoryName) -> RepositorySkills:
        looked_at = self._clock.now()
        if name.host is Host.GIT:
            facts, commit = await self._git.resolve(name)
        else:
            facts, commit = await asyncio.gather(self._github.get_repository(name), self._github.get_head_commit(name))
        files = await list_files(self._github, self._git, facts.name, commit, wanted=_is_telling)
        tree = frozenset(entry.path for entry in files if entry.is_regular)
        promised, unreadable = await self._promised(facts.name, commit, tree)
        paths, left_out = await asyncio.to_thread(_sort_out, tree, promised)
        return RepositorySkills(facts, commit, paths, (*left_out, *unreadable), looked_at)

    async def _promised(
        self, name: RepositoryName, commit: str, tree: frozenset[str]
    ) -> tuple[set[str], list[LeftOut]]:
        """The folders that manifests name, and the manifests that cannot be read."""
        promised: set[str] = set()
        unreadable: list[LeftOut] = []
        if name.host is Host.GIT:
            # Only the names of files are fetched there, so what a manifest says is not known.
            return promised, unreadable
        for path in MANIFESTS:
            if path not in tree:
                continue
            try:
                raw = await self._github.get_raw_file(name, commit, path, at_most=LARGEST_MANIFEST_BYTES)
                promised |= folders_in(raw)
            except (Invalid, NotFound) as problem:
                unreadable.append(LeftOut(path, problem.message))
        return promised, unreadable


def _is_telling(path: str) -> bool:
    """What says something about skills; nothing else of a large repository is remembered."""
    return path.rpartition("/")[2] == DEFAULT_PATH or path in MANIFESTS


def folders_in(manifest: bytes) -> set[str]:
    """The folders of the repository that a marketplace manifest names; Invalid if it cannot be read."""
    try:
        read = msgspec.json.decode(manifest, type=_Manifest)
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        raise Invalid(f"The manifest cannot be read: {problem}", code="bad_manifest") from None
    return {folder for plugin in read.plugins for folder in _folders_of(plugin, read.metadata.plugin_root)}


def name_skills(repository: RepositoryName, paths: Sequence[str], known: Mapping[str, str]) -> dict[str, str]:
    """A name for each path: the one it is `known` by, else its folder's, told apart where folders are called alike."""
    names = {path: known[path] for path in paths if path in known}
    taken = {slug_of(name) for name in names.values()}
    for path in sorted(set(paths) - set(names), key=lambda path: (path.count("/"), path)):
        names[path] = next(name for name in _candidates(repository, path) if slug_of(name) not in taken)
        taken.add(slug_of(names[path]))
    return names


def _folders_of(plugin: _Plugin, plugin_root: str) -> Iterable[str]:
    if not isinstance(plugin.source, str):
        return  # it lives elsewhere
    root = _joined(plugin_root, plugin.source)
    yield root
    skills = plugin.skills if isinstance(plugin.skills, list) else [plugin.skills]
    yield from (_joined(root, skill) for skill in skills if isinstance(skill, str))


def _joined(*parts: str) -> str:
    return "/".join(segment for part in parts for segment in part.split("/") if segment not in ("", "."))


def _sort_out(tree: frozenset[str], promised: set[str]) -> tuple[tuple[str, ...], list[LeftOut]]:
    """The union, keyed by path, of what the tree has and what manifests promise."""
    found = sorted(path for path in tree if path.rpartition("/")[2] == DEFAULT_PATH)
    left_out = [LeftOut(folder, "A manifest names it, but it holds no skill.") for folder in _empty(promised, found)]
    paths = []
    for path in found:
        try:
            paths.append(checked_skill_path(path))
        except Invalid as problem:
            left_out.append(LeftOut(path, problem.message))
    if len(paths) > MOST_SKILLS:
        raise Invalid(
            f"The repository has {len(paths):,} skills; at most {MOST_SKILLS:,} can be submitted at once: name some.",
            code="too_many_skills",
        )
    return tuple(paths), left_out


def _empty(promised: set[str], found: Sequence[str]) -> list[str]:
    holders = Counter[str]()
    for path in found:
        folder = folder_of(path)
        while True:
            holders[folder] += 1
            if not folder:
                break
            folder = folder_of(folder)
    return sorted(folder for folder in promised if not holders[folder])


def _candidates(repository: RepositoryName, path: str) -> Iterable[str]:
    """The folder's name, then with more and more of the folders around it, then with a number."""
    folders = [part for part in folder_of(path).split("/") if part]
    *around, last = folders or [repository.name]
    name = last
    yield from _checked(name)
    for folder in reversed(around):
        if folder.lower() not in GROUPS:
            name = f"{folder}-{name}"
            yield from _checked(name)
    number = 2
    while True:
        yield from _checked(f"{last}-{number}")
        number += 1


def _checked(name: str) -> Iterable[str]:
    try:
        yield checked_skill_name(name)
    except AssayError:
        return
