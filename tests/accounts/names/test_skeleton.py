"""Skeletons: names that look alike have the same one."""

import string
import tomllib
import unicodedata
from importlib.resources import files

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.accounts.names.skeleton import has_compatibility_characters, mixed_word, skeleton
from assay.model.skill import slug_of

CONFUSABLES = tomllib.loads((files("assay.accounts.names") / "confusables.toml").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    "name",
    [
        "ｐｄｆ",
        "ＰＤＦ",
        "рdf",
        "pԁf",
        "𝐩𝐝𝐟",
        "𝖕𝖉𝖋",
        "ⓟⓓⓕ",
        "ᴘᴅꜰ",
        "pđf",
        "p\u200bdf",
        "pd\u0336f",
        "ρdf",
        "ꓑꓓꓝ",
    ],
)
def test_disguised_names_have_the_skeleton_of_the_original(name: str) -> None:
    assert skeleton(name) == skeleton("pdf")


@pytest.mark.parametrize(
    ("name", "original"),
    [
        ("anthr0pic", "anthropic"),
        ("anthroplc", "anthropic"),
        ("anthrop1c", "anthropic"),
        ("rnicrosoft", "microsoft"),
        ("vvebapp-testing", "webapp-testing"),
        ("соmроѕіо", "composio"),
        ("οреnаі", "openai"),
        ("ϲlaude", "claude"),
        ("ꮯlaude", "claude"),
        ("hυggingface", "huggingface"),
        ("օpenai", "openai"),
        ("gìthüb", "github"),
        ("ɡoogle", "google"),
        ("web٣", "web3"),
        ("ﬁgma", "figma"),
    ],
)
def test_look_alike_letters_fold_to_the_same_skeleton(name: str, original: str) -> None:
    assert skeleton(name) == skeleton(original)


@pytest.mark.parametrize(
    ("name", "other"), [("pdf", "odf"), ("отчёт", "ответ"), ("报告", "报表"), ("css", "cs"), ("a", "")]
)
def test_different_names_have_different_skeletons(name: str, other: str) -> None:
    assert skeleton(name) != skeleton(other)


@given(st.text())
def test_skeleton_is_stable(name: str) -> None:
    """Of any text; the skeleton of a skeleton is the same."""
    assert skeleton(skeleton(name)) == skeleton(name)


@given(st.text(string.ascii_letters + string.digits + "-_"))
def test_skeleton_of_ascii_ignores_case(name: str) -> None:
    assert skeleton(name.upper()) == skeleton(name.lower())


@given(st.text(max_size=20), st.text(max_size=20))
def test_checks_accept_any_text(name: str, other: str) -> None:
    assert isinstance(has_compatibility_characters(name), bool)
    assert mixed_word(slug_of(f"{name}-{other}")) is None or len(name + other) > 1


def test_confusable_letters_are_of_their_alphabet_and_folded() -> None:
    """Each letter once, as it is after folding case."""
    letters = [(script, each) for script, table in CONFUSABLES.items() for alike in table.values() for each in alike]
    assert len({each for _, each in letters}) == len(letters)
    for script, each in letters:
        assert unicodedata.name(each).lower().startswith(script), each
        assert each.casefold() == each or each == "ς", each


@pytest.mark.parametrize("name", ["ｐｄｆ-official", "ﬁle", "step①", "x²", "𝐩𝐝𝐟", "ｶﾞ"])
def test_compatibility_characters_are_found(name: str) -> None:
    assert has_compatibility_characters(slug_of(name))


@pytest.mark.parametrize(
    "name", ["pdf", "café", "cafe\u0301", "отчёт", "レポート", "报告", "보고서", "straße", "ελλάδα"]
)
def test_ordinary_names_have_no_compatibility_characters(name: str) -> None:
    assert not has_compatibility_characters(name)


@pytest.mark.parametrize("slug", ["рdf", "pdf-оfficial", "claυde", "gооgle", "pdfж", "օpenai", "λcalculus"])
def test_mixed_alphabets_are_found(slug: str) -> None:
    assert mixed_word(slug) in slug.split("-")


@pytest.mark.parametrize(
    "slug",
    ["pdf-отчёт", "отчёт-2", "β-test", "报告pdf", "pdfレポート", "日本語の文書", "ไทยdoc", "naïve-café", "web3", ""],
)
def test_words_of_one_alphabet_are_not_mixed(slug: str) -> None:
    """Chinese, Japanese and others are written together with Latin, and their letters do not look alike."""
    assert mixed_word(slug) is None
