"""The JSON of discovery."""

from datetime import datetime
from typing import Annotated

import msgspec

from assay.model.discovery import MOST_RESULTS, RecordState, Tally
from assay.web.http.json import View
from assay.web.submissions.json import Body

LONGEST_SECONDS = 120
MOST_REPOSITORIES = 100
MaxResults = Annotated[int, msgspec.Meta(ge=1, le=MOST_RESULTS, description="New repositories at the most.")]


class DiscoveryBody(Body, frozen=True):
    """Which source, all if none is named; how much, how long; `dryRun` writes nothing."""

    source: Annotated[str, msgspec.Meta(max_length=50)] | None = None
    dry_run: bool = False
    max_results: MaxResults | None = None
    seconds: Annotated[int, msgspec.Meta(ge=1, le=LONGEST_SECONDS)] = 30


class DiscoveryBulkBody(Body, frozen=True):
    """Up to 100 repositories, as `owner/name` or by their URL."""

    repositories: Annotated[
        list[Annotated[str, msgspec.Meta(max_length=500)]], msgspec.Meta(min_length=1, max_length=MOST_REPOSITORIES)
    ]


class RunView(View, frozen=True):
    """A run and its counters. Of a dry run, `newRepositories` are the first that would have been taken."""

    source: str
    outcome: str
    found: int
    new: int
    skipped_dedup: int
    looked: int
    enqueued: int
    existing: int
    errors: int
    calls: int
    repo_stats: dict[str, int]
    problem: str | None
    new_repositories: list[str] | None = None


class DiscoveryRunsView(View, frozen=True):
    """The runs, and their sums."""

    ok: bool
    dry_run: bool
    enqueued: int
    skipped_dedup: int
    errors: int
    runs: list[RunView]


class BulkItemView(View, frozen=True):
    """What became of a repository: where it stands, how many skills it has, how many of them are new."""

    repository: str
    state: RecordState | None
    skills: int
    enqueued: int
    error: str | None


class DiscoveryBulkView(View, frozen=True):
    """One result for each repository that was named, in their order."""

    ok: bool
    enqueued: int
    errors: int
    results: list[BulkItemView]


class SourceView(View, frozen=True):
    """A source: when it ran, what it found, when it runs again, and since when it is run right now."""

    name: str
    scheduled: bool
    running_until: datetime | None
    next_run_at: datetime
    last_started_at: datetime | None
    last_finished_at: datetime | None
    last_completed_at: datetime | None
    last_found_at: datetime | None
    last_new_at: datetime | None
    runs: int
    found: int
    flat_runs: int
    cut: int
    failures: int
    problem: str | None
    sees_known: bool | None
    known_seen: int


class CoverageView(View, frozen=True):
    """How many of the repositories that discovery must find it has found in the last week; some that it has not."""

    known: int
    covered: int
    share: float
    missing: list[str]


class DiscoveryView(View, frozen=True):
    """The sources, and what they cover."""

    sources: list[SourceView]
    coverage: CoverageView


class SourceStatsView(View, frozen=True):
    """A source with its last run and the alarms that concern it."""

    source: SourceView
    last_run: RunView | None
    alarms: list[str]


class DiscoveryStatsView(View, frozen=True):
    """Everything that is known of discovery."""

    generated_at: datetime
    sources: list[SourceStatsView]
    coverage: CoverageView
    alarms: list[str]


class HookView(View, frozen=True):
    """What a message of GitHub led to: submissions that are looked at again; `duplicate` if it was taken before."""

    ok: bool
    event: str
    requeued: int = 0
    duplicate: bool = False


def counters(tally: Tally) -> dict[str, int]:
    """As fields of a view."""
    names = ("found", "new", "skipped_dedup", "looked", "enqueued", "existing", "errors")
    return {name: getattr(tally, name) for name in names}
