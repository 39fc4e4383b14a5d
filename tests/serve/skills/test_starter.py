"""The starter catalogue is data that can be trusted to be what it says."""

from assay.serve.skills.starter import find_starters, starter_skills
from assay.submit.validate import wanted_skill

WEB = "https://github.com"


def test_there_are_118_and_each_is_said_in_a_sentence() -> None:
    """G14: name, repository, path, category and a description of our own; none twice."""
    skills = starter_skills()
    assert len(skills) == 118
    assert len({each.full_name for each in skills}) == 118
    assert len({each.description for each in skills}) == 118
    for each in skills:
        assert each.description.endswith(".")
        assert 30 <= len(each.description) <= 160
        assert each.path.endswith("SKILL.md")
        assert wanted_skill(f"{WEB}/{each.repository}", each.name, None, WEB).skill_name == each.name


def test_shown_they_say_that_nobody_examined_them() -> None:
    """G14: what only an examination knows is null, and stays out of every count."""
    shown = starter_skills()[0].shown(WEB)
    assert shown["unverified"] is True
    assert shown["certTier"] is shown["certScore"] is shown["currentVersion"] is shown["trustTier"] is None
    assert shown["repoUrl"] == "https://github.com/anthropics/skills"


def test_they_are_found_by_their_words() -> None:
    """Every word must occur, in any case."""
    assert [each.full_name for each in find_starters("PDF forms")] == ["anthropics/skills/pdf"]
    assert find_starters("nothing-of-the-kind") == []
