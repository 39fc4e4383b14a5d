"""The starter catalogue is valid data."""

from assay.serve.skills.starter import find_starters, starter_skills
from assay.submit.validate import parse_requested_skill

WEB = "https://github.com"


def test_starter_catalogue_has_118_described_skills() -> None:
    """G14: each once, with name, repository, path, category and description."""
    skills = starter_skills()
    assert len(skills) == 118
    assert len({each.full_name for each in skills}) == 118
    assert len({each.description for each in skills}) == 118
    for each in skills:
        assert each.description.endswith(".")
        assert 30 <= len(each.description) <= 160
        assert each.path.endswith("SKILL.md")
        assert parse_requested_skill(f"{WEB}/{each.repository}", each.name, None, WEB).skill_name == each.name


def test_starter_skills_are_marked_as_unexamined() -> None:
    """G14: and not counted."""
    shown = starter_skills()[0].shown(WEB)
    assert shown["unverified"] is True
    assert shown["certTier"] is shown["certScore"] is shown["currentVersion"] is shown["trustTier"] is None
    assert shown["repoUrl"] == "https://github.com/anthropics/skills"


def test_starter_skills_are_found_by_words() -> None:
    assert [each.full_name for each in find_starters("PDF forms")] == ["anthropics/skills/pdf"]
    assert find_starters("nothing-of-the-kind") == []
