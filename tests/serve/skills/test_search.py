"""What is searched for, and what comes first."""

import pytest

from assay.model.errors import Invalid
from assay.serve.skills.query import DEEPEST_HIT, SkillQuery, normalised
from assay.serve.skills.search import read_skills
from tests.support.registry import Registry
from tests.web.skills.test_api import found, publish

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
def test_a_repository_url_becomes_its_name_and_words_stay_words(given: str, wanted: str) -> None:
    """G60: all forms that people paste."""
    assert normalised(given, WEB) == wanted


def test_a_github_below_a_path_is_known_by_its_whole_address() -> None:
    """G60: GitHub Enterprise may live at `https://host/path`."""
    assert normalised("https://Code.example/git/acme/tools", "https://code.example/git") == "acme/tools"
    assert normalised("https://code.example/git/acme/tools.git", "https://code.example/git") == "acme/tools"


async def test_the_exact_one_comes_first(registry: Registry) -> None:
    """G60: full name, then the skill's own name, then its repository, then all others."""
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


async def test_a_whole_name_is_no_part_of_another(registry: Registry) -> None:
    """G60: a name or a repository that there is finds itself; what only contains it is found by a part."""
    for repository in ("acme/report", "bigacme/report"):
        await publish(registry, repository, {"pdf": f"Makes files of {repository}."})
    both = ["acme/report/pdf", "bigacme/report/pdf"]
    assert await found(registry, "acme/report/pdf") == both[:1]
    assert sorted(await found(registry, "cme/report/pdf")) == both
    names = await found(registry, "acme/report")
    assert (names[0], sorted(names)) == (both[0], both)


async def test_what_is_too_short_too_long_or_too_deep_is_refused(registry: Registry) -> None:
    """G59: also for whoever comes by another way than the API."""
    async with registry.app.store.snapshot() as db:
        for words in ("", " ", "a", "a" * 201):
            with pytest.raises(Invalid, match="2 to 200"):
                await read_skills(db, SkillQuery(words.strip()))
        with pytest.raises(Invalid, match="offset"):
            await read_skills(db, SkillQuery("ab", offset=DEEPEST_HIT + 1))
        assert (await read_skills(db, SkillQuery("a" * 200, offset=DEEPEST_HIT))).hits == []
