"""Search terms and ranking."""

import pytest

from assay.model.errors import Invalid
from assay.serve.skills.query import MAX_SEARCH_OFFSET, SkillQuery, normalised
from assay.serve.skills.search import read_skills
from tests.support.registry import Registry
from tests.support.web.skills import found, publish

WEB = "https://github.com"


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ("https://github.com/acme/tools", "acme/tools"),
        ("HTTPS://GitHub.com/Acme/Tools", "Acme/Tools"),
        ("http://github.com/acme/tools/", "acme/tools"),
        ("https://github.com/acme/tools.git", "acme/tools"),
        ("https://github.com/acme/tools?tab=readme", "acme/tools"),
        ("https://github.com/acme/tools#readme", "acme/tools"),
        ("https://github.com/acme/tools/blob/main/skills/pdf/SKILL.md", "acme/tools"),
        ("https://token@github.com/acme/tools", "acme/tools"),
        ("https://github.com/acme", "acme"),
        ("github.com/acme/tools", "acme/tools"),
        ("github.example.com:8443/acme/tools", "acme/tools"),
        ("git@github.com:acme/tools.git", "acme/tools"),
        ("ssh://git@github.com/acme/tools.git", "acme/tools"),
        ("git://github.com/acme/tools.git", "acme/tools"),
        ("acme/tools", "acme/tools"),
        ("acme/tools/", "acme/tools"),
        ("acme/next.js", "acme/next.js"),
        ("acme/next.js/pdf", "acme/next.js/pdf"),
        ("next.js", "next.js"),
        ("github.com", "github.com"),
        ("1.5/2", "1.5/2"),
        ("read pdf/csv files", "read pdf/csv files"),
        ("see https://github.com/acme/tools please", "see https://github.com/acme/tools please"),
        ("  two \t words\n", "two words"),
        ("a\x00b", "a b"),
        ("表格", "表格"),
    ],
)
def test_repository_url_is_normalised(given: str, wanted: str) -> None:
    """G60."""
    assert normalised(given, WEB) == wanted


def test_github_enterprise_below_a_path() -> None:
    """G60: `https://host/path`."""
    assert normalised("https://Code.example/git/acme/tools", "https://code.example/git") == "acme/tools"
    assert normalised("https://code.example/git/acme/tools.git", "https://code.example/git") == "acme/tools"


@pytest.mark.process
async def test_exact_match_ranks_first(registry: Registry) -> None:
    """G60: full name, skill name, repository, then the rest."""
    await publish(registry, "acme/report", {"pdf": "Makes files.", "csv": "Reads tables."})
    await publish(registry, "pdf/report", {"other": "pdf pdf pdf, of acme/report and report report report."})
    await publish(registry, "zeta/kit", {"report": "Nothing more to say.", "pdf-report": "pdf report report."})

    names = await found(registry, "acme/report/pdf")
    assert names[0] == "acme/report/pdf"
    names = await found(registry, "pdf")
    assert names[0] == "acme/report/pdf"
    assert set(names[1:]) == {"pdf/report/other", "zeta/kit/pdf-report"}
    names = await found(registry, "REPORT")
    assert names[0] == "zeta/kit/report"
    names = await found(registry, "acme/report")
    assert sorted(names[:2]) == ["acme/report/csv", "acme/report/pdf"]
    assert names[2:] == ["pdf/report/other"]


@pytest.mark.process
async def test_complete_name_matches_itself_only(registry: Registry) -> None:
    """G60: substrings match only if nothing matches exactly."""
    for repository in ("acme/report", "bigacme/report"):
        await publish(registry, repository, {"pdf": f"Makes files of {repository}."})
    both = ["acme/report/pdf", "bigacme/report/pdf"]
    assert await found(registry, "acme/report/pdf") == both[:1]
    assert sorted(await found(registry, "cme/report/pdf")) == both
    names = await found(registry, "acme/report")
    assert (names[0], sorted(names)) == (both[0], both)


async def test_invalid_search_is_rejected(registry: Registry) -> None:
    """G59: too short, too long or too deep, on every path."""
    async with registry.app.store.snapshot() as db:
        for words in ("", " ", "a", "a" * 201):
            with pytest.raises(Invalid, match="2 to 200"):
                await read_skills(db, SkillQuery(words.strip()))
        with pytest.raises(Invalid, match="offset"):
            await read_skills(db, SkillQuery("ab", offset=MAX_SEARCH_OFFSET + 1))
        assert (await read_skills(db, SkillQuery("a" * 200, offset=MAX_SEARCH_OFFSET))).hits == []
