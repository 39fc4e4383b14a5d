"""A failing judge: always a scanner error, never a pass, never unseen cost."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import text

from assay.model.errors import ScannerError
from assay.model.source import Source
from assay.policy.policy import static_verdict
from assay.scan.ruleset import load_ruleset
from assay.scan.scan import scan_source
from assay.settings import Settings
from assay.store.scans.scans import ScannedContent, list_scans, save_scans
from tests.support.fake_github import FakeGitHub
from tests.support.fake_llm import Answer, Behaviour, FakeModel, completion
from tests.support.registry import SECRET, Registry, open_registry
from tests.support.skills import a_skill


def a_source(name: str = "greet") -> Source:
    """Return a harmless skill."""
    return Source({"SKILL.md": a_skill(name).encode()}, commit="0" * 40)


SOURCE = a_source()


async def ask(registry: Registry, source: Source = SOURCE, *, since: timedelta = timedelta()):
    """Run the judge on a skill that the static scan passed."""
    report = scan_source(source, load_ruleset())
    judge = registry.tools.judge
    static = static_verdict(report, registry.tools.policy)
    async with registry.app.store.begin() as db:
        await save_scans(db, 1, [ScannedContent(source.manifest, report, static)])
    return await judge.judge(source, report, since=registry.app.clock.now() - since)


async def alarms(registry: Registry) -> set[str]:
    answer = await registry.client.get("/api/v1/queue/health", headers={"X-Internal-Key": SECRET})
    return {alarm["code"] for alarm in answer.json()["alarms"]}


def says(text: str, **more) -> Behaviour:
    return lambda _: completion(text, **more)


def lying(**changes) -> Behaviour:
    return lambda asked: completion(asked.correct_answer() | changes)


BROKEN: dict[str, tuple[Behaviour, str]] = {
    "an outage": (lambda _: Answer(b"", status=503), "llm_unreachable"),
    "a hang-up": (lambda _: Answer(b"", hang_up=True), "llm_unreachable"),
    "silence": (lambda asked: replace(completion(asked.correct_answer()), delay_seconds=30), "llm_timed_out"),
    "a wrong key": (lambda _: Answer(b'{"error": "key-of-the-fake is wrong"}', status=401), "llm_bad_key"),
    "no such model": (lambda _: Answer(b"", status=404), "llm_bad_request"),
    "a redirect": (lambda _: Answer(b"", status=302, headers={"Location": "/v1"}), "llm_bad_request"),
    "a rate limit": (lambda _: Answer(b"", status=429, headers={"Retry-After": "7"}), "llm_rate_limited"),
    "no JSON": (lambda _: Answer(b"<html>"), "llm_bad_answer"),
    "no choices": (lambda _: Answer(b'{"choices": []}'), "llm_bad_answer"),
    "prose": (says("I am happy to help!"), "llm_bad_answer"),
    "half an answer": (lambda asked: completion(asked.correct_answer(), finish_reason="length"), "llm_bad_answer"),
    "a refusal": (lambda a: completion("", message={"content": None, "refusal": "no"}), "llm_bad_answer"),
    "another form": (lying(verdict="clean"), "llm_bad_answer"),
    "a field that no database keeps": (lying(**{"a\0b": "clean"}), "llm_bad_answer"),
    "a file that is not there": (
        lying(findings=[{"file": 99, "line": 1, "kind": "x", "severity": "low", "confidence": 1, "reason": ""}]),
        "llm_bad_answer",
    ),
    "answers to nothing": (lying(rulings=[{"question": 1, "ruling": "refuted", "reason": ""}]), "llm_bad_answer"),
    "a number beyond one": (
        lying(
            findings=[{"file": 1, "line": 1, "kind": "concealment", "severity": "low", "confidence": 7, "reason": ""}]
        ),
        "llm_bad_answer",
    ),
    "an answer without end": (lambda _: Answer(b"[" * 5_000_000), "llm_bad_answer"),
}


@pytest.fixture
def hasty(judged_settings: Settings) -> Settings:
    """Return settings with a short timeout."""
    return judged_settings.model_copy(update={"llm_timeout_seconds": 0.3})


@pytest.mark.parametrize("name", sorted(BROKEN))
async def test_every_failure_is_a_scanner_error(
    hasty: Settings, github: FakeGitHub, model: FakeModel, name: str
) -> None:
    """G43: stored as ERROR, without the key."""
    model.behave, code = BROKEN[name]
    async with open_registry(hasty, github) as registry:
        with pytest.raises(ScannerError) as raised:
            await ask(registry)
        assert raised.value.code == code
        assert "key-of-the-fake" not in raised.value.message
        if code == "llm_rate_limited":
            assert raised.value.retry_after_seconds == 7


async def test_bad_answer_is_requested_once_more(judged: Registry, model: FakeModel) -> None:
    """both are paid for."""
    model.next_behaviours = [says("Sure! Here is the JSON")]
    judgement = await ask(judged)
    assert judgement.integrity == ()
    assert len(model.requests) == 3
    assert judgement.usage.prompt_tokens == 3000


async def test_model_without_valid_answers_is_limited(judged: Registry, model: FakeModel) -> None:
    """G43, G44: it counts as a failure, its cost is recorded, and one skill cannot exhaust the budget."""
    model.behave = says("I am happy to help!")
    for _ in range(3):
        with pytest.raises(ScannerError) as raised:
            await ask(judged, since=timedelta(hours=1))
        assert raised.value.code == "llm_bad_answer"
    assert raised.value.retry_after_seconds < 60
    assert "judge_down" in await alarms(judged)
    async with judged.app.store.begin() as db:
        await db.execute(text("UPDATE scan SET created_at = created_at - interval '10 minutes' WHERE tier = 2"))
    with pytest.raises(ScannerError) as raised:
        await ask(judged, since=timedelta(hours=1))
    assert 600 <= raised.value.retry_after_seconds <= 900
    async with judged.app.store.begin() as db:
        [scan] = [each for each in await list_scans(db, SOURCE.digest) if each.tier == 2]
    assert 4 * 2000 <= scan.usage.prompt_tokens <= 1000 * len(model.requests), "at least two answers each time"
    model.behave = FakeModel().behave
    await ask(judged)
    assert "judge_down" not in await alarms(judged)


@pytest.mark.parametrize(
    ("told", "prompt_tokens", "estimated"),
    [
        ({"prompt_tokens": 10, "completion_tokens": 1}, 10, False),
        ({"prompt_tokens": -5, "completion_tokens": 1}, None, True),
        ({"prompt_tokens": 0, "completion_tokens": 0}, None, True),
        ({"prompt_tokens": "many"}, None, True),
        ("nothing", None, True),
        ({"prompt_tokens": 10**15, "completion_tokens": 10**15}, None, False),
    ],
    ids=["told", "negative", "nothing", "words", "a string", "absurd"],
)
async def test_reported_usage_is_plausible(
    judged: Registry, model: FakeModel, told: object, prompt_tokens: int | None, estimated: bool
) -> None:
    """otherwise it is estimated."""
    model.behave = lambda asked: completion(asked.correct_answer(), usage=told)
    usage = (await ask(judged)).usage
    assert usage.is_estimated is estimated
    if prompt_tokens:
        assert usage.prompt_tokens == 2 * prompt_tokens
    assert 0 < usage.prompt_tokens < 100_000
    assert 0 < usage.cost_micros < 1_000_000


async def test_circuit_breaker_opens_and_closes(
    judged_settings: Settings, github: FakeGitHub, model: FakeModel
) -> None:
    """G43: after five failures and one success."""
    model.behave = lambda _: Answer(b"", status=401)
    settings = judged_settings.model_copy(update={"llm_pause_seconds": 3600})
    async with open_registry(settings, github) as registry:
        codes = []
        for _ in range(6):
            with pytest.raises(ScannerError) as raised:
                await ask(registry)
            codes.append(raised.value.code)
        assert codes[0] == "llm_bad_key"
        assert codes[-1] == "llm_breaker_open"
        calls = len(model.requests)
        with pytest.raises(ScannerError):
            await ask(registry)
        assert len(model.requests) == calls
        assert "judge_down" in await alarms(registry)
        breaker = registry.tools.judge.client.breaker
        breaker.clock = lambda offset=breaker.clock: offset() + 3601
        model.behave = FakeModel().behave
        assert (await ask(registry)).problem is None
        assert not breaker.is_open
        assert "judge_down" not in await alarms(registry)


async def test_daily_budget_is_never_exceeded(judged_settings: Settings, github: FakeGitHub, model: FakeModel) -> None:
    """G44: the maximum cost is reserved before each question."""
    budget = judged_settings.model_copy(update={"llm_daily_budget": 0.1})
    async with open_registry(budget, github) as first, open_registry(budget, github) as second:
        # Known content is free, so each skill differs; unspent reservations return, so the day ends when no question
        # can be afforded.
        for number in range(100, 300):
            asked = len(model.requests)
            pair = ask(first, a_source(f"one-{number}")), ask(second, a_source(f"two-{number}"))
            answers = await asyncio.gather(*pair, return_exceptions=True)
            if len(model.requests) == asked:
                break
        assert [each.code for each in answers if isinstance(each, ScannerError)] == ["llm_budget_spent"] * 2
        with pytest.raises(ScannerError):
            await ask(second, a_source("two-999"))
        assert len(model.requests) == asked
        health = (await second.client.get("/api/v1/queue/health", headers={"X-Internal-Key": SECRET})).json()
        assert "judge_budget_spent" in {alarm["code"] for alarm in health["alarms"]}
        assert health["judge"]["spentToday"] <= 0.1
        assert health["judge"]["stoppedAt"] is not None


@pytest.mark.process
async def test_long_judge_outage_goes_to_review(
    judged_settings: Settings, github: FakeGitHub, model: FakeModel
) -> None:
    model.behave = lambda _: Answer(b"", status=500)
    settings = judged_settings.model_copy(update={"llm_patience_seconds": 0})
    async with open_registry(settings, github) as registry:
        github.add_repository("acme/tools", files={"SKILL.md": a_skill("greet")})
        accepted = await registry.submit("acme/tools", "greet")
        await registry.work()
        detail = await registry.read(accepted["id"])
        assert (detail["state"], detail["reason"]["code"]) == ("NEEDS_REVIEW", "judge_unavailable")
        judge = next(scan for scan in detail["scanResults"] if scan["tier"] == 2)
        assert (judge["outcome"], judge["score"]) == ("ERROR", None)
        assert "is unreachable" in judge["problem"]


async def test_slow_answer_within_the_timeout_counts(judged: Registry, model: FakeModel) -> None:
    """G43."""
    model.behave = lambda asked: replace(completion(asked.correct_answer()), delay_seconds=0.3)
    assert (await ask(judged)).problem is None


async def test_busy_judge_has_not_failed(judged: Registry, model: FakeModel) -> None:
    """the submission returns to the queue."""
    judge = judged.tools.judge
    options = replace(judge.options, deadline_seconds=0.1)
    crowded = replace(judge, options=options, slots=asyncio.Semaphore(0))
    with pytest.raises(ScannerError) as raised:
        await crowded.judge(SOURCE, scan_source(SOURCE, load_ruleset()), since=judged.app.clock.now())
    assert raised.value.code == "judge_busy"
    assert model.requests == []
    async with judged.app.store.begin() as db:
        assert await list_scans(db, SOURCE.digest) == []
