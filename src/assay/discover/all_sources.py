"""All discovery sources, built from the configuration in their documented order."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from assay.discover.source import DAY, HOUR, Cadence, DiscoverySource
from assay.discover.sources.code_search import CodeSearch
from assay.discover.sources.events import Events
from assay.discover.sources.marketplaces import Marketplaces
from assay.discover.sources.npm import Npm
from assay.discover.sources.organisations import Organisations
from assay.discover.sources.registries import ExternalRegistry, Registries
from assay.discover.sources.repository_list import RepositoryList
from assay.discover.sources.topics import Topics
from assay.discover.web import Web
from assay.github.client import GitHub
from assay.model.clock import Clock
from assay.model.discovery import SOURCE_NAMES
from assay.model.errors import NotFound
from assay.model.repository import RepositoryName

# GitHub usually asks for a minute between polls of its events; where it asks for more, the source waits.
EVENTS_EVERY_SECONDS = 60.0


@dataclass(frozen=True)
class SourceOptions:
    """Configuration of the sources."""

    enabled: Sequence[str]
    topics: Sequence[str]
    organisations: Sequence[str]
    npm_url: str | None
    npm_keywords: Sequence[str]
    registries: Sequence[ExternalRegistry]
    list_location: str | None
    known: Sequence[RepositoryName]
    every_seconds: float
    floor_seconds: float
    has_token: bool
    web_url: str
    git_hosts: tuple[str, ...]


def all_sources(options: SourceOptions, github: GitHub, web: Web, clock: Clock) -> list[DiscoverySource]:
    """Return the sources that are enabled and configured. GitHub's code search needs a token."""
    usual = Cadence(options.every_seconds, min(HOUR, options.every_seconds), options.floor_seconds)
    lasting = replace(usual, floor_seconds=max(options.floor_seconds, 30 * DAY))
    events = Cadence(EVENTS_EVERY_SECONDS, 10 * EVENTS_EVERY_SECONDS, 7 * DAY, EVENTS_EVERY_SECONDS, shows_all=False)
    hosts = options.web_url, options.git_hosts
    sources: dict[str, DiscoverySource] = {}
    if options.has_token:
        sources["code-search"] = CodeSearch(github, usual, options.known)
        sources["marketplaces"] = Marketplaces(github, usual, *hosts)
    if options.topics:
        sources["topics"] = Topics(github, replace(usual, shows_all=False), options.topics, clock.now)
    if options.organisations:
        sources["organisations"] = Organisations(github, lasting, options.organisations)
    sources["events"] = Events(github, events, options.organisations, clock.now)
    if options.npm_url and options.npm_keywords:
        sources["npm"] = Npm(web, usual, options.npm_url, options.npm_keywords, *hosts)
    if options.registries:
        sources["registries"] = Registries(web, usual, options.registries, *hosts)
    if options.list_location:
        sources["list"] = RepositoryList(web, lasting, options.list_location, *hosts)
    return [sources[name] for name in SOURCE_NAMES if name in sources and name in options.enabled]


def select_sources(sources: Sequence[DiscoverySource], name: str | None) -> list[DiscoverySource]:
    """Return the named source, or all; raise NotFound with the available names."""
    chosen = [each for each in sources if name in (None, each.name)]
    if not chosen:
        available = ", ".join(each.name for each in sources) or "none"
        raise NotFound(f"There is no source {name!r}. Available sources: {available}.", code="no_such_source")
    return chosen
