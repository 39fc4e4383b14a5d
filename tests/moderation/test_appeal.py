"""Appeals: once per content, bounded, and answered."""

from typing import Any

import pytest

from tests.support.catalogue import agree
from tests.support.registry import Registry
from tests.support.review_cases import KEY, REVIEWS, a_doubtful_skill, decide, look, refused_skill, waiting
from tests.support.web.people import PAGE, a_browser, audit_of, cookies_of, signed_in

pytestmark = pytest.mark.process

TEXT = "The host is <script>ours()</script>.\n\u202eAnd nothing is sent."


async def appeal(registry: Registry, number: str, login: str = "mallory", text: str = TEXT, **given: Any) -> Any:
    """Send an appeal."""
    async with a_browser(registry.app) as browser:
        browser.cookies.update(cookies_of(await signed_in(registry.app, login, github_id=given.pop("github_id", None))))
        return await browser.post(f"/api/v1/submissions/{number}/appeal", json={"text": text} | given)


async def test_appeal_is_reviewed_and_answered(registry: Registry) -> None:
    """with the author's text; the answer is public."""
    number = await refused_skill(registry)
    answer = await appeal(registry, number)
    assert (answer.status_code, answer.json()["status"]) == (200, "open"), answer.text
    detail = await registry.read(number)
    assert (detail["state"], detail["reason"]["code"], detail["appeal"]["status"]) == (
        "NEEDS_REVIEW",
        "appealed",
        "open",
    )
    assert "scripts/setup.sh line 2" in detail["reason"]["message"]
    assert detail["appeal"]["text"] is None, "what the author says is for reviewers"
    for login, shown in (("mallory", True), ("alice", False)):
        async with a_browser(registry.app) as browser:
            browser.cookies.update(cookies_of(await signed_in(registry.app, login, github_id=None if shown else 5)))
            told = (await browser.get(f"/api/v1/submissions/{number}")).json()["appeal"]["text"]
            page = (await browser.get(f"/submissions/{number}")).text
        assert (told is not None, "And nothing is sent." in page) == (shown, shown)
    queue = (await registry.client.get(REVIEWS, params={"reason": "appealed"}, headers=KEY)).json()["reviews"]
    assert [(each["submission"]["id"], each["appeal"]["text"]) for each in queue] == [
        (number, "The host is <script>ours()</script>.\nAnd nothing is sent."),
    ]
    page = (await registry.client.get(f"/admin/reviews/{number}", headers=PAGE | KEY)).text
    assert "&lt;script&gt;ours()" in page
    assert "<script>ours" not in page
    assert (await decide(registry, number, "approve", "You are right.")).status_code == 200
    detail = await registry.read(number)
    assert (detail["state"], detail["appeal"]["status"], detail["appeal"]["answer"]) == (
        "PUBLISHED", "granted", "You are right.",
    )  # fmt: skip
    assert "You are right." in (await registry.client.get(f"/submissions/{number}", headers=PAGE)).text
    await agree(registry, "mallory/kit/steal")
    assert await audit_of(registry.app, "appealed", "review_approved") == [
        ("mallory", "appealed", number), ("internal key", "review_approved", number),
    ]  # fmt: skip


async def test_one_appeal_per_content(registry: Registry) -> None:
    """an appeal while in review does not change the state."""
    number = await waiting(registry, "mallory/kit", name="tidy")
    before = (await registry.read(number))["reason"]
    assert (await appeal(registry, number)).status_code == 200
    assert (await registry.read(number))["reason"] == before
    again = await appeal(registry, number)
    assert (again.status_code, again.json()["code"]) == (409, "appealed")
    await decide(registry, number, "reject", "It still deletes too much.")
    detail = await registry.read(number)
    assert (detail["appeal"]["status"], detail["appeal"]["answer"]) == ("refused", "It still deletes too much.")
    third = await appeal(registry, number)
    assert (third.status_code, third.json()["code"]) == (409, "appealed")
    assert (await registry.read(number))["state"] == "REJECTED"
    await waiting(registry, "mallory/kit", name="tidy", note="Other files.")
    assert (await registry.read(number))["appeal"] is None
    assert (await appeal(registry, number)).status_code == 200


@pytest.mark.parametrize("login", ["alice", "Mallory-2"])
async def test_only_owner_or_submitter_may_appeal(registry: Registry, login: str) -> None:
    number = await refused_skill(registry)
    answer = await appeal(registry, number, login, github_id=5)
    assert (answer.status_code, answer.json()["code"]) == (403, "not_owner")
    anonymous = await registry.client.post(f"/api/v1/submissions/{number}/appeal", json={"text": TEXT})
    assert anonymous.status_code == 401
    assert (await registry.read(number))["state"] == "TIER1_FAILED"


@pytest.mark.parametrize("text", ["", "short", " \u200b" * 20, "x" * 4_001])
async def test_appeal_text_is_bounded(registry: Registry, text: str) -> None:
    number = await refused_skill(registry)
    answer = await appeal(registry, number, text=text)
    assert (answer.status_code, answer.json()["code"] in ("bad_text", "bad_request")) == (400, True), answer.text


async def test_appeals_are_rate_limited(registry: Registry) -> None:
    repositories = [f"mallory/kit{number}" for number in range(11)]
    for repository in repositories:
        registry.github.add_repository(repository, files=a_doubtful_skill(note=f"Of {repository}."))
    submissions = [(await registry.submit(repository, "tidy"))["id"] for repository in repositories]
    await registry.work()
    for number, submission in enumerate(submissions):
        answer = await appeal(registry, submission)
        assert answer.status_code == (200 if number < 10 else 429), answer.text
    assert int(answer.headers["retry-after"]) > 0
    assert (await look(registry, submission))["appeal"] is None


async def test_appeal_form_without_script(registry: Registry) -> None:
    """shown to the author only."""
    number = await refused_skill(registry)
    assert "<textarea" not in (await registry.client.get(f"/submissions/{number}", headers=PAGE)).text
    async with a_browser(registry.app) as browser:
        browser.cookies.update(cookies_of(await signed_in(registry.app, "mallory")))
        assert "<textarea" in (await browser.get(f"/submissions/{number}")).text
        sent = await browser.post(f"/submissions/{number}/appeal", data={"text": "It is a <b>test</b>.\r\nReally."})
        assert (sent.status_code, sent.headers["location"]) == (303, f"/submissions/{number}"), sent.text
        page = (await browser.get(f"/submissions/{number}")).text
    assert "NEEDS_REVIEW" in page
    assert "<textarea" not in page
    assert "<b>test" not in page
