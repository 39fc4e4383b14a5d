"""The crawler and its sources, created from the settings."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from assay.app.app import App
from assay.discover.all_sources import SourceOptions, all_sources
from assay.discover.crawl import Crawler, RunRequest
from assay.discover.inspect import Inspector
from assay.discover.sources.registries import ExternalRegistry
from assay.discover.web import open_web
from assay.model.discovery import MAX_RESULTS_PER_RUN, RegistryKind
from assay.model.repository import Host, RepositoryName
from assay.serve.skills.starter import starter_skills
from assay.settings import Settings


@asynccontextmanager
async def open_crawler(app: App) -> AsyncIterator[Crawler]:
    """Yield a crawler with all configured sources."""
    settings = app.settings
    async with open_web(allow_private=settings.discovery_private_addresses) as web:
        sources = all_sources(_source_options(settings), app.github, web, app.clock)
        inspector = Inspector(app.store, app.finder, app.clock)
        yield Crawler(app.store, inspector, settings.lease_seconds, sources)


def crawl_request(
    settings: Settings, by: str, *, max_results: int | None = None, is_manual: bool = False
) -> RunRequest:
    """Return a request for a run, limited by the settings."""
    most = min(max_results or settings.discovery_max_results, MAX_RESULTS_PER_RUN)
    return RunRequest(by, most, settings.discovery_calls, is_manual=is_manual)


def known_repositories(settings: Settings) -> list[RepositoryName]:
    """Return the repositories that discovery is expected to find."""
    names = settings.discovery_known or dict.fromkeys(each.repository for each in starter_skills())
    return [RepositoryName(Host.GITHUB, *name.split("/", 1)) for name in names]


def _source_options(settings: Settings) -> SourceOptions:
    registries = [each.split("+", 1) for each in settings.discovery_registries]
    return SourceOptions(
        enabled=settings.discovery_sources,
        topics=settings.discovery_topics,
        organisations=settings.discovery_organisations,
        npm_url=settings.discovery_npm_url,
        npm_keywords=settings.discovery_npm_keywords,
        registries=[ExternalRegistry(RegistryKind(kind), url) for kind, url in registries],
        list_location=settings.discovery_list,
        known=known_repositories(settings),
        every_seconds=settings.discovery_every_seconds,
        floor_seconds=settings.discovery_floor_seconds,
        has_token=bool(settings.github_tokens or settings.github_app),
        web_url=settings.github_web_url,
        git_hosts=settings.git_hosts,
    )
