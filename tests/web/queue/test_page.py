"""The queue page: a plain filter form, pages that keep the filters, and positions."""

from urllib.parse import parse_qs, urlsplit

import asyncpg

from assay.model.submission import StateGroup
from tests.support.registry import Registry
from tests.support.web.crowd import a_crowd, settle
from tests.support.web.pages import Page, open_page

HOSTILE = '"><script>alert(1)</script>'


def rows(page: Page) -> list[str]:
    """Return the submissions a page links to."""
    return [link.rpartition("/")[2] for link in page.links() if link.startswith("/submissions/")]


def fields(page: Page) -> dict[str, str]:
    """Return the values the page's form would submit."""
    sent = {}
    names: list[str] = []
    for tag, attributes in page.tags:
        if tag in ("input", "select") and ("label" in attributes or attributes.get("type") == "hidden"):
            names.append(attributes["name"] or "")
            sent[names[-1]] = attributes.get("value") or ""
        if tag == "option" and "selected" in attributes:
            sent[names[-1]] = attributes["value"] or ""
    return sent


async def test_filter_form_matches_the_api(registry: Registry, database_url: str) -> None:
    """G59: empty fields do not filter, and the form keeps its values."""
    await settle(database_url, a_crowd(600))
    asked = {"q": "PDF", "reason": "low_score", "source": "api", "sort": "skillName"}
    page = await open_page(registry, "/queue?q=PDF&reason=low_score&source=api&sort=skillName&category=rejected")
    listed = (await registry.client.get("/api/v1/submissions", params={**asked, "category": "rejected"})).json()
    assert rows(page) == [each["id"] for each in listed["submissions"]] != []
    assert fields(page) == {**asked, "category": "rejected"}
    empty = await open_page(registry, "/queue?q=&reason=&source=&sort=createdAt")
    assert rows(empty) == rows(await open_page(registry, "/queue"))
    for wrong in (
        "source=nope",
        "sort=nope",
        "dir=up",
        "nope=1",
        "q=x",
        "reason=%00",
        "sort=processingOrder&category=failed",
    ):
        await open_page(registry, f"/queue?{wrong}", status=400)


async def test_pages_keep_filters_and_show_every_row_once(registry: Registry, database_url: str) -> None:
    """G58."""
    await settle(database_url, a_crowd(400))
    wanted = (await registry.client.get("/api/v1/submissions?source=api&sort=state&limit=500")).json()
    path, found = "/queue?source=api&sort=state", list[str]()
    while path:
        page = await open_page(registry, path)
        found += rows(page)
        more = [link for link in page.links() if "cursor=" in link]
        assert all(parse_qs(urlsplit(link).query)["source"] == ["api"] for link in more)
        path = more[0] if more else ""
    assert found == [each["id"] for each in wanted["submissions"]]
    assert len(found) > 50


async def test_tabs_keep_filters_and_use_valid_orders(registry: Registry, database_url: str) -> None:
    await settle(database_url, a_crowd(40))
    for start in ("/queue?q=acme&sort=updatedAt", "/queue?sort=processingOrder&source=api", "/queue?dir=asc"):
        page = await open_page(registry, start)
        tabs = [link for link in page.links() if link.startswith("/queue") and "cursor" not in link]
        assert len(tabs) >= 1 + len(StateGroup)
        for tab in tabs:
            await open_page(registry, tab)


async def test_filter_input_is_escaped(registry: Registry, database_url: str) -> None:
    """In the form and in links."""
    await settle(database_url, a_crowd(10))
    answer = await registry.client.get("/queue", params={"q": HOSTILE, "repoUrl": f"{registry.web_url}/a/b"})
    assert answer.status_code == 200
    assert "<script>alert" not in answer.text
    assert "&lt;script&gt;" in answer.text


async def test_position_is_shown_in_list_and_detail(registry: Registry, database_url: str) -> None:
    """G29: with the estimate and the next step."""
    ids = [(await registry.submit("acme/tools", name, f"skills/{name}/SKILL.md"))["id"] for name in ("one", "two")]
    assert "Position" in (await open_page(registry, "/queue")).text
    assert "Position" in (await open_page(registry, "/")).text
    db = await asyncpg.connect(database_url)
    await db.execute(
        "INSERT INTO submission_arrival VALUES (date_trunc('minute', now()) - interval '5 min', 'REJECTED', 36)"
    )
    page = await open_page(registry, f"/submissions/{ids[1]}")
    assert "Position 2, about 3.3 min left" in page.text
    assert "Next step: No action needed: it is number 2 in the queue." in page.text
    await db.execute(
        "UPDATE pgqueuer SET execute_after = now() + interval '1 hour' WHERE dedupe_key = $1", f"{ids[1]}:1"
    )
    await db.close()
    assert "Not before" in (await open_page(registry, f"/submissions/{ids[1]}")).text
    decided = await open_page(registry, "/queue?category=rejected")
    assert "Position" not in decided.text


async def test_inexact_total_is_marked(registry: Registry, database_url: str) -> None:
    """10,000 or more is shown as such; an unfinished search does not show zero."""
    await settle(database_url, a_crowd(1))
    db = await asyncpg.connect(database_url)
    await db.execute(
        "INSERT INTO submission (id, repository_id, skill_name, skill_path, state, origin) SELECT gen_random_uuid(), "
        "(SELECT min(id) FROM repository), 'skill-' || number, 'SKILL.md', 'AUTO_APPROVED', 'cli' "
        "FROM generate_series(1, 10500) AS number"
    )
    await db.close()
    assert "Queue 10,000+" in (await open_page(registry, "/queue?source=cli")).text
    nothing = await open_page(registry, "/queue?q=qz")
    assert "Queue all" in nothing.text
    assert "but there are more" in nothing.text
    assert any("cursor=" in link for link in nothing.links())
