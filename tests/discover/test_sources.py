"""Each source against its service on loopback: all of what is there, in windows and shards computed from now."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import text

from assay.discover.crawl import Asked
from assay.discover.dry_run import try_out
from assay.discover.source import BudgetSpent, Cadence, Meter, Source
from assay.discover.sources.code_search import CodeSearch
from assay.discover.sources.lists import Listed
from assay.discover.sources.marketplaces import Marketplaces
from assay.discover.sources.npm import Npm
from assay.discover.sources.organisations import Organisations
from assay.discover.sources.registries import Registries
from assay.discover.sources.registries import Registry as Other
from assay.discover.sources.shards import Shard, all_shards
from assay.discover.sources.topics import Topics
from assay.discover.web import Web, open_web
from assay.model.discovery import RegistryKind, RunOutcome
from tests.support.discover.crawling import a_crawler, a_name, crawl, expected, many, submitted
from tests.support.discover.loopback import serving
from tests.support.fake_github import FakeGitHub
from tests.support.registry import Registry
from tests.support.skills import a_skill

CADENCE = Cadence()
TOKEN = "ghp_discovery"


@pytest.fixture
async def outside() -> AsyncIterator[Web]:
    async with open_web(anywhere=True) as opened:
        yield opened


@pytest.fixture
def settings(settings: Any) -> Any:
    """With a token, since GitHub searches code for nobody without one."""
    return type(settings).model_validate({**settings.model_dump(), "github_tokens": (TOKEN,)})


@pytest.fixture(autouse=True)
def _token(github: FakeGitHub) -> None:
    github.add_token(TOKEN, search_limit=10_000, code_search_limit=10_000)


async def found_by(source: Source, meter: Meter | None = None, stop_after: int | None = None) -> set[str]:
    """Every repository of a cycle, going on from the checkpoint after each page as a restarted run does."""
    names: set[str] = set()
    checkpoint, meter, pages = None, meter or Meter(10_000), 0
    while True:
        async for page in source.pages(checkpoint, meter):
            names |= {str(each.repository) for each in page.candidates}
            checkpoint, pages = page.checkpoint, pages + 1
            break
        if page.is_last or pages == stop_after:
            return names


async def test_code_search_goes_beyond_the_thousand_results(registry: Registry) -> None:
    """G89: 2,600 files of one narrow range of sizes, at any depth: all are found, from any checkpoint."""
    for number in range(13):
        files = {f"a/{'x/' * (skill % 3)}s{skill}/SKILL.md": "y" * (1_100 + skill) for skill in range(200)}
        registry.github.add_repository(f"acme/repo-{number}", files=files)
    source = CodeSearch(registry.app.github, CADENCE)
    paths: list[tuple[str, str]] = []
    checkpoint: Any = None
    while True:
        async for page in source.pages(checkpoint, Meter(10_000)):
            paths += [(str(each.repository), path) for each in page.candidates for path in each.paths]
            checkpoint = page.checkpoint
            break
        if page.is_last:
            break
    assert len(paths) == len(set(paths)) == 2_600
    assert registry.github.count("search") < 80


async def test_too_many_files_of_one_size_are_read_from_both_ends(registry: Registry) -> None:
    """G89: where a shard cannot be split any more, the other order shows what the first does not."""
    for number in range(12):
        registry.github.add_repository(f"acme/r{number}", {f"s{skill}/SKILL.md": "y" * 700 for skill in range(100)})
    orders = set()
    async for page in CodeSearch(registry.app.github, CADENCE).pages(None, Meter(10_000)):
        orders |= {shard[3] for shard in (page.checkpoint or {}).get("shards", []) if shard[:2] == [700, 700]}
    assert {True, False} == orders


async def test_incomplete_results_are_asked_for_again_and_split(registry: Registry) -> None:
    """G89: an answer that GitHub did not finish is never taken for all there is without another try."""
    many(registry, 3)
    registry.github.incomplete_results = True
    meter = Meter(200)
    with pytest.raises(BudgetSpent):
        await found_by(CodeSearch(registry.app.github, CADENCE), meter)
    registry.github.incomplete_results = False
    assert {"acme/repo-0", "acme/repo-1", "acme/repo-2"} == await found_by(CodeSearch(registry.app.github, CADENCE))


@given(st.integers(0, 1_000_000))
def test_the_shards_hold_every_size_exactly_once(size: int) -> None:
    """G89: whatever is split, nothing falls between two shards."""
    shards = all_shards()
    for _ in range(3):
        shards = [part for each in shards for part in (each.divided() if each.is_divisible else [each])]
    assert 1 == sum(each.low <= size and (each.high is None or size <= each.high) for each in shards)
    assert shards == [Shard.read(each.written) for each in shards]


async def test_a_known_repository_that_grew_is_looked_into_again(registry: Registry) -> None:
    """G86: a path that nobody has seen is news; the skills that were there stay one submission each."""
    names = many(registry, 2)
    source = CodeSearch(registry.app.github, CADENCE)
    await crawl(registry, source)
    repository, _ = registry.github.directory.find(names[0])
    assert repository is not None
    repository.push({"skills/three/SKILL.md": a_skill("three")})
    # What was looked at a moment ago is remembered for so long.
    registry.app.finder._looks._results.clear()
    again = await crawl(registry, source)
    assert (1, 1) == (again.tally.new, again.tally.enqueued)
    assert sorted([*expected(names), (names[0], "skills/three/SKILL.md")]) == await submitted(registry)


async def test_the_probe_of_code_search_asks_for_what_is_known(registry: Registry) -> None:
    """G90: a question that does not find a known repository is blind."""
    many(registry, 1)
    known = [a_name("acme/repo-0")]
    assert await CodeSearch(registry.app.github, CADENCE, known).probe(Meter(9))
    assert not await CodeSearch(registry.app.github, CADENCE, known, query="filename:SKILLS.md").probe(Meter(9))
    assert await CodeSearch(registry.app.github, CADENCE).probe(Meter(9)) is None


async def test_topics_are_read_in_windows_without_an_end(registry: Registry) -> None:
    """G89: 2,300 repositories, pushed to from years ago until after now; no date of ours hides any."""
    now = datetime.now(UTC)
    for number in range(2_300):
        pushed = now - timedelta(hours=number) + timedelta(days=2)
        stamp = pushed.strftime("%Y-%m-%dT%H:%M:%SZ")
        registry.github.add_repository(f"acme/r{number}", topics=("agent-skills",), pushed_at=stamp)
    source = Topics(registry.app.github, CADENCE, ("agent-skills", "nobody"), registry.app.clock.now)
    assert 2_300 == len(await found_by(source))
    assert await source.probe(Meter(9))
    assert not await Topics(registry.app.github, CADENCE, ("nobody",), registry.app.clock.now).probe(Meter(9))


async def test_topics_go_on_where_the_last_cycle_ended_and_sweep_now_and_then(registry: Registry) -> None:
    """G89: what was pushed to since is found with few calls; once a week everything is read again."""
    old = "2026-01-01T00:00:00Z"
    registry.github.add_repository("acme/old", topics=("agent-skills",), pushed_at=old)
    moment = datetime.now(UTC)
    source = Topics(registry.app.github, CADENCE, ("agent-skills",), lambda: moment)
    [first] = [page async for page in source.pages(None, Meter(9))]
    registry.github.add_repository(
        "acme/new", topics=("agent-skills",), pushed_at=moment.strftime("%Y-%m-%dT%H:%M:%SZ")
    )
    [second] = [page async for page in source.pages(first.checkpoint, Meter(9))]
    assert ["acme/new"] == [str(each.repository) for each in second.candidates]
    moment += timedelta(days=8)
    [third] = [page async for page in source.pages(second.checkpoint, Meter(9))]
    assert {"acme/old", "acme/new"} == {str(each.repository) for each in third.candidates}


async def test_organisations_and_people_are_listed_whole(registry: Registry) -> None:
    """G87: page by page; one that is gone does not hide the others."""
    many(registry, 130, "one", prefix="big")
    many(registry, 2, "one", prefix="person")
    registry.github.organisations = {"big"}
    source = Organisations(registry.app.github, CADENCE, ("big", "gone", "person"))
    assert 132 == len(await found_by(source))


async def test_a_list_that_has_not_changed_costs_no_call(registry: Registry) -> None:
    """G35: the lists of owners and events are asked for conditionally."""
    many(registry, 2, "one", prefix="big")
    registry.github.organisations = {"big"}
    source = Organisations(registry.app.github, CADENCE, ("big",))
    await found_by(source)
    before = registry.github.count_api()
    await found_by(source)
    assert before == registry.github.count_api()


async def test_npm_leads_to_repositories(registry: Registry, outside: Web) -> None:
    """G87: every way in which packages name their repository; pages by what was received."""
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
        assert await source.probe(Meter(9))


async def test_marketplaces_lead_to_what_they_name(registry: Registry) -> None:
    """G87: the repository of a manifest and those it names elsewhere; one that cannot be read stops nobody."""
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
    assert await source.probe(Meter(9))


async def test_registries_are_read_as_each_counts_its_pages(registry: Registry, outside: Web) -> None:
    """G89: the first page of skills.sh is number zero; a known answer on every page of every kind is found."""
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
async def test_a_registry_that_is_gone_hides_no_other(
    registry: Registry, outside: Web, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    """G87: the others are read in every run; which one it is stands in the run, and becomes an alarm."""
    monkeypatch.setattr("assay.discover.crawl.FIRST_PAUSE_SECONDS", 0.001)
    names = many(registry, 2)
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
            tried = await try_out(crawler, source, Asked("test"))
        assert (RunOutcome.FAILED, names) == (tried.outcome, tried.new)
        asked.clear()
        ended = await crawl(registry, source)
    assert expected(names) == await submitted(registry)
    assert RunOutcome.FAILED is ended.outcome
    assert "/first" in (ended.problem or "")
    assert "/last" in (ended.problem or "")
    # A hiccup is asked about again; what is gone, or wants to be left alone for long, is not. The probe asks once more.
    assert len(asked) == {404: 3, 429: 3, 500: 9}[status]
    async with registry.app.store.begin() as db:
        row = (await db.execute(text("SELECT failures, checkpoint FROM discovery_source"))).one()
    assert (1, None) == tuple(row)


async def test_an_owner_that_shows_us_nothing_hides_no_other(registry: Registry) -> None:
    """G87: a 403 is neither "none" nor the end of the list."""
    many(registry, 2, "one", prefix="person")
    registry.github.fail("owner", 403, times=1)
    ended = await crawl(registry, Organisations(registry.app.github, CADENCE, ("closed", "person")))
    assert (RunOutcome.FAILED, 2) == (ended.outcome, ended.tally.enqueued)
    assert "closed" in (ended.problem or "")


async def test_a_list_is_a_file_or_an_address(registry: Registry, outside: Web, tmp_path: Path) -> None:
    """G87: one repository a line, with remarks; what names none is counted and stops nobody."""
    base = registry.web_url
    written = f"# ours\nacme/one\n\n{base}/acme/two  # a remark\nnonsense\nhttps://elsewhere.example/x/y\n"
    file = tmp_path / "list.txt"
    file.write_text(written)
    async with serving({"/list.txt": lambda _: web.Response(text=written)}) as url:
        for place in (str(file), f"{url}/list.txt"):
            source = Listed(outside, CADENCE, place, base)
            [page] = [page async for page in source.pages(None, Meter(9))]
            assert ["acme/one", "acme/two"] == [str(each.repository) for each in page.candidates]
            assert 2 == page.left_out
