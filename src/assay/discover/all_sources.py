"""The table of contents of discovery: every source, in the order people read about them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from assay.discover.source import DAY, HOUR, Cadence, Source
from assay.discover.sources.code_search import CodeSearch
from assay.discover.sources.events import Events
from assay.discover.sources.lists import Listed
from assay.discover.sources.marketplaces import Marketplaces
from assay.discover.sources.npm import Npm
from assay.discover.sources.organisations import Organisations
from assay.discover.sources.registries import Registries, Registry
from assay.discover.sources.topics import Topics
from assay.discover.web import Web
from assay.github.client import GitHub
from assay.model.clock import Clock
from assay.model.discovery import SOURCE_NAMES
from assay.model.errors import NotFound
from assay.model.repository import RepositoryName

# GitHub usually asks for a minute between two looks at its events; where it asks for more, the source waits.
EVENTS_EVERY_SECONDS = 60.0


@dataclass(frozen=True)
class SourceOptions:
    """What the operator says about the sources."""

    enabled: Sequence[str]
    topics: Sequence[str]
    organisations: Sequence[str]
    npm_url: str | None
    npm_keywords: Sequence[str]
    registries: Sequence[Registry]
    list_place: str | None
    known: Sequence[RepositoryName]
    every_seconds: float
    floor_seconds: float
    has_token: bool
    web_url: str
    git_hosts: tuple[str, ...]


def all_sources(options: SourceOptions, github: GitHub, web: Web, clock: Clock) -> list[Source]:
    """Those that are enabled and have something to read. GitHub searches code for nobody without a token."""
    usual = Cadence(options.every_seconds, min(HOUR, options.every_seconds), options.floor_seconds)
    lasting = replace(usual, floor_seconds=max(options.floor_seconds, 30 * DAY))
    events = Cadence(EVENTS_EVERY_SECONDS, 10 * EVENTS_EVERY_SECONDS, 7 * DAY, EVENTS_EVERY_SECONDS, shows_all=False)
    hosts = options.web_url, options.git_hosts
    sources: dict[str, Source] = {}
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
    if options.list_place:
        sources["list"] = Listed(web, lasting, options.list_place, *hosts)
    return [sources[name] for name in SOURCE_NAMES if name in sources and name in options.enabled]


def named(sources: Sequence[Source], name: str | None) -> list[Source]:
    """The source of this name, or all; NotFound says which there are."""
    chosen = [each for each in sources if name in (None, each.name)]
    if not chosen:
        there = ", ".join(each.name for each in sources) or "none"
        raise NotFound(f"There is no source {name!r} here; there are: {there}.", code="no_such_source")
    return chosen
