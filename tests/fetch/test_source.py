"""Fetching: each commit once, current, bounded, and failures are never facts."""

import asyncio
import gzip
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import uuid4

import aiohttp
import pytest
from obstore.store import LocalStore

from assay.fetch.limits import Limits
from assay.fetch.source import Fetcher
from assay.github.client import GitHub, GitHubUrls
from assay.github.token_budget import TokenBudget
from assay.model.clock import Clock
from assay.model.errors import AssayError, Invalid, NotFound, RateLimited, Unavailable
from assay.model.repository import Host, Repository, RepositoryName
from assay.model.source import Source
from assay.model.submission import Origin, State, Submission
from tests.support.blobs import unrecorded
from tests.support.fake_github import FakeFile, FakeGitHub, FakeServer
from tests.support.registry import Registry
from tests.support.skills import a_repository, a_skill

START = datetime(2026, 3, 1, tzinfo=UTC)
NAMES = [f"skill-{number}" for number in range(30)]


@dataclass
class Hands:
    """A clock moved by tests."""

    time: datetime = START

    def advance(self, seconds: float) -> None:
        self.time += timedelta(seconds=seconds)

    def now(self) -> datetime:
        return self.time


@pytest.fixture
def clock() -> Hands:
    return Hands()


@asynccontextmanager
async def a_fetcher(
    server: FakeServer, folder: Path, clock: Hands, limits: Limits | None = None
) -> AsyncIterator[Fetcher]:
    """Return a fetcher with its own cache."""
    urls = server.urls()
    async with aiohttp.ClientSession(headers={"User-Agent": "assay-test"}) as session:
        github = GitHub(
            session,
            GitHubUrls(*(urls[f"ASSAY_GITHUB_{host}_URL"] for host in ("API", "RAW", "CODELOAD"))),
            TokenBudget((), lambda: clock.now().timestamp()),
        )
        yield Fetcher(github, unrecorded(LocalStore(str(folder), mkdir=True)), limits or Limits(), Clock(clock.now))


@pytest.fixture
async def fetcher(github_server: FakeServer, tmp_path: Path, clock: Hands) -> AsyncIterator[Fetcher]:
    async with a_fetcher(github_server, tmp_path, clock) as fetcher:
        yield fetcher


def a_submission(
    skill_path: str = "SKILL.md",
    *,
    cycle: int = 1,
    received_at: datetime = START,
    upload_digest: str | None = None,
    repository: str = "acme/tools",
) -> Submission:
    """Return a waiting submission."""
    owner, name = repository.split("/")
    return Submission(
        id=uuid4(),
        repository=Repository(1, RepositoryName(Host.GITHUB, owner, name), None, None),
        skill_name="a skill",
        skill_path=skill_path,
        state=State.RECEIVED,
        version=1,
        cycle=cycle,
        priority=0,
        attempts=0,
        claims=1,
        origin=Origin.API,
        submitter=None,
        upload_digest=upload_digest,
        content_digest=None,
        skill_id=None,
        score=None,
        reason=None,
        lease="worker#1",
        created_at=received_at,
        updated_at=received_at,
        received_at=received_at,
        scanning_at=None,
        decided_at=None,
    )


async def fetch(fetcher: Fetcher, submission: Submission) -> Source:
    """Return the files of a submission."""
    async with fetcher.fetch(submission) as fetched:
        return fetched.source


async def error_of(fetcher: Fetcher, submission: Submission, kind: type[AssayError]) -> AssayError:
    """Return the error of a fetch."""
    with pytest.raises(kind) as raised:
        await fetch(fetcher, submission)
    assert type(raised.value) is kind
    return raised.value


async def test_default_branch_is_resolved_and_pinned(github: FakeGitHub, fetcher: Fetcher) -> None:
    """G38."""
    repository = github.add_repository("acme/tools", {"SKILL.md": a_skill("from trunk")}, default_branch="trunk")
    repository.push({"SKILL.md": a_skill("from main")}, branch="main")
    async with fetcher.fetch(a_submission()) as fetched:
        assert fetched.source.skill_md.decode() == a_skill("from trunk")
        assert fetched.source.commit == repository.sha
        assert fetched.resolution is not None
        assert fetched.resolution.facts.default_branch == "trunk"


async def test_renamed_repository_is_fetched(github: FakeGitHub, fetcher: Fetcher) -> None:
    """G54."""
    github.add_repository("acme/tools", {"SKILL.md": a_skill()}).rename("umbrella/kit")
    async with fetcher.fetch(a_submission()) as fetched:
        assert fetched.resolution is not None
        assert str(fetched.resolution.facts.name) == "umbrella/kit"
        assert fetched.source.skill_md


async def test_thirty_skills_cost_two_calls_and_one_archive(github: FakeGitHub, fetcher: Fetcher) -> None:
    """G35."""
    github.add_repository("acme/tools", a_repository(*NAMES))
    sources = await asyncio.gather(*(fetch(fetcher, a_submission(f"skills/{name}/SKILL.md")) for name in NAMES))
    assert [source.skill_md.decode() for source in sources] == [a_skill(name) for name in NAMES]
    assert github.count_api() == 2
    assert github.count("archive") == 1


async def test_repository_lookup_ignores_case(github: FakeGitHub, fetcher: Fetcher) -> None:
    """G16."""
    github.add_repository("acme/tools", a_repository("a", "b"))
    await fetch(fetcher, a_submission("skills/a/SKILL.md", repository="Acme/Tools"))
    await fetch(fetcher, a_submission("skills/b/SKILL.md", repository="acme/TOOLS"))
    assert github.count_api() == 2


async def test_resubmission_is_never_answered_from_cache(github: FakeGitHub, fetcher: Fetcher, clock: Hands) -> None:
    """G21."""
    repository = github.add_repository("acme/tools", {"SKILL.md": a_skill("old")})
    assert (await fetch(fetcher, a_submission())).skill_md.decode() == a_skill("old")
    repository.push({"SKILL.md": a_skill("new")})
    clock.advance(1)
    again = a_submission(cycle=2, received_at=clock.now())
    clock.advance(1)
    assert (await fetch(fetcher, again)).skill_md.decode() == a_skill("new")
    assert github.count("archive") == 2


async def test_unchanged_repository_is_not_downloaded_again(github: FakeGitHub, fetcher: Fetcher, clock: Hands) -> None:
    """G35."""
    github.add_repository("acme/tools", {"SKILL.md": a_skill()})
    await fetch(fetcher, a_submission())
    clock.advance(60)
    await fetch(fetcher, a_submission(cycle=2, received_at=clock.now()))
    assert [call.status for call in github.calls if call.host == "api"] == [200, 200, 304, 304]
    assert github.count_api() == 2
    assert github.count("archive") == 1


async def test_first_submissions_share_a_recent_lookup(github: FakeGitHub, fetcher: Fetcher, clock: Hands) -> None:
    """up to ten seconds old."""
    github.add_repository("acme/tools", a_repository("a", "b", "c"))
    await fetch(fetcher, a_submission("skills/a/SKILL.md"))
    clock.advance(10)
    await fetch(fetcher, a_submission("skills/b/SKILL.md", received_at=clock.now()))
    assert github.count("commit") == 1
    clock.advance(1)
    await fetch(fetcher, a_submission("skills/c/SKILL.md", received_at=clock.now()))
    assert github.count("commit") == 2


@pytest.mark.parametrize("route", ["repo", "commit", "archive"])
async def test_failure_is_not_cached(github: FakeGitHub, fetcher: Fetcher, route: str) -> None:
    """G9, G36."""
    github.add_repository("acme/tools", {"SKILL.md": a_skill()})
    github.fail(route, 503)
    await error_of(fetcher, a_submission(), Unavailable)
    assert (await fetch(fetcher, a_submission())).skill_md


async def test_missing_repository_is_not_cached(github: FakeGitHub, fetcher: Fetcher) -> None:
    """G9."""
    assert (await error_of(fetcher, a_submission(), NotFound)).code == "source_not_found"
    github.add_repository("acme/tools", {"SKILL.md": a_skill()})
    assert (await fetch(fetcher, a_submission())).skill_md


async def test_rate_limit_is_not_a_missing_skill(github: FakeGitHub, fetcher: Fetcher) -> None:
    """G34."""
    github.add_repository("acme/tools", {"SKILL.md": a_skill()})
    github.limit_anonymous(0)
    error = await error_of(fetcher, a_submission(), RateLimited)
    assert error.retry_after_seconds > 1


async def test_truncated_archive_is_a_failed_download(github: FakeGitHub, fetcher: Fetcher) -> None:
    """G37."""
    repository = github.add_repository("acme/tools", {**a_repository(*NAMES), "zzz/SKILL.md": a_skill("zzz")})
    github.truncate_archive()
    assert (await error_of(fetcher, a_submission("zzz/SKILL.md"), Unavailable)).code == "bad_archive"
    assert (await fetch(fetcher, a_submission("zzz/SKILL.md"))).commit == repository.sha


async def test_error_page_is_a_failed_download(github: FakeGitHub, fetcher: Fetcher) -> None:
    """G37."""
    github.add_repository("acme/tools", {"SKILL.md": a_skill()}).archive_override = b"<html>Unicorn!</html>"
    assert (await error_of(fetcher, a_submission(), Unavailable)).code == "bad_archive"


@pytest.mark.process
async def test_truncated_archive_is_retried_by_the_worker(registry: Registry) -> None:
    """G18, G37."""
    registry.github.add_repository("acme/tools", {"SKILL.md": a_skill("greet"), "z.md": "z" * 5000})
    registry.github.add_repository("acme/politics", {"README.md": "# Vote", "src/app.js": "1"})
    registry.github.truncate_archive(times=1)
    good = await registry.submit("acme/tools", "greet")
    await registry.work()
    bad = await registry.submit("acme/politics", "politics")
    await registry.work()
    assert (await registry.read(good["id"]))["state"] == "PUBLISHED"
    refused = await registry.read(bad["id"])
    assert (refused["state"], refused["reason"]["code"]) == ("REJECTED", "skill_not_in_source")
    listed = (await registry.client.get("/api/v1/skills/acme/tools/greet")).json()
    assert [file["path"] for file in listed["files"]] == ["SKILL.md", "z.md"]
    assert (await registry.client.get("/api/v1/skills")).json()["total"] == 1


# Repositories too large for one archive

SMALL = Limits(archive_bytes=20_000, file_bytes=4_000, skill_bytes=8_000, skill_files=10)


def a_large_repository() -> dict[str, str | FakeFile]:
    """Create skills in a repository beyond the small limits."""
    ballast: dict[str, str | FakeFile] = {f"data/{number}.bin": "x" * 1000 for number in range(40)}
    return ballast | {
        "skills/pdf/SKILL.md": a_skill("pdf"),
        "skills/pdf/c# & 100%?.md": "odd name",
        "skills/pdf/run.sh": FakeFile(b"#!/bin/sh\n", "100755"),
        "skills/pdf/inner/SKILL.md": a_skill("inner"),
        "skills/csv/SKILL.md": a_skill("csv"),
        "skills/link/SKILL.md": a_skill("link"),
        "skills/link/away": FakeFile(b"../../../etc/passwd", "120000"),
        "skills/big/SKILL.md": a_skill("big"),
        "skills/big/big.bin": "x" * 5000,
        "skills/many/SKILL.md": a_skill("many"),
        **{f"skills/many/{number}.md": "" for number in range(10)},
    }


@pytest.fixture
async def narrow(github_server: FakeServer, tmp_path: Path, clock: Hands) -> AsyncIterator[Fetcher]:
    """Return a fetcher with small limits."""
    async with a_fetcher(github_server, tmp_path, clock, SMALL) as fetcher:
        yield fetcher


async def test_large_repository_fetches_only_the_skill(github: FakeGitHub, narrow: Fetcher) -> None:
    """G35: with the same digest."""
    repository = github.add_repository("acme/tools", a_large_repository())
    source = await fetch(narrow, a_submission("skills/pdf/SKILL.md"))
    assert source.files == {
        "SKILL.md": a_skill("pdf").encode(),
        "c# & 100%?.md": b"odd name",
        "run.sh": b"#!/bin/sh\n",
    }
    assert source.commit == repository.sha
    assert (github.count("tree"), github.count("raw")) == (1, 3)


async def test_digest_does_not_depend_on_the_fetch_method(
    github: FakeGitHub, narrow: Fetcher, fetcher: Fetcher
) -> None:
    """G50."""
    github.add_repository("acme/tools", a_large_repository())
    submission = a_submission("skills/pdf/SKILL.md")
    assert (await fetch(narrow, submission)).digest == (await fetch(fetcher, submission)).digest


async def test_unlistable_repository_is_walked_by_folder(github: FakeGitHub, narrow: Fetcher) -> None:
    """G37."""
    repository = github.add_repository("acme/tools", a_large_repository())
    repository.tree_limit = 10
    source = await fetch(narrow, a_submission("skills/pdf/SKILL.md"))
    assert sorted(source.files) == ["SKILL.md", "c# & 100%?.md", "run.sh"]
    assert github.count("tree") == 4
    assert (await error_of(narrow, a_submission("skills/link/SKILL.md"), Invalid)).code == "unsafe_file"
    missing = await error_of(narrow, a_submission("skills/none/SKILL.md"), NotFound)
    assert (missing.code, "no SKILL.md at all" in missing.message) == ("skill_not_in_source", False)
    files = {f"skills/deep/{folder}/{number}.md": "x" for folder in "ab" for number in range(4)}
    deep = github.add_repository("acme/deep", a_large_repository() | files | {"skills/deep/SKILL.md": a_skill("deep")})
    deep.tree_limit = 6
    source = await fetch(narrow, a_submission("skills/deep/SKILL.md", repository="acme/deep"))
    assert len(source.files) == 9


async def test_oversized_archive_is_not_downloaded_again(github: FakeGitHub, narrow: Fetcher) -> None:
    """G35."""
    github.add_repository("acme/tools", a_large_repository())
    await fetch(narrow, a_submission("skills/pdf/SKILL.md"))
    await fetch(narrow, a_submission("skills/csv/SKILL.md"))
    await fetch(narrow, a_submission("skills/csv/SKILL.md"))
    assert github.count("archive") == 1
    assert (github.count("tree"), github.count("raw")) == (2, 4)


async def test_oversized_download_is_stopped(github: FakeGitHub, narrow: Fetcher) -> None:
    """G39."""
    repository = github.add_repository("acme/tools", {"SKILL.md": a_skill()})
    repository.archive_override = gzip.compress(b"", 0) + bytes(SMALL.archive_bytes + 1)
    assert (await fetch(narrow, a_submission())).skill_md.decode() == a_skill()
    assert github.count("raw") == 1


@pytest.mark.parametrize(
    ("skill", "code", "says"),
    [
        ("link", "unsafe_file", "'skills/link/away' cannot be included: it is a link"),
        ("big", "file_too_large", "skills/big/big.bin has 5000 bytes"),
        ("many", "skill_too_large", "The skill has 11 files"),
    ],
)
async def test_limits_apply_to_large_repositories(
    github: FakeGitHub, narrow: Fetcher, skill: str, code: str, says: str
) -> None:
    """G39: before anything is downloaded."""
    github.add_repository("acme/tools", a_large_repository())
    error = await error_of(narrow, a_submission(f"skills/{skill}/SKILL.md"), Invalid)
    assert error.code == code
    assert says in error.message
    assert github.count("raw") == 0


async def test_wrong_path_in_a_large_repository_lists_the_right_ones(github: FakeGitHub, narrow: Fetcher) -> None:
    """G38."""
    github.add_repository("acme/tools", a_large_repository())
    error = await error_of(narrow, a_submission("skills/word/SKILL.md"), NotFound)
    assert error.code == "skill_not_in_source"
    assert "skills/pdf/SKILL.md" in error.message


async def test_failed_file_fails_the_skill(github: FakeGitHub, narrow: Fetcher) -> None:
    """G37."""
    github.add_repository("acme/tools", a_large_repository())
    github.fail("raw", 500)
    await error_of(narrow, a_submission("skills/pdf/SKILL.md"), Unavailable)
    github.fail("raw", 200, body="half a fi")
    await error_of(narrow, a_submission("skills/pdf/SKILL.md"), Unavailable)
    assert len((await fetch(narrow, a_submission("skills/pdf/SKILL.md"))).files) == 3


# Memory


async def test_memory_is_bounded_for_concurrent_fetches(
    github: FakeGitHub, github_server: FakeServer, tmp_path: Path, clock: Hands
) -> None:
    """G39."""
    sizes = {name: 1000 + 300 * number for number, name in enumerate(NAMES)}
    github.add_repository("acme/tools", {f"skills/{name}/SKILL.md": "x" * size for name, size in sizes.items()})
    limits = Limits(in_memory_bytes=12_000)
    held = most = 0
    async with a_fetcher(github_server, tmp_path, clock, limits) as fetcher:

        async def hold(name: str) -> int:
            nonlocal held, most
            async with fetcher.fetch(a_submission(f"skills/{name}/SKILL.md")) as fetched:
                held += len(fetched.source.skill_md)
                most = max(most, held)
                assert fetcher.memory.free_bytes == limits.in_memory_bytes - held
                assert fetcher.memory.free_bytes >= 0
                await asyncio.sleep(0)
                held -= len(fetched.source.skill_md)
            return len(fetched.source.skill_md)

        async with asyncio.timeout(30):
            fetched_sizes = await asyncio.gather(*map(hold, NAMES))
        assert dict(zip(NAMES, fetched_sizes, strict=True)) == sizes
        assert most <= limits.in_memory_bytes
        assert fetcher.memory.free_bytes == limits.in_memory_bytes


async def test_memory_is_released_on_failure(github: FakeGitHub, fetcher: Fetcher) -> None:
    """G39."""
    github.add_repository("acme/tools", {"SKILL.md": a_skill()})
    for end in (RuntimeError, asyncio.CancelledError):
        with pytest.raises(end):
            async with fetcher.fetch(a_submission()):
                assert fetcher.memory.free_bytes < fetcher.memory.size_bytes
                raise end
    assert fetcher.memory.free_bytes == fetcher.memory.size_bytes


async def test_archives_are_cached_by_cost(
    github: FakeGitHub, github_server: FakeServer, tmp_path: Path, clock: Hands
) -> None:
    """G39."""
    descriptors = Path("/proc/self/fd")
    async with AsyncExitStack() as stack:
        limits = replace(Limits(), cached_archive_bytes=20 * 1024 * 1024)
        fetcher = await stack.enter_async_context(a_fetcher(github_server, tmp_path, clock, limits))
        before = len(list(descriptors.iterdir()))
        for number in range(40):
            github.add_repository(f"acme/tools-{number}", {"SKILL.md": a_skill()})
            await fetch(fetcher, a_submission(repository=f"acme/tools-{number}"))
        assert len(list(descriptors.iterdir())) - before < 15


# Uploads


async def test_upload_is_read_from_blobs(github: FakeGitHub, fetcher: Fetcher) -> None:
    source = Source({"SKILL.md": a_skill().encode(), "a/b.md": b"b"}, commit="")
    digest = await fetcher.blobs.save(source)
    async with fetcher.fetch(a_submission(upload_digest=digest)) as fetched:
        assert fetched.source.files == source.files
        assert fetched.source.digest == fetched.source.commit == digest
        assert fetched.resolution is None
    assert github.count() == 0


async def test_lost_upload_is_an_internal_error(fetcher: Fetcher) -> None:
    """G36."""
    assert (await error_of(fetcher, a_submission(upload_digest=f"sha256:{'0' * 64}"), Unavailable)).code
