"""Alarms: conditions that need an operator, each with its meaning and remedy."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType


class AlarmCode(StrEnum):
    """The conditions. The codes are stable, so that clients can rely on them."""

    NO_WORKER = "no_worker"
    OLDEST_WAITING = "oldest_waiting"
    STAGE_STALLED = "stage_stalled"
    STUCK = "stuck"
    ORPHANS = "orphans"
    UNREADABLE_JOBS = "unreadable_jobs"
    FAILING = "failing"
    CHORE_OVERDUE = "chore_overdue"
    CHORE_FAILING = "chore_failing"
    COUNTERS_DIFFER = "counters_differ"
    RULESETS_DIFFER = "rulesets_differ"
    SOURCES_FORGOTTEN = "sources_forgotten"
    SEARCH_MISSES = "search_misses"
    TOKENS_REFUSED = "tokens_refused"
    DISCOVERY_OVERDUE = "discovery_overdue"
    DISCOVERY_FAILING = "discovery_failing"
    DISCOVERY_FLOOR = "discovery_floor"
    SOURCE_DARK = "source_dark"
    DISCOVERY_BLIND = "discovery_blind"
    DISCOVERY_COVERAGE = "discovery_coverage"
    DISCOVERY_CUT = "discovery_cut"
    JUDGE_DOWN = "judge_down"
    JUDGE_BUDGET_SPENT = "judge_budget_spent"
    JUDGE_BEHIND = "judge_behind"
    NO_SCAN_NODE = "no_scan_node"
    DEEP_SCANS_WAITING = "deep_scans_waiting"
    DEEP_SCAN_ERRORS = "deep_scan_errors"
    REPORTS_UNANSWERED = "reports_unanswered"
    REVIEWS_WAITING = "reviews_waiting"
    SUPPRESSION_ENDING = "suppression_ending"
    DETECTOR_BLIND = "detector_blind"
    PAUSED = "paused"


ALARM_MEANINGS: Mapping[AlarmCode, str] = MappingProxyType(
    {
        AlarmCode.NO_WORKER: "Submissions are waiting and no worker has sent a heartbeat for 30 s.",
        AlarmCode.OLDEST_WAITING: "A submission has waited longer than `ASSAY_OLDEST_WAITING_SECONDS`.",
        AlarmCode.STAGE_STALLED: "A stage had work for three times `ASSAY_STUCK_SECONDS` and completed nothing.",
        AlarmCode.STUCK: "A worker claimed a submission and did not finish it in time.",
        AlarmCode.ORPHANS: "An active submission had no job.",
        AlarmCode.UNREADABLE_JOBS: "The queue has jobs with unreadable payloads.",
        AlarmCode.FAILING: "At least ten submissions failed in the last hour, and at least half of all processed.",
        AlarmCode.CHORE_OVERDUE: "A periodic job has not succeeded in time.",
        AlarmCode.CHORE_FAILING: "A periodic job has failed twice in a row.",
        AlarmCode.COUNTERS_DIFFER: "The last full count found wrong counters.",
        AlarmCode.RULESETS_DIFFER: "Running processes use different rulesets.",
        AlarmCode.SOURCES_FORGOTTEN: "An upstream repository was not checked for twice `ASSAY_WATCH_SECONDS`.",
        AlarmCode.SEARCH_MISSES: "A search for a listed skill by its own name did not find it.",
        AlarmCode.TOKENS_REFUSED: "GitHub has rejected a token in the last ten minutes.",
        AlarmCode.DISCOVERY_OVERDUE: "A discovery source is due and no crawler runs it.",
        AlarmCode.DISCOVERY_FAILING: "A discovery source has failed three times in a row.",
        AlarmCode.DISCOVERY_FLOOR: "A source has found nothing new for longer than `ASSAY_DISCOVERY_FLOOR_SECONDS`.",
        AlarmCode.SOURCE_DARK: "Three consecutive runs of a source found nothing, neither new nor known.",
        AlarmCode.DISCOVERY_BLIND: "A source did not return results that are known to exist.",
        AlarmCode.DISCOVERY_COVERAGE: "Fewer than 80 % of the known repositories were found in the last week.",
        AlarmCode.DISCOVERY_CUT: "A search has more results than the service returns. Informative, not a problem.",
        AlarmCode.JUDGE_DOWN: "The judge's model has failed five times in a row.",
        AlarmCode.JUDGE_BUDGET_SPENT: "The judge was not called because `ASSAY_LLM_DAILY_BUDGET` is used up.",
        AlarmCode.JUDGE_BEHIND: "Published content has waited more than a day for the judge.",
        AlarmCode.NO_SCAN_NODE: "Deep scans are waiting and no scan node is running.",
        AlarmCode.DEEP_SCANS_WAITING: "A deep scan has waited longer than `ASSAY_DEEP_SCAN_WAITING_SECONDS`.",
        AlarmCode.DEEP_SCAN_ERRORS: "A deep scan failed after all attempts in the last hour.",
        AlarmCode.REPORTS_UNANSWERED: "A security report has waited longer than `ASSAY_REPORT_HOURS` for an answer.",
        AlarmCode.REVIEWS_WAITING: "A submission has waited longer than `ASSAY_REVIEW_HOURS` for a review.",
        AlarmCode.SUPPRESSION_ENDING: "A suppression expires within a week. Informative, not a problem.",
        AlarmCode.DETECTOR_BLIND: "No worker is monitoring the queue.",
        AlarmCode.PAUSED: "The queue is paused. Informative, not a problem.",
    }
)
ALARM_REMEDIES: Mapping[AlarmCode, str] = MappingProxyType(
    {
        AlarmCode.NO_WORKER: "Start `assay worker`, and check its log for the reason it stopped.",
        AlarmCode.OLDEST_WAITING: "Start more workers, or check the rate limits of the GitHub tokens.",
        AlarmCode.STAGE_STALLED: "Check the worker logs for failed attempts, and whether GitHub is reachable.",
        AlarmCode.STUCK: "Check the list of stuck submissions, and restart workers that hang.",
        AlarmCode.ORPHANS: "They are requeued automatically. Find out what deleted their jobs.",
        AlarmCode.UNREADABLE_JOBS: "Their submissions continue with new jobs. Inspect the rows, then delete them.",
        AlarmCode.FAILING: "Check the reasons of the failed submissions, and requeue them when the cause is fixed.",
        AlarmCode.CHORE_OVERDUE: "Start a worker if none is running; otherwise check the worker logs.",
        AlarmCode.CHORE_FAILING: "Check the worker logs for its traceback.",
        AlarmCode.COUNTERS_DIFFER: "They have been corrected. Find out what changed the tables without their triggers.",
        AlarmCode.RULESETS_DIFFER: "Run the same release and `ASSAY_RULESET` everywhere; restart outdated processes.",
        AlarmCode.SOURCES_FORGOTTEN: "Start more workers, check GitHub rate limits, or raise `ASSAY_WATCH_SECONDS`.",
        AlarmCode.SEARCH_MISSES: "Rebuild the indexes: `REINDEX TABLE CONCURRENTLY skill`.",
        AlarmCode.TOKENS_REFUSED: "Replace it in `ASSAY_GITHUB_TOKENS`; the worker logs say which one it is.",
        AlarmCode.DISCOVERY_OVERDUE: "Start `assay crawl`, or set `ASSAY_DISCOVERY` for `assay up`.",
        AlarmCode.DISCOVERY_FAILING: "Check its error in `GET /api/v1/admin/discovery/stats` and in the crawler log.",
        AlarmCode.DISCOVERY_FLOOR: "Run `assay crawl SOURCE --dry-run`; if it finds all there is, raise the floor.",
        AlarmCode.SOURCE_DARK: "Its service has changed or blocks us: run `assay crawl SOURCE --dry-run`.",
        AlarmCode.DISCOVERY_BLIND: "Compare the service's response with what the source expects: docs/discovery.md.",
        AlarmCode.DISCOVERY_COVERAGE: "Enable more sources, or find out why the running ones miss these repositories.",
        AlarmCode.DISCOVERY_CUT: "Enable other sources, which may find the rest.",
        AlarmCode.JUDGE_DOWN: "Check the endpoint, its key and its limits. Submissions wait, then go to review.",
        AlarmCode.JUDGE_BUDGET_SPENT: "Raise `ASSAY_LLM_DAILY_BUDGET`; otherwise submissions wait until midnight UTC.",
        AlarmCode.JUDGE_BEHIND: "Start more workers, raise `ASSAY_LLM_CONCURRENCY`, or find out why the judge fails.",
        AlarmCode.NO_SCAN_NODE: "Start `assay scan-node` (with `--install`), or set `ASSAY_DEEP_SCAN_TOOLS=none`.",
        AlarmCode.DEEP_SCANS_WAITING: "Start more scan nodes, and check that they have all the tools.",
        AlarmCode.DEEP_SCAN_ERRORS: "Check the errors of the scans and the logs of the scan nodes.",
        AlarmCode.REPORTS_UNANSWERED: "Answer them at `/admin/reports`.",
        AlarmCode.REVIEWS_WAITING: "Decide them at `/admin/reviews`, or with `assay review list`.",
        AlarmCode.SUPPRESSION_ENDING: "The content will then be rescanned. See `/admin`, and inform its author.",
        AlarmCode.DETECTOR_BLIND: "Start `assay worker`. Until then, alarms are computed only on request.",
        AlarmCode.PAUSED: "Nothing if this is intended; otherwise resume the queue.",
    }
)
INFORMATIVE = frozenset({AlarmCode.SUPPRESSION_ENDING, AlarmCode.PAUSED, AlarmCode.DISCOVERY_CUT})


@dataclass(frozen=True)
class Alarm:
    """A condition that holds; `since` is when it began, if known."""

    code: AlarmCode
    summary: str
    subject: str | None = None
    since: datetime | None = None

    @property
    def key(self) -> str:
        """Identifies the condition, however often it is observed."""
        return f"{self.code}:{self.subject}" if self.subject else self.code.value

    @property
    def message(self) -> str:
        """The condition and its remedy."""
        return f"{self.summary} {ALARM_REMEDIES[self.code]}"

    @property
    def is_problem(self) -> bool:
        """Return whether an operator must act."""
        return self.code not in INFORMATIVE
