"""What words find: mistakes, scripts without spaces, beginnings, and at what cost."""

import pytest
from sqlalchemy import text

from assay.model.errors import Unavailable
from assay.model.skill_list import Filters, Sort
from assay.store.skills.search import CANDIDATES, Page, search
from tests.support.registry import Registry
from tests.support.web.listings import run
from tests.web.skills.test_api import LIST, SEARCH, found, publish


async def test_almost_right_is_found_if_nothing_is_right(registry: Registry) -> None:
    """G61: a typing mistake finds names like it, and says so; what is found by words is never mixed with it."""
    await publish(registry, "acme/cloud", {"kubernetes-deploy": "Rolls out.", "invoices": "Writes bills."})
    answer = (await registry.client.get(SEARCH, params={"q": "kubrenetes"})).json()
    assert [each["skillSlug"] for each in answer["results"]] == ["kubernetes-deploy"]
    assert answer["approximate"] is True
    assert "These have names like it" in (await registry.client.get("/skills?q=kubrenetes")).text
    answer = (await registry.client.get(SEARCH, params={"q": "kubernetes"})).json()
    assert answer["approximate"] is False
    assert await found(registry, "xyzzyplugh") == []


@pytest.mark.parametrize(
    ("words", "slugs"),
    [
        ("图表", ["sheets"]),
        ("表图", []),
        ("图表 pdf", ["sheets"]),
        ("pdf电子", ["sheets"]),
        ("スライド", ["slides"]),
        ("ライ", ["slides"]),
        ("发票", ["label"]),
        ("แปลภาษา", ["thai"]),
    ],
)
async def test_scripts_without_spaces(registry: Registry, words: str, slugs: list[str]) -> None:
    """G61: from two characters on, in names, descriptions and labels; in the order in which they are written."""
    await publish(
        registry,
        "acme/office",
        {
            "sheets": "把电子表格转换成图表, pdf 也可以。",
            "slides": "プレゼンのスライドを作る。",
            "thai": "เครื่องมือแปลภาษาไทย",
            "label": "Nothing to see.",
        },
    )
    await run(registry, "UPDATE skill SET labels = '{发票}' WHERE name LIKE '%label'")
    assert await found(registry, words) == [f"acme/office/{slug}" for slug in slugs]


async def test_words_of_path_labels_category_and_beginnings(registry: Registry) -> None:
    """G61: every token is in the index, wherever it stands; short beginnings are those of names."""
    await publish(registry, "acme/tools", {"pdf-forms": "Fills the fields.", "poem": "Writes."})
    await run(registry, "UPDATE skill SET labels = '{paper-work}', category = 'documents', "
              "skill_path = 'office/desk/SKILL.md' WHERE name LIKE '%forms'")  # fmt: skip
    for words in (
        "desk",
        "office",
        "paper",
        "paper-work",
        "documents",
        "pd",
        "pdf-f",
        "the fields",
        "fields the",
        "tools pdf",
    ):
        assert (await found(registry, words))[0] == "acme/tools/pdf-forms", words
    assert await found(registry, "label:") == await found(registry, "=category:documents") == []


async def test_a_common_word_costs_no_more_than_so_many_candidates(registry: Registry) -> None:
    """G100: of a word that everything has, so many are looked at and the most starred are among them."""
    await publish(registry, "acme/tools", {"pdf": "Reads common things."})
    await run(
        registry,
        """
        WITH listed AS (
            INSERT INTO skill (id, name, repository_id, skill_path, display_name, description, author, tier, method,
                score, trust_score, trust_tier, current_version_id, stars)
            SELECT gen_random_uuid(), 'acme/tools/copy-' || number, repository_id, 'copy/' || number, 'Copy', description,
                author, tier, method, score, trust_score, trust_tier,
                gen_random_uuid(), CASE WHEN number = 6500 THEN 99999 ELSE 1 END
            FROM skill, generate_series(1, 6500) AS number RETURNING id, current_version_id
        )
        INSERT INTO skill_version (id, skill_id, version, ordinal, content_digest, commit, scan_id, tier, score, hallmark)
        SELECT listed.current_version_id, listed.id, '1.0.0', 1, content_digest, commit, scan_id, tier, score, '{}'
        FROM listed, skill_version
        """,
    )
    answer = (await registry.client.get(SEARCH, params={"q": "common"})).json()
    assert answer["results"][0]["name"] == "acme/tools/copy-6500"
    assert (answer["total"], answer["totalIsExact"], answer["facets"]["isExact"]) == (CANDIDATES, False, False)
    await run(registry, "UPDATE skill SET created_at = now() + interval '1 day' WHERE name = 'acme/tools/copy-3'")
    answer = (await registry.client.get(SEARCH, params={"q": "common", "sort": "newest", "limit": 1})).json()
    assert answer["results"][0]["name"] == "acme/tools/copy-3"
    # Exact names are always among the candidates, and lists know their number.
    assert (await found(registry, "acme/tools/copy-77"))[0] == "acme/tools/copy-77"
    assert (await found(registry, "copy-78"))[0] == "acme/tools/copy-78"
    answer = (await registry.client.get(LIST, params={"source": "acme", "sort": "stars", "limit": 1})).json()
    assert (answer["total"], answer["totalIsExact"], answer["facets"]["category"]) == (2_000, False, None)
    assert answer["skills"][0]["name"] == "acme/tools/copy-6500"
    assert (await registry.client.get(LIST)).json()["total"] == 6_501


async def test_a_search_that_takes_too_long_is_ended(registry: Registry) -> None:
    """G100: nobody waits for ever, and the answer says what to do."""
    await publish(registry, "acme/tools", {"pdf": "Reads documents."})
    async with registry.app.store.begin() as db:
        # A function that is called for every candidate takes its time.
        await db.execute(text("CREATE SCHEMA slow"))
        await db.execute(
            text(
                "CREATE FUNCTION slow.ts_rank(tsvector, tsquery) RETURNS float4 LANGUAGE sql VOLATILE AS "
                "$$ SELECT pg_sleep(10); SELECT 1::float4 $$"
            )
        )
        await db.execute(text("SET LOCAL search_path = slow, pg_catalog, public"))
        with pytest.raises(Unavailable, match=r"took longer than 3 s\. Ask for a name") as refused:
            await search(db, "documents", Filters(), Page(Sort.RELEVANCE, None, 10, 0))
    assert refused.value.code == "search_timeout"
