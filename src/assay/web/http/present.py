"""From values to views."""

from dataclasses import asdict
from typing import Any

from assay.llm.prices import MICROS
from assay.model.appeal import Appeal
from assay.model.capability import Capabilities
from assay.model.finding import Finding
from assay.model.human_decisions import NOTHING_SAID, Said
from assay.model.judgement import Usage
from assay.model.repository import WITHIN, Host, RepositoryName
from assay.model.scan import Scan
from assay.model.skill import Skill
from assay.model.submission import Category, Reason, Submission, category_of
from assay.scan.scan import ENGINE
from assay.serve.queue.position import Place, Places
from assay.serve.queue.queue import QueuePage
from assay.serve.submissions.stats import Stats
from assay.serve.submissions.submission import SubmissionDetail
from assay.web.http.json import (
    AppealView,
    CapabilitiesView,
    CostView,
    EventView,
    FindingView,
    PositionsView,
    PositionView,
    ReasonView,
    RulingView,
    ScanView,
    SkillView,
    StatsView,
    SubmissionDetailView,
    SubmissionPageView,
    SubmissionView,
    SuppressedView,
    TimingsView,
)


def repository_url(name: RepositoryName, web_url: str) -> str | None:
    """Where people find the repository; uploads have none."""
    match name.host:
        case Host.GITHUB:
            return f"{web_url}/{name}"
        case Host.GIT:
            return name.page_url
        case Host.UPLOAD:
            return None


def source_of_key(key: str, web_url: str) -> str:
    """The same of a repository that is known by its key."""
    owner, _, name = key.partition("/")
    host = Host.GIT if WITHIN in owner else Host.GITHUB
    return repository_url(RepositoryName(host, owner, name), web_url) or key


def commit_url(name: RepositoryName, commit: str, web_url: str) -> str | None:
    """Where people look at one commit of it."""
    url = repository_url(name, web_url)
    if url is None or name.host is Host.GITHUB:
        return f"{url}/tree/{commit}" if url else None
    return f"{url}/commits/{commit}" if name.server == "bitbucket.org" else f"{url}/commit/{commit}"


def present_submission(submission: Submission, web_url: str) -> SubmissionView:
    """A submission for a list."""
    return SubmissionView(**_submission_fields(submission, web_url))


def present_queue(page: QueuePage, web_url: str) -> SubmissionPageView:
    """A page of the queue."""
    return SubmissionPageView(
        submissions=[present_submission(each, web_url) for each in page.submissions],
        total=page.total,
        total_is_exact=page.total_is_exact,
        next_cursor=page.next_cursor,
        queue_positions={str(number): position.number for number, position in page.positions.items()},
        generated_at=page.stats.as_of,
    )


def present_places(places: Places) -> PositionsView:
    """Where some stand."""
    positions = {str(number): PositionView(**_place_fields(place)) for number, place in places.by_id.items()}
    return PositionsView(positions=positions, waiting=places.waiting, generated_at=places.as_of)


def present_detail(
    detail: SubmissionDetail, web_url: str, ruleset: str, *, mine: bool, shows_appeal: bool = False
) -> SubmissionDetailView:
    """A submission with everything that happened to it, its scans held against the ruleset of now; what an appeal says
    is for its author and for reviewers.
    """
    place = detail.place
    return SubmissionDetailView(
        **_submission_fields(detail.submission, web_url),
        **(_place_fields(place) if place else dict.fromkeys(("position", "position_is_exact", "eta_seconds"))),
        waiting_until=place.position.due_at if place else None,
        next_step=detail.next_step,
        mine=mine,
        content_digest=detail.submission.content_digest,
        published_skill_name=detail.listing_name,
        state_history=[
            EventView(
                from_state=event.from_state,
                to_state=event.to_state,
                trigger=event.trigger,
                actor=event.actor,
                metadata=dict(event.metadata),
                created_at=event.created_at,
            )
            for event in detail.history
        ],
        stage_timings=TimingsView(**asdict(detail.timings)),
        scan_results=[present_scan(scan, ruleset, detail.said) for scan in detail.scans],
        appeal=present_appeal(detail.appeal, with_text=shows_appeal) if detail.appeal else None,
    )


def present_scan(scan: Scan, ruleset: str, said: Said) -> ScanView:
    """A scan with its findings, and whether another ruleset than that of now has made it."""
    return ScanView(
        tier=scan.tier,
        engine=scan.report.engine,
        ruleset=scan.report.ruleset,
        outcome=scan.outcome,
        score=scan.score,
        path=scan.path,
        duration_ms=scan.report.duration_ms,
        created_at=scan.created_at,
        capabilities=present_capabilities(scan.report.capabilities),
        findings=[present_finding(finding, said) for finding in scan.report.findings],
        stale=is_stale(scan, ruleset),
        model=scan.model,
        cost=_present_cost(scan.usage),
        rulings=[RulingView(**asdict(ruled)) for ruled in scan.rulings],
        problem=scan.problem,
    )


def is_stale(scan: Scan, ruleset: str) -> bool:
    """Whether a static scan was made by other rules than those of now."""
    return scan.tier == 1 and (scan.report.engine, scan.report.ruleset) != (ENGINE, ruleset)


def _present_cost(usage: Usage | None) -> CostView | None:
    if usage is None:
        return None
    return CostView(
        prompt_tokens=usage.prompt_tokens,
        completion_tokens=usage.completion_tokens,
        cost=usage.cost_micros / MICROS,
    )


def present_finding(finding: Finding, said: Said = NOTHING_SAID) -> FindingView:
    """A finding, and why it does not count if it does not."""
    meant = said.suppression_of(finding)
    suppressed = SuppressedView(until=meant.until, by=meant.by, reason=meant.reason) if meant else None
    return FindingView(**asdict(finding), suppressed=suppressed)


def present_appeal(appeal: Appeal, *, with_text: bool) -> AppealView:
    """An appeal, for its author and reviewers with what it says."""
    return AppealView(
        id=appeal.id,
        status=appeal.status,
        created_at=appeal.created_at,
        text=appeal.text if with_text else None,
        answer=appeal.answer,
        answered_at=appeal.answered_at,
    )


def present_capabilities(capabilities: Capabilities) -> CapabilitiesView:
    """What a skill reaches for."""
    return CapabilitiesView(
        hosts=list(capabilities.hosts),
        programs=list(capabilities.programs),
        environment=list(capabilities.environment),
        outside_files=list(capabilities.outside_files),
        tools=list(capabilities.tools),
    )


def present_stats(stats: Stats) -> StatsView:
    """The numbers."""
    category = stats.by_category
    return StatsView(
        total=stats.total,
        active=category[Category.ACTIVE],
        published=category[Category.PUBLISHED],
        rejected=category[Category.REJECTED],
        review=category[Category.REVIEW],
        failed=category[Category.FAILED],
        blocked=category[Category.BLOCKED],
        on_hold=category[Category.ON_HOLD],
        by_state={state.value: number for state, number in stats.by_state.items()},
        skills=stats.skills,
        generated_at=stats.as_of,
    )


def present_skill(skill: Skill, web_url: str) -> SkillView:
    """A listing."""
    owner, repo, slug = skill.name.split("/")
    return SkillView(
        id=skill.id,
        name=skill.name,
        display_name=skill.display_name,
        description=skill.description,
        author=skill.author,
        repo_url=repository_url(skill.repository, web_url),
        owner_slug=owner,
        repo_slug=repo,
        skill_slug=slug,
        skill_path=skill.skill_path,
        license=skill.license,
        cert_tier=skill.tier,
        cert_method=skill.method,
        cert_score=skill.score,
        certified_at=skill.certified_at,
        trust_score=skill.trust_score,
        trust_tier=skill.trust_tier,
        current_version=skill.current_version,
        content_digest=skill.content_digest,
        commit=skill.commit,
        github_stars=skill.stars,
        created_at=skill.created_at,
        updated_at=skill.updated_at,
    )


def _submission_fields(submission: Submission, web_url: str) -> dict[str, Any]:
    return {
        "id": submission.id,
        "repo_url": repository_url(submission.repository.name, web_url),
        "repository": str(submission.repository.name),
        "skill_name": submission.skill_name,
        "skill_path": submission.skill_path,
        "state": submission.state,
        "category": category_of(submission.state),
        "source": submission.origin,
        "score": submission.score,
        "attempts": submission.attempts,
        "reason": _present_reason(submission.reason),
        "created_at": submission.created_at,
        "updated_at": submission.updated_at,
    }


def _place_fields(place: Place) -> dict[str, Any]:
    return {
        "position": place.position.number,
        "position_is_exact": place.position.is_exact,
        "eta_seconds": place.eta_seconds,
    }


def _present_reason(reason: Reason | None) -> ReasonView | None:
    if reason is None:
        return None
    return ReasonView(code=reason.code, message=reason.message, next_step=reason.next_step)
