"""A judge that fails: every way is a scanner error with a name, nothing passes, and no money is spent unseen."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import text

from assay.model.errors import ScannerError
from assay.model.source import Source
from assay.policy.policy import judge_report
from assay.scan.ruleset import load_ruleset
from assay.scan.scan import scan_source
from assay.settings import Settings
from assay.store.scans.scans import Examined, list_scans, save_scans
from tests.support.fake_github import FakeGitHub
from tests.support.fake_llm import Answer, Behaviour, FakeModel, completion
from tests.support.registry import SECRET, Registry, open_registry
from tests.support.skills import a_skill


def a_source(name: str = "greet") -> Source:
    """A harmless skill."""
    return Source({"SKILL.md": a_skill(name).encode()}, commit="0" * 40)


SOURCE = a_source()


async def ask(registry: Registry, source: Source = SOURCE, *, since: timedelta = timedelta()):
    """Have the judge look at a skill that the static scan has passed."""
    report = scan_source(source, load_ruleset())
    judge = registry.tools.judge
    static = judge_report(report, registry.tools.policy)
    async with registry.app.store.begin() as db:
        await save_scans(db, 1, [Examined(source.manifest, report, static)])
    return await judge.judge(source, report, since=registry.app.clock.now() - since)


async def alarms(registry: Registry) -> set[str]:
    answer = await registry.client.get("/api/v1/queue/health", headers={"X-Internal-Key": SECRET})
    return {alarm["code"] for alarm in answer.json()["alarms"]}


def says(text: str, **more) -> Behaviour:
    return lambda _: completion(text, **more)


def lying(**changes) -> Behaviour:
    return lambda asked: completion(asked.honest() | changes)


BROKEN: dict[str, tuple[Behaviour, str]] = {
    "an outage": (lambda _: Answer(b"", status=503), "llm_unreachable"),
    "a hang-up": (lambda _: Answer(b"", hang_up=True), "llm_unreachable"),
    "silence": (lambda asked: replace(completion(asked.honest()), delay_seconds=30), "llm_timed_out"),
    "a wrong key": (lambda _: Answer(b'{"error": "key-of-the-fake is wrong"}', status=401), "llm_bad_key"),
    "no such model": (lambda _: Answer(b"", status=404), "llm_bad_request"),
    "a redirect": (lambda _: Answer(b"", status=302, headers={"Location": "/v1"}), "llm_bad_request"),
    "a rate limit": (lambda _: Answer(b"", status=429, headers={"Retry-After": "7"}), "llm_rate_limited"),
    "no JSON": (lambda _: Answer(b"<html>"), "llm_bad_answer"),
    "no choices": (lambda _: Answer(b'{"choices": []}'), "llm_bad_answer"),
    "prose": (says("I am happy to help!"), "llm_bad_answer"),
    "half an answer": (lambda asked: completion(asked.honest(), finish_reason="length"), "llm_bad_answer"),
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
    """Settings of somebody who waits for no model."""
    return judged_settings.model_copy(update={"llm_timeout_seconds": 0.3})


@pytest.mark.parametrize("name", sorted(BROKEN))
async def test_every_way_to_fail_is_a_scanner_error(
    hasty: Settings, github: FakeGitHub, model: FakeModel, name: str
) -> None:
    """G43: no failure is a verdict; it is kept as an ERROR that people can see, without the key in it."""
    model.behave, code = BROKEN[name]
    async with open_registry(hasty, github) as registry:
        with pytest.raises(ScannerError) as raised:
            await ask(registry)
        assert raised.value.code == code
        assert "key-of-the-fake" not in raised.value.message
        if code == "llm_rate_limited":
            assert raised.value.retry_after_seconds == 7


async def test_a_bad_answer_is_asked_for_once_more(judged: Registry, model: FakeModel) -> None:
    """One slip is forgiven, and both answers are paid for."""
    model.then = [says("Sure! Here is the JSON")]
    judgement = await ask(judged)
    assert judgement.integrity == ()
    assert len(model.asked) == 3
    assert judgement.usage.prompt_tokens == 3000


async def test_a_model_that_only_babbles_is_seen_and_costs_less_and_less(judged: Registry, model: FakeModel) -> None:
    """G43, G44: an answer that is none is a failure, however promptly it comes, and what it cost stands with the scan;
    a skill that makes a model babble cannot spend the budget of all the others.
    """
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
    assert 4 * 2000 <= scan.usage.prompt_tokens <= 1000 * len(model.asked), "at least two answers each time"
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
async def test_usage_is_what_can_be(
    judged: Registry, model: FakeModel, told: object, prompt_tokens: int | None, estimated: bool
) -> None:
    """What an endpoint says of its own cost is believed within reason, and guessed where it says nothing."""
    model.behave = lambda asked: completion(asked.honest(), usage=told)
    usage = (await ask(judged)).usage
    assert usage.is_estimated is estimated
    if prompt_tokens:
        assert usage.prompt_tokens == 2 * prompt_tokens
    assert 0 < usage.prompt_tokens < 100_000
    assert 0 < usage.cost_micros < 1_000_000


async def test_five_failures_open_the_breaker_and_an_answer_closes_it(
    judged_settings: Settings, github: FakeGitHub, model: FakeModel
) -> None:
    """G43: a judge that is down is left alone, everybody can see it, and nobody has to do anything when it is back."""
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
        calls = len(model.asked)
        with pytest.raises(ScannerError):
            await ask(registry)
        assert len(model.asked) == calls
        assert "judge_down" in await alarms(registry)
        breaker = registry.tools.judge.client.breaker
        breaker.clock = lambda offset=breaker.clock: offset() + 3601
        model.behave = FakeModel().behave
        assert (await ask(registry)).problem is None
        assert not breaker.is_open
        assert "judge_down" not in await alarms(registry)


async def test_the_daily_budget_stops_all_spending_and_says_so(
    judged_settings: Settings, github: FakeGitHub, model: FakeModel
) -> None:
    """G44: what a question can cost at most is set aside before it is asked, so no number of processes overspends."""
    budget = judged_settings.model_copy(update={"llm_daily_budget": 0.1})
    async with open_registry(budget, github) as first, open_registry(budget, github) as second:
        # What is known costs nothing, so each is another. What was set aside and not spent is there again for the next
        # one, so the day is over when nobody gets as far as asking.
        for number in range(100, 300):
            asked = len(model.asked)
            pair = ask(first, a_source(f"one-{number}")), ask(second, a_source(f"two-{number}"))
            answers = await asyncio.gather(*pair, return_exceptions=True)
            if len(model.asked) == asked:
                break
        assert [each.code for each in answers if isinstance(each, ScannerError)] == ["llm_budget_spent"] * 2
        with pytest.raises(ScannerError):
            await ask(second, a_source("two-999"))
        assert len(model.asked) == asked
        health = (await second.client.get("/api/v1/queue/health", headers={"X-Internal-Key": SECRET})).json()
        assert "judge_budget_spent" in {alarm["code"] for alarm in health["alarms"]}
        assert health["judge"]["spentToday"] <= 0.1
        assert health["judge"]["stoppedAt"] is not None


async def test_a_judge_that_fails_for_too_long_leaves_it_to_a_person(
    judged_settings: Settings, github: FakeGitHub, model: FakeModel
) -> None:
    """The bound of waiting: NEEDS_REVIEW with a reason that blames nobody, never a pass."""
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
        assert "does not answer" in judge["problem"]


async def test_slow_answers_are_waited_for(judged: Registry, model: FakeModel) -> None:
    """G43: the time an answer may take is a setting, and an answer within it counts."""
    model.behave = lambda asked: replace(completion(asked.honest()), delay_seconds=0.3)
    assert (await ask(judged)).problem is None


async def test_a_judge_without_a_free_place_has_not_failed(judged: Registry, model: FakeModel) -> None:
    """Who waits for a place goes back to the queue; nothing is written against the judge."""
    judge = judged.tools.judge
    options = replace(judge.options, deadline_seconds=0.1)
    crowded = replace(judge, options=options, places=asyncio.Semaphore(0))
    with pytest.raises(ScannerError) as raised:
        await crowded.judge(SOURCE, scan_source(SOURCE, load_ruleset()), since=judged.app.clock.now())
    assert raised.value.code == "judge_busy"
    assert model.asked == []
    async with judged.app.store.begin() as db:
        assert await list_scans(db, SOURCE.digest) == []
