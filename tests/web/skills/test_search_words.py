"""Search words: typos, scripts without spaces, prefixes, and cost."""

import pytest
from sqlalchemy import text

from assay.model.errors import Unavailable
from assay.model.skill import SkillFilters, SkillSort
from assay.store.skills.search import CANDIDATES, SearchPage, search
from tests.support.registry import Registry
from tests.support.web.listings import run
from tests.support.web.skills import LIST, SEARCH, found, publish

pytestmark = pytest.mark.process


async def test_typo_finds_similar_names_if_nothing_matches(registry: Registry) -> None:
    """G61: marked as such, and never mixed with exact matches."""
    await publish(registry, "acme/cloud", {"kubernetes-deploy": "Rolls out.", "invoices": "Writes bills."})
    answer = (await registry.client.get(SEARCH, params={"q": "kubrenetes"})).json()
    assert [each["skillSlug"] for each in answer["results"]] == ["kubernetes-deploy"]
    assert answer["approximate"] is True
    assert "Skills with similar names" in (await registry.client.get("/skills?q=kubrenetes")).text
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
async def test_search_in_scripts_without_spaces(registry: Registry, words: str, slugs: list[str]) -> None:
    """G61: from two characters, in names, descriptions and labels, in order."""
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


async def test_search_by_path_label_category_and_prefix(registry: Registry) -> None:
    """G61: one- and two-letter prefixes match names only."""
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


async def test_common_word_examines_a_bounded_number_of_candidates(registry: Registry) -> None:
    """G100: including the most starred ones."""
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
    # Exact names are always candidates, and lists know their total.
    assert (await found(registry, "acme/tools/copy-77"))[0] == "acme/tools/copy-77"
    assert (await found(registry, "copy-78"))[0] == "acme/tools/copy-78"
    answer = (await registry.client.get(LIST, params={"source": "acme", "sort": "stars", "limit": 1})).json()
    assert (answer["total"], answer["totalIsExact"], answer["facets"]["category"]) == (2_000, False, None)
    assert answer["skills"][0]["name"] == "acme/tools/copy-6500"
    assert (await registry.client.get(LIST)).json()["total"] == 6_501


async def test_slow_search_is_cancelled(registry: Registry) -> None:
    """G100: the error says how to narrow it."""
    await publish(registry, "acme/tools", {"pdf": "Reads documents."})
    async with registry.app.store.begin() as db:
        # Slow down every candidate with a function call.
        await db.execute(text("CREATE SCHEMA slow"))
        await db.execute(
            text(
                "CREATE FUNCTION slow.ts_rank(tsvector, tsquery) RETURNS float4 LANGUAGE sql VOLATILE AS "
                "$$ SELECT pg_sleep(10); SELECT 1::float4 $$"
            )
        )
        await db.execute(text("SET LOCAL search_path = slow, pg_catalog, public"))
        with pytest.raises(Unavailable, match=r"took longer than 3 s\. Search for a name") as refused:
            await search(db, "documents", SkillFilters(), SearchPage(SkillSort.RELEVANCE, None, 10, 0))
    assert refused.value.code == "search_timeout"
