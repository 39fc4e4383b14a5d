"""Near misses of names: typos, look-alikes and variations."""

import string
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.accounts.names.similar import KnownName, NameIndex, Resemblance, resemblance
from assay.scan.checks.lookalike import is_one_edit_away

LOOKS, VARIES, TYPO = Resemblance.LOOKS, Resemblance.VARIES, Resemblance.TYPO
NAMES = st.text(string.ascii_lowercase[:4] + "12-é", max_size=9)


def distance(a: str, b: str) -> int:
    """Return the optimal string alignment distance, computed the slow way."""
    rows = {(i, j): i + j for i, j in product(range(len(a) + 1), range(len(b) + 1)) if not i or not j}
    for i, j in product(range(1, len(a) + 1), range(1, len(b) + 1)):
        changed = rows[i - 1, j - 1] + (a[i - 1] != b[j - 1])
        rows[i, j] = min(rows[i - 1, j] + 1, rows[i, j - 1] + 1, changed)
        if i > 1 and j > 1 and a[i - 2 : i] == b[j - 2 : j][::-1]:
            rows[i, j] = min(rows[i, j], rows[i - 2, j - 2] + 1)
    return rows[len(a), len(b)]


@pytest.mark.parametrize(
    ("name", "original", "how"),
    [
        # Real attacks on package registries and skill catalogues.
        ("clawdhub1", "clawdhub", VARIES),
        ("cllawhub", "clawhub", TYPO),
        ("clawhubb", "clawhub", TYPO),
        ("crossenv", "cross-env", VARIES),
        ("rustdecimal", "rust-decimal", VARIES),
        ("python-dateutils", "python-dateutil", VARIES),
        ("urllib-3", "urllib3", VARIES),
        ("lodahs", "lodash", TYPO),
        ("l0dash", "lodash", LOOKS),
        ("tensorf1ow", "tensorflow", LOOKS),
        ("jeIlyfish".lower(), "jellyfish", LOOKS),
        ("nodejs-discord", "discord-nodejs", VARIES),
        ("skills-pdf", "pdf-skills", VARIES),
        ("skill-creator-v2", "skill-creator", VARIES),
        ("skil-creator", "skill-creator", TYPO),
        ("skill-creators", "skill-creator", VARIES),
        ("frontend-desing", "frontend-design", TYPO),
        ("webapp_testing", "webapp-testing", VARIES),
        ("соmроѕіо", "composio", LOOKS),
        ("nicrosoft", "microsoft", TYPO),
    ],
)
def test_imitations_resemble_the_original(name: str, original: str, how: Resemblance) -> None:
    assert resemblance(name, original) is how


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("pdf", "pdf"),
        ("pdf", "odf"),
        ("docs", "docx"),
        ("xlsx", "xls"),
        ("notion", "motion"),
        ("devops", "revops"),
        ("text-to-speech", "speech-to-text"),
        ("angular-17", "angular-18"),
        ("gpt-4-prompts", "gpt-5-prompts"),
        ("my-skill-creator", "skill-creator"),
        ("skill-creator-pro", "skill-creator"),
        ("code-review", "code-reviewer"),
        ("docx-creator", "x-docs-creator"),
        ("mcp-building", "mcp-builder"),
        ("css", "cs"),
        ("", "pdf"),
    ],
)
def test_honest_names_resemble_no_other(name: str, other: str) -> None:
    assert resemblance(name, other) is None


@given(NAMES, NAMES)
def test_edit_distance_is_exact(name: str, other: str) -> None:
    assert is_one_edit_away(name, other) == (distance(name, other) == 1)


@given(st.text(), st.text())
def test_resemblance_is_symmetric(name: str, other: str) -> None:
    """Of any texts; a name does not resemble itself."""
    assert resemblance(name, other) is resemblance(other, name)
    assert resemblance(name, name) is None


@given(NAMES, NAMES)
def test_resemblance_of_similar_names_is_symmetric(name: str, other: str) -> None:
    assert resemblance(name, other) is resemblance(other, name)


@given(NAMES, st.lists(NAMES, max_size=8))
def test_index_finds_every_resemblance(name: str, known: list[str]) -> None:
    index = NameIndex(KnownName(each, each) for each in known)
    expected = name not in known and any(resemblance(name, each) for each in known)
    found = index.find_resembled(name)
    assert (found is not None) == expected
    if found:
        assert resemblance(name, found[0].name) is found[1]


def test_owner_of_a_name_may_use_its_near_misses() -> None:
    known = [KnownName("pdf-tools", "acme/kit/pdf-tools", frozenset({"acme"}))]
    assert NameIndex(known).find_resembled("pdf-tool", own={"acme"}) is None
    assert NameIndex(known).find_resembled("pdf-tool", own={"mallory"}) == (known[0], VARIES)
