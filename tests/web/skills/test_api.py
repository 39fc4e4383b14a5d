"""The catalogue over HTTP: list, search, one skill."""

import pytest

from tests.support.registry import Registry
from tests.support.skills import a_repository
from tests.support.web.skills import LIST, SEARCH, found, publish
from tests.support.web.submissions import BACKDATED, refused

pytestmark = pytest.mark.process

BAD_PARAMETERS = [
    (f"{LIST}?agent=x", "agent: unknown query parameter (known: author, category, cursor, labels, limit"),
    (f"{LIST}?q=a", "q: must have 2 to 200 characters"),
    (f"{LIST}?category=nothing", "category: "),
    (f"{LIST}?tier=scanned", "tier: "),
    (f"{LIST}?minTrust=T9", "minTrust: "),
    (f"{LIST}?sort=best", "sort: "),
    (f"{LIST}?sort=relevance", "sort: relevance requires"),
    (f"{LIST}?author=%20", "author: must not be empty"),
    (f"{LIST}?labels=a,,b", "labels: must not be empty"),
    (f"{LIST}?labels={','.join('abcdefghijk')}", "labels: at most 10"),
    (f"{LIST}?source=a/b/c", "source: must be"),
    (f"{LIST}?page=0", "page: "),
    (f"{LIST}?page=202", "offset, page: at most 10,000 rows can be skipped"),
    (f"{LIST}?page=2&cursor=zzz", "cursor: cannot be combined"),
    (f"{LIST}?limit=0", "limit: "),
    (f"{LIST}?limit=101", "limit: "),
    (f"{LIST}?cursor=zzz", "cursor: "),
    (f"{LIST}?cursor={BACKDATED}", "cursor: "),
    (f"{SEARCH}", "'q'"),
    (f"{SEARCH}?q=", "q: must have 2 to 200 characters"),
    (f"{SEARCH}?q=a", "q: must have 2 to 200 characters"),
    (f"{SEARCH}?q=%20%20a%20", "q: must have 2 to 200 characters"),
    (f"{SEARCH}?q=%00%00", "q: must have 2 to 200 characters"),
    (f"{SEARCH}?q={'a' * 201}", "q: must have 2 to 200 characters"),
    (f"{SEARCH}?q=pdf&q=csv", "q: give the parameter only once"),
    (f"{SEARCH}?q=pdf&extensible=1", "extensible: unknown query parameter (known: author, category, cursor"),
    (f"{SEARCH}?q=pdf&page=2&offset=3", "page, offset: give only one"),
    (f"{SEARCH}?q=pdf&page=102", "offset, page: at most 1,000 rows can be skipped"),
    (f"{SEARCH}?q=pdf&limit=51", "limit: "),
    (f"{SEARCH}?q=pdf&offset=-1", "offset: "),
    (f"{SEARCH}?q=pdf&offset=1001", "offset: "),
    (f"{LIST}/acme/tools/pdf?version=1", "version: unknown query parameter (known: none)"),
    (f"{LIST}/acme/tools/pdf?owner=x", "owner: unknown query parameter (known: none)"),
]


async def test_invalid_parameter_is_rejected_by_name(registry: Registry) -> None:
    """G59: on every catalogue route."""
    for path, named in BAD_PARAMETERS:
        refused(await registry.client.get(path), 400, named)


@pytest.mark.parametrize("name", ["no/such/skill", "a%00b/c/d", "a/b/%ff", "%F0%9F%92%A5/b/c", "a/b/" + "c" * 2000])
async def test_unknown_skill_returns_404(registry: Registry, name: str) -> None:
    refused(await registry.client.get(f"{LIST}/{name}"), 404, "There is no skill")


async def test_repository_is_found_in_every_notation(registry: Registry) -> None:
    """G60: owner, name, any part, `owner/repo`, and all URL forms."""
    await publish(registry, "Acme/Power-Tools", {"alpha": "First letters.", "beta": "Second letters."})
    await publish(registry, "other/things", {"gamma": "Third letters."})
    both = ["acme/power-tools/alpha", "acme/power-tools/beta"]
    ways = (
        "acme/power-tools",
        "Acme/Power-Tools",
        "acme/power-tools/",
        "ACME",
        "power-tools",
        "ower-too",
        "me/pow",
        f"{registry.web_url}/Acme/Power-Tools",
        "https://github.com/acme/power-tools",
        "http://github.com/acme/power-tools.git",
        "https://github.com/acme/power-tools/tree/main/skills/alpha?tab=readme#top",
        "https://github.com/acme",
        "github.com/acme/power-tools",
        "www.github.com/acme/power-tools/",
        "git@github.com:acme/power-tools.git",
        "ssh://git@github.com/acme/power-tools.git",
    )
    for way in ways:
        assert sorted(await found(registry, way)) == both, way
    assert await found(registry, "https://github.com/nobody/nothing") == []


async def test_search_by_words_prefixes_and_other_scripts(registry: Registry) -> None:
    """G61: word forms, prefixes, substrings, and scripts without spaces."""
    await publish(
        registry,
        "acme/office",
        {
            "pdf-forms": "Fills in the fields of PDF documents.",
            "chinese": "把电子表格转换成图表并写出摘要。",
            "accents": "Résumé writing für Fortgeschrittene.",
        },
    )
    expected = {
        "document": "pdf-forms",
        "documents fills": "pdf-forms",
        "fill": "pdf-forms",
        "docum": "pdf-forms",
        "ocumen": "pdf-forms",
        "PDF FORMS": "pdf-forms",
        "电子表格": "chinese",
        "图表": "chinese",
        "résumé": "accents",
        "fortgeschr": "accents",
    }
    for words, name in expected.items():
        assert await found(registry, words) == [f"acme/office/{name}"], words
    assert await found(registry, "documents accents") == []


ODD = (
    "zz\x00zz",
    "' OR 1=1 --",
    "foo:*&!(",
    "\u202eabc",
    "💥💥",
    '"zz',
    "--",
    "''",
    "&|",
    "<->",
    "\\",
    "\\\\",
    "a" * 200,
)


async def test_pattern_characters_are_literal(registry: Registry) -> None:
    """G61: `%`, `_` and `\\` match themselves, and no input breaks the query."""
    await publish(
        registry,
        "acme/signs",
        {
            "percent": "Computes 50%ish shares.",
            "underscore": "Renames snake_case files.",
            "backslash": "Walks C:\\Users folders.",
            "plain": "Renames snakeXcase files 10 times in all.",
        },
    )
    expected = {
        "50%": "percent",
        "0%i": "percent",
        "snake_case": "underscore",
        "e_c": "underscore",
        "C:\\Users": "backslash",
    }
    for words, name in expected.items():
        assert await found(registry, words) == [f"acme/signs/{name}"], words
    assert await found(registry, "%%") == await found(registry, "__") == []
    for odd in ODD:
        answer = await registry.client.get(SEARCH, params={"q": odd})
        assert answer.status_code in (200, 400), (odd, answer.text)
        assert answer.status_code == 400 or answer.json()["results"] == [], odd
    for raw in ("%ED%A0%80%ED%A0%80", "%ff%fe", "%C0%AF.."):
        assert (await registry.client.get(f"{SEARCH}?q={raw}")).json()["results"] == []


async def test_search_and_list_pages_cover_every_row_once(registry: Registry) -> None:
    """G58."""
    names = [f"skill-{number}" for number in range(7)]
    await publish(registry, "acme/many", dict.fromkeys(names, "One of many."))
    everything = sorted(f"acme/many/{name}" for name in names)
    hits: list[str] = []
    for offset in (0, 3, 6):
        answer = (await registry.client.get(SEARCH, params={"q": "many", "limit": 3, "offset": offset})).json()
        hits += [each["name"] for each in answer["results"]]
        assert answer["pagination"] == {"limit": 3, "offset": offset, "hasMore": offset < 6}
    assert sorted(hits) == everything
    seen, cursor = [], None
    while cursor is not None or not seen:
        query = {"limit": 3, **({"cursor": cursor} if cursor else {})}
        page = (await registry.client.get(LIST, params=query)).json()
        seen += [each["name"] for each in page["skills"]]
        assert page["total"] >= 7
        if cursor is None:
            await publish(registry, "acme/late", {"late": "Published while somebody reads."})
        cursor = page["nextCursor"]
    assert sorted(seen) == everything


async def test_name_leads_to_its_own_author(registry: Registry) -> None:
    """G55: two authors with the same skill name have separate addresses."""
    for owner in ("alice", "bob"):
        registry.github.add_repository(f"{owner}/tools", files=a_repository("pdf"))
        accepted = await registry.submit(f"{owner}/tools", "pdf", "skills/pdf/SKILL.md")
        await registry.work()
        assert (await registry.read(accepted["id"]))["publishedSkillName"] == f"{owner}/tools/pdf"
        page = (await registry.client.get(f"/submissions/{accepted['id']}")).text
        assert f'href="/skills/{owner}/tools/pdf"' in page
    for owner in ("alice", "bob"):
        served = (await registry.client.get(f"{LIST}/{owner}/tools/pdf")).json()["skill"]
        assert (served["ownerSlug"], served["repoUrl"]) == (owner, f"{registry.web_url}/{owner}/tools")
    refused(await registry.client.get(f"{LIST}/carol/tools/pdf"), 404, "There is no skill")
