"""The catalogue over HTTP: list, search, one skill."""

from typing import Any

import pytest

from tests.support.registry import Registry
from tests.support.skills import a_repository, a_skill
from tests.web.submissions.test_api import BACKDATED, refused

LIST, SEARCH = "/api/v1/skills", "/api/v1/skills/search"


async def publish(registry: Registry, repository: str, skills: dict[str, str]) -> None:
    """List these skills: names and descriptions."""
    files = {f"skills/{name}/SKILL.md": a_skill(name, description) for name, description in skills.items()}
    registry.github.add_repository(repository, files=files)
    for name in skills:
        await registry.submit(repository, name, f"skills/{name}/SKILL.md")
    await registry.work()


async def found(registry: Registry, q: str, **given: Any) -> list[str]:
    """The names of what a search finds, best first."""
    answer = await registry.client.get(SEARCH, params={"q": q, **given})
    assert answer.status_code == 200, answer.text
    return [each["name"] for each in answer.json()["results"]]


BAD_PARAMETERS = [
    (f"{LIST}?agent=x", "agent: there is no such parameter here (known: author, category, cursor, labels, limit"),
    (f"{LIST}?q=a", "q must have 2 to 200 characters"),
    (f"{LIST}?category=nothing", "category: "),
    (f"{LIST}?tier=scanned", "tier: "),
    (f"{LIST}?minTrust=T9", "minTrust: "),
    (f"{LIST}?sort=best", "sort: "),
    (f"{LIST}?sort=relevance", "sort: relevance needs words"),
    (f"{LIST}?author=%20", "author: it is empty"),
    (f"{LIST}?labels=a,,b", "labels: it is empty"),
    (f"{LIST}?labels={','.join('abcdefghijk')}", "labels: at most 10"),
    (f"{LIST}?source=a/b/c", "source: give"),
    (f"{LIST}?page=0", "page: "),
    (f"{LIST}?page=202", "offset, page: at most 10,000 rows deep"),
    (f"{LIST}?page=2&cursor=zzz", "cursor: give either"),
    (f"{LIST}?limit=0", "limit: "),
    (f"{LIST}?limit=101", "limit: "),
    (f"{LIST}?cursor=zzz", "cursor: "),
    (f"{LIST}?cursor={BACKDATED}", "cursor: "),
    (f"{SEARCH}", "'q'"),
    (f"{SEARCH}?q=", "q must have 2 to 200 characters"),
    (f"{SEARCH}?q=a", "q must have 2 to 200 characters"),
    (f"{SEARCH}?q=%20%20a%20", "q must have 2 to 200 characters"),
    (f"{SEARCH}?q=%00%00", "q must have 2 to 200 characters"),
    (f"{SEARCH}?q={'a' * 201}", "q must have 2 to 200 characters"),
    (f"{SEARCH}?q=pdf&q=csv", "q: give it once"),
    (f"{SEARCH}?q=pdf&extensible=1", "extensible: there is no such parameter here (known: author, category, cursor"),
    (f"{SEARCH}?q=pdf&page=2&offset=3", "page, offset: give one"),
    (f"{SEARCH}?q=pdf&page=102", "offset, page: at most 1,000 rows deep"),
    (f"{SEARCH}?q=pdf&limit=51", "limit: "),
    (f"{SEARCH}?q=pdf&offset=-1", "offset: "),
    (f"{SEARCH}?q=pdf&offset=1001", "offset: "),
    (f"{LIST}/acme/tools/pdf?version=1", "version: there is no such parameter here (known: none)"),
    (f"{LIST}/acme/tools/pdf?owner=x", "owner: there is no such parameter here (known: none)"),
]


async def test_a_parameter_that_cannot_be_followed_is_refused_by_name(registry: Registry) -> None:
    """G59: the same on every route of the catalogue."""
    for path, named in BAD_PARAMETERS:
        refused(await registry.client.get(path), 400, named)


@pytest.mark.parametrize("name", ["no/such/skill", "a%00b/c/d", "a/b/%ff", "%F0%9F%92%A5/b/c", "a/b/" + "c" * 2000])
async def test_a_skill_that_is_not_there(registry: Registry, name: str) -> None:
    """Whatever is asked for, the answer is 404 and says so."""
    refused(await registry.client.get(f"{LIST}/{name}"), 404, "There is no skill")


async def test_a_repository_is_found_by_every_way_to_write_it(registry: Registry) -> None:
    """G60: owner, name, any part of them, `owner/repo`, and the URL in all its forms."""
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


async def test_words_parts_and_other_scripts_find_a_skill(registry: Registry) -> None:
    """G61: words in any form, prefixes, parts of words, and scripts that have no spaces."""
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


async def test_signs_of_patterns_mean_themselves(registry: Registry) -> None:
    """G61: `%`, `_` and `\\` are characters like others, and nothing that is typed breaks the query."""
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


async def test_hits_are_paged_and_listed_ones_too(registry: Registry) -> None:
    """G58: pages of hits and of the list are the whole set, each once."""
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


async def test_a_skill_is_never_another_authors(registry: Registry) -> None:
    """G55: two authors, one skill name: each address leads to its own."""
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
