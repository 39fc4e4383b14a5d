"""Skills of a whole repository, from its tree and its marketplace manifests."""

import asyncio
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import msgspec

from assay.fetch.listing import list_files
from assay.fetch.paths import folder_of
from assay.fetch.single_flight import SingleFlight
from assay.git.client import Git
from assay.github.client import GitHub
from assay.model.clock import Clock
from assay.model.errors import Invalid, NotFound, Unavailable
from assay.model.repository import Host, RepositoryFacts, RepositoryName
from assay.model.skill import slug_of
from assay.model.skill_names import natural_names
from assay.submit.validate import DEFAULT_PATH, checked_skill_name, checked_skill_path

MANIFESTS = (".claude-plugin/marketplace.json", ".agents/plugins/marketplace.json")
MAX_MANIFEST_BYTES = 1024 * 1024
MAX_SKILLS = 5_000
CACHE_TTL = timedelta(seconds=30)
MAX_CACHED = 100
TIMEOUT_SECONDS = 30


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A SKILL.md that cannot be submitted, or a folder in a manifest without a skill."""

    path: str
    why: str


@dataclass(frozen=True)
class RepositorySkills:
    """The paths of all skills of a repository at one commit."""

    facts: RepositoryFacts
    commit: str
    skill_paths: tuple[str, ...]
    left_out: tuple[LeftOut, ...]
    inspected_at: datetime


class _ManifestPlugin(msgspec.Struct, frozen=True):
    source: object = None
    skills: object = None


class _Metadata(msgspec.Struct, frozen=True):
    plugin_root: str = msgspec.field(default="", name="pluginRoot")


class _PluginManifest(msgspec.Struct, frozen=True):
    plugins: list[_ManifestPlugin] = []
    metadata: _Metadata = _Metadata()


class SkillFinder:
    """Finds the skills of repositories; concurrent requests for one repository share an inspection."""

    def __init__(self, github: GitHub, clock: Clock, git: Git | None = None) -> None:
        self._github = github
        self._git = git or Git()
        self._clock = clock
        self._inspections = SingleFlight[RepositorySkills](weigh=lambda _: 1, at_most=MAX_CACHED)

    async def find(self, name: RepositoryName) -> RepositorySkills:
        """Return all skills of the newest commit. Raises RateLimited rather than reporting that there are none."""
        not_before = self._clock.now() - CACHE_TTL
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                return await self._inspections.get(
                    name.key, lambda: self._inspect(name), fresh=lambda known: known.inspected_at >= not_before
                )
        except TimeoutError:
            if name.host is Host.GIT:
                raise Unavailable(f"{name.server} did not respond in time.", code="git_unavailable") from None
            raise Unavailable("GitHub did not respond in time.", code="github_unavailable") from None

    async def _inspect(self, name: RepositoryName) -> RepositorySkills:
        inspected_at = self._clock.now()
        if name.host is Host.GIT:
            facts, commit = await self._git.resolve(name)
        else:
            facts, commit = await asyncio.gather(self._github.get_repository(name), self._github.get_head_commit(name))
        files = await list_files(self._github, self._git, facts.name, commit, wanted=_is_relevant)
        tree = frozenset(entry.path for entry in files if entry.is_regular)
        declared, unreadable = await self._read_manifests(facts.name, commit, tree)
        paths, left_out = await asyncio.to_thread(_partition, tree, declared)
        return RepositorySkills(facts, commit, paths, (*left_out, *unreadable), inspected_at)

    async def _read_manifests(
        self, name: RepositoryName, commit: str, tree: frozenset[str]
    ) -> tuple[set[str], list[LeftOut]]:
        """Return the folders that manifests declare, and the manifests that cannot be read."""
        declared: set[str] = set()
        unreadable: list[LeftOut] = []
        if name.host is Host.GIT:
            # Only file names are fetched from git servers, not manifests.
            return declared, unreadable
        for path in MANIFESTS:
            if path not in tree:
                continue
            try:
                raw = await self._github.get_raw_file(name, commit, path, at_most=MAX_MANIFEST_BYTES)
                declared |= folders_in(raw)
            except (Invalid, NotFound) as problem:
                unreadable.append(LeftOut(path, problem.message))
        return declared, unreadable


def _is_relevant(path: str) -> bool:
    """Return whether a path is a SKILL.md or a manifest; other paths of large repositories are not kept in memory."""
    return path.rpartition("/")[2] == DEFAULT_PATH or path in MANIFESTS


def folders_in(manifest: bytes) -> set[str]:
    """Return the folders that a marketplace manifest declares. Raises Invalid if it cannot be read."""
    try:
        read = msgspec.json.decode(manifest, type=_PluginManifest)
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        raise Invalid(f"The manifest cannot be read: {problem}", code="bad_manifest") from None
    return {folder for plugin in read.plugins for folder in _folders_of(plugin, read.metadata.plugin_root)}


def name_skills(repository: RepositoryName, paths: Sequence[str], known: Mapping[str, str]) -> dict[str, str]:
    """Return a name for each path: the `known` one, else its folder's, made unique with parent folders or a number."""
    names = {path: known[path] for path in paths if path in known}
    taken = {slug_of(name) for name in names.values()}
    for path in sorted(set(paths) - set(names), key=lambda path: (path.count("/"), path)):
        names[path] = next(name for name in _valid_names(repository, path) if slug_of(name) not in taken)
        taken.add(slug_of(names[path]))
    return names


def _folders_of(plugin: _ManifestPlugin, plugin_root: str) -> Iterable[str]:
    if not isinstance(plugin.source, str):
        return  # the plugin is in another repository
    root = _joined(plugin_root, plugin.source)
    yield root
    skills = plugin.skills if isinstance(plugin.skills, list) else [plugin.skills]
    yield from (_joined(root, skill) for skill in skills if isinstance(skill, str))


def _joined(*parts: str) -> str:
    return "/".join(segment for part in parts for segment in part.split("/") if segment not in ("", "."))


def _partition(tree: frozenset[str], declared: set[str]) -> tuple[tuple[str, ...], list[LeftOut]]:
    """Return the valid skill paths of the tree, and the left out paths and declared folders. Raises Invalid."""
    found = sorted(path for path in tree if path.rpartition("/")[2] == DEFAULT_PATH)
    left_out = [
        LeftOut(folder, "A manifest declares this folder, but it contains no skill.")
        for folder in _without_skills(declared, found)
    ]
    paths = []
    for path in found:
        try:
            paths.append(checked_skill_path(path))
        except Invalid as problem:
            left_out.append(LeftOut(path, problem.message))
    if len(paths) > MAX_SKILLS:
        raise Invalid(
            f"The repository has {len(paths):,} skills, but at most {MAX_SKILLS:,} can be submitted at once. "
            "Submit single skills with skillPath.",
            code="too_many_skills",
        )
    return tuple(paths), left_out


def _without_skills(declared: set[str], found: Sequence[str]) -> list[str]:
    holders = Counter[str]()
    for path in found:
        folder = folder_of(path)
        while True:
            holders[folder] += 1
            if not folder:
                break
            folder = folder_of(folder)
    return sorted(folder for folder in declared if not holders[folder])


def _valid_names(repository: RepositoryName, path: str) -> Iterator[str]:
    for name in natural_names(repository, path):
        try:
            yield checked_skill_name(name)
        except Invalid:
            continue
