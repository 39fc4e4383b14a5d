"""From discovery to its JSON."""

from assay.discover.dry_run import DryRun
from assay.store.discovery.runs import RunRecord
from assay.store.discovery.sources import Coverage, DiscoveryFacts, SourceRecord
from assay.web.discovery.json import CoverageView, DiscoveryView, RunView, SourceView, counters

RUNNING = "running"


def present_discovery(facts: DiscoveryFacts) -> DiscoveryView:
    """For everybody."""
    return DiscoveryView(
        sources=[present_source(each) for each in facts.sources], coverage=present_coverage(facts.coverage)
    )


def present_coverage(coverage: Coverage) -> CoverageView:
    """The share as a number between 0 and 1."""
    return CoverageView(
        known=coverage.known, covered=coverage.covered, share=round(coverage.share, 4), missing=list(coverage.missing)
    )


def present_source(source: SourceRecord) -> SourceView:
    """A source and its past."""
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
    """A run that was made, or is under way."""
    outcome = run.outcome.value if run.outcome else RUNNING
    return RunView(
        source=run.source,
        outcome=outcome,
        calls=run.calls,
        repo_stats=run.tally.repo_stats,
        problem=run.problem,
        new_repositories=None,
        **counters(run.tally),
    )


def present_dry_run(run: DryRun) -> RunView:
    """A run that was only tried out."""
    return RunView(
        source=run.source,
        outcome=run.outcome.value,
        calls=run.calls,
        repo_stats={},
        problem=run.problem,
        new_repositories=run.new,
        **counters(run.tally),
    )
