"""JSON of discovery."""

from datetime import datetime
from typing import Annotated

import msgspec

from assay.discover.dry_run import DryRun
from assay.model.discovery import MAX_RESULTS_PER_RUN, RecordState, RunCounters
from assay.store.discovery.runs import RunRecord
from assay.store.discovery.sources import Coverage, DiscoveryFacts, SourceRecord
from assay.web.http.json import Body, View

LONGEST_SECONDS = 120
MOST_REPOSITORIES = 100
MaxResults = Annotated[
    int, msgspec.Meta(ge=1, le=MAX_RESULTS_PER_RUN, description="The maximum number of new repositories.")
]


class DiscoveryBody(Body, frozen=True):
    """The source to run, or all if it is null; with limits on results and time. `dryRun` writes nothing."""

    source: Annotated[str, msgspec.Meta(max_length=50)] | None = None
    dry_run: bool = False
    max_results: MaxResults | None = None
    seconds: Annotated[int, msgspec.Meta(ge=1, le=LONGEST_SECONDS)] = 30


class DiscoveryBulkBody(Body, frozen=True):
    """Up to 100 repositories, as `owner/name` or URL."""

    repositories: Annotated[
        list[Annotated[str, msgspec.Meta(max_length=500)]], msgspec.Meta(min_length=1, max_length=MOST_REPOSITORIES)
    ]


class RunView(View, frozen=True):
    """A discovery run and its counters. A dry run lists the first repositories it would add in `newRepositories`."""

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
    """The runs, and the totals of their counters."""

    ok: bool
    dry_run: bool
    enqueued: int
    skipped_dedup: int
    errors: int
    runs: list[RunView]


class BulkItemView(View, frozen=True):
    """The state of a repository, the number of its skills, and how many of them were enqueued."""

    repository: str
    state: RecordState | None
    skills: int
    enqueued: int
    error: str | None


class DiscoveryBulkView(View, frozen=True):
    """One result for each requested repository, in the same order."""

    ok: bool
    enqueued: int
    errors: int
    results: list[BulkItemView]


class SourceView(View, frozen=True):
    """A discovery source. `runningUntil` is the end of the lease of the current run, or null if it is not running.

    `flatRuns` counts consecutive runs that found nothing, `cut` the results of the current cycle that the service did
    not return, and `failures` consecutive failed runs.
    """

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
    """The share of known repositories that discovery found in the last week, and examples of missing ones."""

    known: int
    covered: int
    share: float
    missing: list[str]


class DiscoveryView(View, frozen=True):
    """The discovery sources, and their coverage of known repositories."""

    sources: list[SourceView]
    coverage: CoverageView


class SourceStatsView(View, frozen=True):
    """A source with its last run and the alarms that concern it."""

    source: SourceView
    last_run: RunView | None
    alarms: list[str]


class DiscoveryStatsView(View, frozen=True):
    """The discovery sources with their last runs, coverage and alarms."""

    generated_at: datetime
    sources: list[SourceStatsView]
    coverage: CoverageView
    alarms: list[str]


class HookView(View, frozen=True):
    """The number of submissions that were requeued. `duplicate` is true if the delivery was received before."""

    ok: bool
    event: str
    requeued: int = 0
    duplicate: bool = False


def _counters(counters: RunCounters) -> dict[str, int]:
    names = ("found", "new", "skipped_dedup", "looked", "enqueued", "existing", "errors")
    return {name: getattr(counters, name) for name in names}


RUNNING = "running"


def present_discovery(facts: DiscoveryFacts) -> DiscoveryView:
    return DiscoveryView(
        sources=[present_source(each) for each in facts.sources], coverage=present_coverage(facts.coverage)
    )


def present_coverage(coverage: Coverage) -> CoverageView:
    return CoverageView(
        known=coverage.known, covered=coverage.covered, share=round(coverage.share, 4), missing=list(coverage.missing)
    )


def present_source(source: SourceRecord) -> SourceView:
    return SourceView(
        name=source.name,
        scheduled=source.is_scheduled,
        running_until=source.lease_until,
        next_run_at=source.next_run_at,
        last_started_at=source.started_at,
        last_finished_at=source.finished_at,
        last_completed_at=source.completed_at,
        last_found_at=source.found_at,
        last_new_at=source.new_at,
        runs=source.runs,
        found=source.found,
        flat_runs=source.flat_runs,
        cut=source.cut,
        failures=source.failures,
        problem=source.problem,
        sees_known=source.sees,
        known_seen=source.known_now,
    )


def present_run(run: RunRecord) -> RunView:
    outcome = run.outcome.value if run.outcome else RUNNING
    return RunView(
        source=run.source,
        outcome=outcome,
        calls=run.calls,
        repo_stats=run.counters.repo_stats,
        problem=run.problem,
        new_repositories=None,
        **_counters(run.counters),
    )


def present_dry_run(run: DryRun) -> RunView:
    return RunView(
        source=run.source,
        outcome=run.outcome.value,
        calls=run.calls,
        repo_stats={},
        problem=run.problem,
        new_repositories=run.new,
        **_counters(run.counters),
    )
