"""An alarm: a condition that holds, what it means, and what to do about it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType


class Code(StrEnum):
    """The conditions. The codes are stable; programs may branch on them."""

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


MEANS: Mapping[Code, str] = MappingProxyType(
    {
        Code.NO_WORKER: "something waits and no worker was seen for 30 s",
        Code.OLDEST_WAITING: "a submission has waited for longer than `ASSAY_OLDEST_WAITING_SECONDS`",
        Code.STAGE_STALLED: "a stage had work for three times `ASSAY_STUCK_SECONDS` and brought nothing out",
        Code.STUCK: "a worker took a submission and did not bring it back in time",
        Code.ORPHANS: "an active submission was found without a job",
        Code.UNREADABLE_JOBS: "the queue holds jobs that cannot be read",
        Code.FAILING: "at least ten, and half of all, could not be examined in the last hour",
        Code.CHORE_OVERDUE: "a chore has not succeeded in time",
        Code.CHORE_FAILING: "a chore has failed twice in a row",
        Code.COUNTERS_DIFFER: "the last full count found counters that were wrong",
        Code.RULESETS_DIFFER: "processes that are alive work by different rules",
        Code.SOURCES_FORGOTTEN: "a source was not looked at for more than twice `ASSAY_WATCH_SECONDS`",
        Code.SEARCH_MISSES: "the registry did not find a listed skill by its own name",
        Code.TOKENS_REFUSED: "GitHub has refused a token in the last ten minutes",
        Code.DISCOVERY_OVERDUE: "a source of discovery is due and nobody runs it",
        Code.DISCOVERY_FAILING: "a source of discovery has failed three times in a row",
        Code.DISCOVERY_FLOOR: "a source has found nothing new for longer than `ASSAY_DISCOVERY_FLOOR_SECONDS`",
        Code.SOURCE_DARK: "three runs in a row of a source have found nothing at all, new or known",
        Code.DISCOVERY_BLIND: "a question whose answer is known did not find it",
        Code.DISCOVERY_COVERAGE: "fewer than 80 % of the known repositories were found in the last week",
        Code.DISCOVERY_CUT: "a search has more results than its service shows; for information, not a problem",
        Code.JUDGE_DOWN: "the model of the judge has failed five times in a row",
        Code.JUDGE_BUDGET_SPENT: "a question was not asked because `ASSAY_LLM_DAILY_BUDGET` is spent",
        Code.JUDGE_BEHIND: "something published has waited for a second look for more than a day",
        Code.NO_SCAN_NODE: "deep scans wait and no scan node is alive",
        Code.DEEP_SCANS_WAITING: "a deep scan has waited for longer than `ASSAY_DEEP_SCAN_WAITING_SECONDS`",
        Code.DEEP_SCAN_ERRORS: "a scan tool could not look at something in the last hour, after all attempts",
        Code.REPORTS_UNANSWERED: "a security report has waited for an answer for `ASSAY_REPORT_HOURS`",
        Code.REVIEWS_WAITING: "a submission has waited for a reviewer for `ASSAY_REVIEW_HOURS`",
        Code.SUPPRESSION_ENDING: "a finding will count again within a week; for information, not a problem",
        Code.DETECTOR_BLIND: "the queue is not being watched",
        Code.PAUSED: "the queue is paused; for information, not a problem",
    }
)
WHAT_TO_DO: Mapping[Code, str] = MappingProxyType(
    {
        Code.NO_WORKER: "Start `assay worker`, and look in its log why it ended.",
        Code.OLDEST_WAITING: "Start more workers, or look at the budget of the GitHub tokens.",
        Code.STAGE_STALLED: "Look in the logs of the workers what each attempt ends with, and whether GitHub answers.",
        Code.STUCK: "Look at the stuck list; restart workers that hang.",
        Code.ORPHANS: "They are enqueued again by themselves; find out who deleted their jobs.",
        Code.UNREADABLE_JOBS: "Their submissions go on with new jobs. Look at the rows, then delete them.",
        Code.FAILING: "Look at the reasons of the failed submissions; requeue them when the cause is gone.",
        Code.CHORE_OVERDUE: "Look in the logs of the workers; start one if none runs.",
        Code.CHORE_FAILING: "Look in the logs of the workers for its traceback.",
        Code.COUNTERS_DIFFER: "They have been corrected; find out who wrote to the tables past the triggers.",
        Code.RULESETS_DIFFER: "Give all the same release and `ASSAY_RULESET`, and restart those that lag behind.",
        Code.SOURCES_FORGOTTEN: "Start more workers, look at the budget of the GitHub tokens, or watch less often.",
        Code.SEARCH_MISSES: "Rebuild the indexes: `REINDEX TABLE CONCURRENTLY skill`.",
        Code.TOKENS_REFUSED: "Renew it in `ASSAY_GITHUB_TOKENS`; the log of the workers says which one it is.",
        Code.DISCOVERY_OVERDUE: "Start `assay crawl`, or set `ASSAY_DISCOVERY` for `assay up`.",
        Code.DISCOVERY_FAILING: "Look at its problem in `GET /api/v1/admin/discovery/stats`, and in the crawler's log.",
        Code.DISCOVERY_FLOOR: "Try `assay crawl SOURCE --dry-run`; if it finds all there is, raise the floor.",
        Code.SOURCE_DARK: "Its service has changed or refuses us: try `assay crawl SOURCE --dry-run`.",
        Code.DISCOVERY_BLIND: "Compare what the service answers with what the source expects; the docs say how.",
        Code.DISCOVERY_COVERAGE: "Enable more sources, or look why those that run do not find what is missing.",
        Code.DISCOVERY_CUT: "Enable other sources: what one of them is not shown, another may find.",
        Code.JUDGE_DOWN: "Look at the endpoint, its key and its limits. Submissions wait, then a person looks.",
        Code.JUDGE_BUDGET_SPENT: "Raise `ASSAY_LLM_DAILY_BUDGET`, or wait for tomorrow (UTC): submissions wait, too.",
        Code.JUDGE_BEHIND: "Start more workers, raise `ASSAY_LLM_CONCURRENCY`, or look why the judge fails.",
        Code.NO_SCAN_NODE: "Start `assay scan-node` (`--install` gets its tools), or set ASSAY_DEEP_SCAN_TOOLS=none.",
        Code.DEEP_SCANS_WAITING: "Start more scan nodes, and see whether they have all the tools.",
        Code.DEEP_SCAN_ERRORS: "Look at the errors of the scans, and in the logs of the scan nodes.",
        Code.REPORTS_UNANSWERED: "Read and answer them: `/admin/reports`.",
        Code.REVIEWS_WAITING: "Look at them and decide: `/admin/reviews`, or `assay review list`.",
        Code.SUPPRESSION_ENDING: "What it let out will be examined again then: see `/admin`, and tell its author.",
        Code.DETECTOR_BLIND: "Start `assay worker`; until then only what this answer itself can see is reported.",
        Code.PAUSED: "Nothing, if it is meant to be; else resume the queue.",
    }
)
INFORMATIVE = frozenset({Code.SUPPRESSION_ENDING, Code.PAUSED, Code.DISCOVERY_CUT})


@dataclass(frozen=True)
class Alarm:
    """One condition that holds. `since` is when it began, where the facts tell."""

    code: Code
    finding: str
    subject: str | None = None
    since: datetime | None = None

    @property
    def key(self) -> str:
        """One condition is one alarm, however often it is seen."""
        return f"{self.code}:{self.subject}" if self.subject else self.code.value

    @property
    def message(self) -> str:
        """What is wrong, and what to do."""
        return f"{self.finding} {WHAT_TO_DO[self.code]}"

    @property
    def is_problem(self) -> bool:
        """Whether somebody should do something."""
        return self.code not in INFORMATIVE
