"""Discovery sources against services on loopback."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import text

from assay.discover.crawl import RunRequest
from assay.discover.dry_run import dry_run_source
from assay.discover.source import BudgetSpent, Cadence, DiscoverySource, RunCallBudget
from assay.discover.sources.code_search import CodeSearch
from assay.discover.sources.marketplaces import Marketplaces
from assay.discover.sources.npm import Npm
from assay.discover.sources.organisations import Organisations
from assay.discover.sources.registries import ExternalRegistry as Other
from assay.discover.sources.registries import Registries
from assay.discover.sources.repository_list import RepositoryList
from assay.discover.sources.shards import Shard, all_shards
from assay.discover.sources.topics import Topics
from assay.discover.web import Web, open_web
from assay.model.discovery import RegistryKind, RunOutcome
from tests.support.discover.crawling import (
    a_crawler,
    add_repositories,
    crawl,
    expected_submissions,
    list_submissions,
    repository_name,
)
from tests.support.discover.loopback import serving
from tests.support.fake_github import FakeGitHub
from tests.support.registry import Registry
from tests.support.skills import a_skill

CADENCE = Cadence()
TOKEN = "ghp_discovery"


@pytest.fixture
async def outside() -> AsyncIterator[Web]:
    async with open_web(allow_private=True) as opened:
        yield opened


@pytest.fixture
def settings(settings: Any) -> Any:
    """Return settings with a token, which code search requires."""
    return type(settings).model_validate({**settings.model_dump(), "github_tokens": (TOKEN,)})


@pytest.fixture(autouse=True)
def _token(github: FakeGitHub) -> None:
    github.add_token(TOKEN, search_limit=10_000, code_search_limit=10_000)


async def found_by(
    source: DiscoverySource, budget: RunCallBudget | None = None, stop_after: int | None = None
) -> set[str]:
    """Return every repository of a cycle, resumed from the checkpoint after each page."""
    names: set[str] = set()
    checkpoint, budget, pages = None, budget or RunCallBudget(10_000), 0
    while True:
        async for page in source.pages(checkpoint, budget):
            names |= {str(each.repository) for each in page.candidates}
            checkpoint, pages = page.checkpoint, pages + 1
            break
        if page.is_last or pages == stop_after:
            return names


async def test_code_search_reads_beyond_1000_results(registry: Registry) -> None:
    """G89: 2,600 files of a narrow size range, from any checkpoint."""
    for number in range(13):
        files = {f"a/{'x/' * (skill % 3)}s{skill}/SKILL.md": "y" * (1_100 + skill) for skill in range(200)}
        registry.github.add_repository(f"acme/repo-{number}", files=files)
    source = CodeSearch(registry.app.github, CADENCE)
    paths: list[tuple[str, str]] = []
    checkpoint: Any = None
    while True:
        async for page in source.pages(checkpoint, RunCallBudget(10_000)):
            paths += [(str(each.repository), path) for each in page.candidates for path in each.paths]
            checkpoint = page.checkpoint
            break
        if page.is_last:
            break
    assert len(paths) == len(set(paths)) == 2_600
    assert registry.github.count("search") < 80


async def test_unsplittable_shard_is_read_from_both_ends(registry: Registry) -> None:
    """G89."""
    for number in range(12):
        registry.github.add_repository(f"acme/r{number}", {f"s{skill}/SKILL.md": "y" * 700 for skill in range(100)})
    orders = set()
    async for page in CodeSearch(registry.app.github, CADENCE).pages(None, RunCallBudget(10_000)):
        orders |= {shard[3] for shard in (page.checkpoint or {}).get("shards", []) if shard[:2] == [700, 700]}
    assert {True, False} == orders


async def test_incomplete_results_are_retried_and_split(registry: Registry) -> None:
    """G89."""
    add_repositories(registry, 3)
    registry.github.incomplete_results = True
    budget = RunCallBudget(200)
    with pytest.raises(BudgetSpent):
        await found_by(CodeSearch(registry.app.github, CADENCE), budget)
    registry.github.incomplete_results = False
    assert {"acme/repo-0", "acme/repo-1", "acme/repo-2"} == await found_by(CodeSearch(registry.app.github, CADENCE))


@given(st.integers(0, 1_000_000))
def test_shards_cover_every_size_once(size: int) -> None:
    """G89."""
    shards = all_shards()
    for _ in range(3):
        shards = [part for each in shards for part in (each.divided() if each.is_divisible else [each])]
    assert 1 == sum(each.low <= size and (each.high is None or size <= each.high) for each in shards)
    assert shards == [Shard.read(each.written) for each in shards]


async def test_known_repository_with_new_skills_is_inspected_again(registry: Registry) -> None:
    """G86."""
    names = add_repositories(registry, 2)
    source = CodeSearch(registry.app.github, CADENCE)
    await crawl(registry, source)
    repository, _ = registry.github.directory.find(names[0])
    assert repository is not None
    repository.push({"skills/three/SKILL.md": a_skill("three")})
    # Repositories inspected recently are cached for this long.
    registry.app.finder._inspections._results.clear()
    again = await crawl(registry, source)
    assert (1, 1) == (again.counters.new, again.counters.enqueued)
    assert sorted([*expected_submissions(names), (names[0], "skills/three/SKILL.md")]) == await list_submissions(
        registry
    )


async def test_code_search_probe_uses_known_repositories(registry: Registry) -> None:
    """G90."""
    add_repositories(registry, 1)
    known = [repository_name("acme/repo-0")]
    assert await CodeSearch(registry.app.github, CADENCE, known).probe(RunCallBudget(9))
    assert not await CodeSearch(registry.app.github, CADENCE, known, query="filename:SKILLS.md").probe(RunCallBudget(9))
    assert await CodeSearch(registry.app.github, CADENCE).probe(RunCallBudget(9)) is None


async def test_topic_windows_cover_all_dates(registry: Registry) -> None:
    """G89: 2,300 repositories."""
    now = datetime.now(UTC)
    for number in range(2_300):
        pushed = now - timedelta(hours=number) + timedelta(days=2)
        stamp = pushed.strftime("%Y-%m-%dT%H:%M:%SZ")
        registry.github.add_repository(f"acme/r{number}", topics=("agent-skills",), pushed_at=stamp)
    source = Topics(registry.app.github, CADENCE, ("agent-skills", "nobody"), registry.app.clock.now)
    assert 2_300 == len(await found_by(source))
    assert await source.probe(RunCallBudget(9))
    assert not await Topics(registry.app.github, CADENCE, ("nobody",), registry.app.clock.now).probe(RunCallBudget(9))


async def test_topics_resume_and_sweep_weekly(registry: Registry) -> None:
    """G89."""
    old = "2026-01-01T00:00:00Z"
    registry.github.add_repository("acme/old", topics=("agent-skills",), pushed_at=old)
    moment = datetime.now(UTC)
    source = Topics(registry.app.github, CADENCE, ("agent-skills",), lambda: moment)
    [first] = [page async for page in source.pages(None, RunCallBudget(9))]
    registry.github.add_repository(
        "acme/new", topics=("agent-skills",), pushed_at=moment.strftime("%Y-%m-%dT%H:%M:%SZ")
    )
    [second] = [page async for page in source.pages(first.checkpoint, RunCallBudget(9))]
    assert ["acme/new"] == [str(each.repository) for each in second.candidates]
    moment += timedelta(days=8)
    [third] = [page async for page in source.pages(second.checkpoint, RunCallBudget(9))]
    assert {"acme/old", "acme/new"} == {str(each.repository) for each in third.candidates}


async def test_owners_are_listed_completely(registry: Registry) -> None:
    """G87: a missing one does not hide the others."""
    add_repositories(registry, 130, "one", prefix="big")
    add_repositories(registry, 2, "one", prefix="person")
    registry.github.organisations = {"big"}
    source = Organisations(registry.app.github, CADENCE, ("big", "gone", "person"))
    assert 132 == len(await found_by(source))


async def test_unchanged_lists_cost_no_call(registry: Registry) -> None:
    """G35."""
    add_repositories(registry, 2, "one", prefix="big")
    registry.github.organisations = {"big"}
    source = Organisations(registry.app.github, CADENCE, ("big",))
    await found_by(source)
    before = registry.github.count_api()
    await found_by(source)
    assert before == registry.github.count_api()


async def test_npm_packages_yield_repositories(registry: Registry, outside: Web) -> None:
    """G87: in every notation."""
    base = registry.web_url
    forms = [f"git+{base}/acme/repo-0.git", f"{base}/acme/repo-1#main", "acme/repo-2", "https://gitlab.com/a/b", None]
    packages = [
        {"package": {"name": f"p{number}", "date": "2026-01-01T00:00:00Z", "links": {"repository": form}}}
        for number, form in enumerate(forms)
    ]

    def search(query: Any) -> Any:
        start = int(query["from"])
        wanted = packages if query["text"] == "keywords:agent-skills" else []
        return {"objects": wanted[start : start + min(2, int(query["size"]))], "total": len(wanted)}

    async with serving({"/-/v1/search": search}) as url:
        source = Npm(outside, CADENCE, url, ("agent-skills", "other"), base)
        assert {"acme/repo-0", "acme/repo-1", "acme/repo-2"} == await found_by(source)
        assert await source.probe(RunCallBudget(9))


async def test_marketplaces_yield_repositories(registry: Registry) -> None:
    """G87: an unreadable manifest does not stop the others."""
    base = registry.web_url
    manifest = f"""{{"name": "m", "plugins": [
        {{"name": "here", "source": "./plugins/here"}},
        {{"name": "a", "source": {{"source": "github", "repo": "other/a"}}}},
        {{"name": "b", "source": {{"source": "git-subdir", "url": "{base}/other/b.git", "path": "x"}}}},
        {{"name": "c", "source": {{"source": "url", "url": "https://gitlab.com/other/c.git"}}}}]}}"""
    registry.github.add_repository("acme/market", files={".claude-plugin/marketplace.json": manifest})
    registry.github.add_repository("acme/broken", files={".claude-plugin/marketplace.json": "{"})
    source = Marketplaces(registry.app.github, CADENCE, base)
    assert {"acme/market", "acme/broken", "other/a", "other/b"} == await found_by(source)
    assert await source.probe(RunCallBudget(9))


async def test_registry_paging_conventions(registry: Registry, outside: Web) -> None:
    """G89: the first page of skills.sh is zero."""
    base = registry.web_url
    numbered = {f"/api/skills/all-time/{page}": page for page in range(3)}
    routes: dict[str, Any] = {
        path: lambda _, page=page: {"skills": [{"source": f"sh/page-{page}"}], "hasMore": page < 2}
        for path, page in numbered.items()
    }
    routes["/.well-known/skills/index.json"] = lambda _: {
        "skills": [
            {"name": "x", "url": "https://cdn.example.com/x.zip"},
            {"name": "y", "repository": {"url": f"{base}/wk/y"}},
        ]
    }
    pages = {None: ("one", "next"), "next": ("two", None)}
    routes["/api/v1/skills"] = lambda query: {
        "skills": [{"repoUrl": f"{base}/assay/{pages[query.get('cursor')][0]}"}],
        "nextCursor": pages[query.get("cursor")][1],
    }
    async with serving(routes) as url:
        others = [Other(kind, url) for kind in RegistryKind]
        source = Registries(outside, CADENCE, others, base)
        wanted = {"sh/page-0", "sh/page-1", "sh/page-2", "wk/y", "assay/one", "assay/two"}
        assert wanted == await found_by(source)


@pytest.mark.parametrize("status", [404, 429, 500])
async def test_failed_registry_does_not_hide_the_others(
    registry: Registry, outside: Web, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    """G87: it is named in the run and raises an alarm."""
    monkeypatch.setattr("assay.discover.crawl.FIRST_PAUSE_SECONDS", 0.001)
    names = add_repositories(registry, 2)
    index, asked = "/.well-known/agent-skills/index.json", []

    def dead(_: Any) -> web.Response:
        asked.append(1)
        return web.Response(status=status, headers={"Retry-After": "600"})

    def alive(_: Any) -> Any:
        return {"skills": [{"repository": name} for name in names]}

    async with serving({f"/first{index}": dead, f"/second{index}": alive, f"/last{index}": dead}) as url:
        others = [Other(RegistryKind.WELL_KNOWN, f"{url}/{each}") for each in ("first", "second", "last")]
        source = Registries(outside, CADENCE, others, registry.web_url)
        async with a_crawler(registry) as crawler:
            tried = await dry_run_source(crawler, source, RunRequest("test"))
        assert (RunOutcome.FAILED, names) == (tried.outcome, tried.new)
        asked.clear()
        ended = await crawl(registry, source)
    assert expected_submissions(names) == await list_submissions(registry)
    assert RunOutcome.FAILED is ended.outcome
    assert "/first" in (ended.problem or "")
    assert "/last" in (ended.problem or "")
    # Transient errors are retried; permanent ones and long waits are not. The probe retries once.
    assert len(asked) == {404: 3, 429: 3, 500: 9}[status]
    async with registry.app.store.begin() as db:
        row = (await db.execute(text("SELECT failures, checkpoint FROM discovery_source"))).one()
    assert (1, None) == tuple(row)


async def test_forbidden_owner_does_not_hide_the_others(registry: Registry) -> None:
    """G87."""
    add_repositories(registry, 2, "one", prefix="person")
    registry.github.fail("owner", 403, times=1)
    ended = await crawl(registry, Organisations(registry.app.github, CADENCE, ("closed", "person")))
    assert (RunOutcome.FAILED, 2) == (ended.outcome, ended.counters.enqueued)
    assert "closed" in (ended.problem or "")


async def test_list_from_a_file_or_url(registry: Registry, outside: Web, tmp_path: Path) -> None:
    """G87: invalid lines are counted."""
    base = registry.web_url
    written = f"# ours\nacme/one\n\n{base}/acme/two  # a remark\nnonsense\nhttps://elsewhere.example/x/y\n"
    file = tmp_path / "list.txt"
    file.write_text(written)
    async with serving({"/list.txt": lambda _: web.Response(text=written)}) as url:
        for place in (str(file), f"{url}/list.txt"):
            source = RepositoryList(outside, CADENCE, place, base)
            [page] = [page async for page in source.pages(None, RunCallBudget(9))]
            assert ["acme/one", "acme/two"] == [str(each.repository) for each in page.candidates]
            assert 2 == page.left_out
