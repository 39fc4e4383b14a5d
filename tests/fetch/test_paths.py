"""Path validation."""

import posixpath
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.fetch.limits import Limits
from assay.fetch.paths import checked_path, folder_of, path_problem
from assay.model.errors import Invalid

LIMITS = Limits(path_depth=5, path_length=60)


@pytest.mark.parametrize(
    "path",
    ["SKILL.md", "skills/pdf/SKILL.md", "技能/说明.md", "a b/c's.md", ".hidden/file", "a..b/c", "...", "a/b:c"],
)
def test_plain_path_is_accepted(path: str) -> None:
    assert checked_path(path, LIMITS) == path


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("", "1 to 60 characters"),
        ("a" * 61, "1 to 60 characters"),
        ("/etc/passwd", "relative"),
        ("C:/windows", "relative"),
        ("C:file", "relative"),
        ("a\\b", "forward slashes"),
        ("..", "'..'"),
        ("../a", "'..'"),
        ("a/../b", "'..'"),
        ("a/..", "'..'"),
        ("./a", "'.'"),
        ("a/./b", "'.'"),
        ("a//b", "empty parts"),
        ("a/", "empty parts"),
        ("a/b/c/d/e/f", "deeper than 5"),
        ("a\0b", "control"),
        ("a\nb", "control"),
        ("a\x1b[31mb", "control"),
        ("a\x7f", "control"),
        ("a\u202eexe.md", "invisible"),
        ("a\u200bb", "invisible"),
        ("a\u2028b", "invisible"),
        ("a\udc80b", "invisible"),
        ("a\ue000b", "invisible"),
    ],
)
def test_bad_path_is_rejected_with_a_reason(path: str, says: str) -> None:
    """G17."""
    problem = path_problem(path, LIMITS)
    assert problem is not None
    assert says in problem
    with pytest.raises(Invalid) as refusal:
        checked_path(path, LIMITS)
    assert refusal.value.code == "bad_path"


@settings(deadline=None)
@given(st.text(alphabet=st.sampled_from("ab./\\:\0\n\u202e\u2028é"), max_size=20) | st.text(max_size=20))
def test_accepted_path_stays_below_its_root(path: str) -> None:
    """G17."""
    if path_problem(path, LIMITS):
        return
    assert posixpath.normpath(posixpath.join("/root", path)) == f"/root/{path}"
    assert len(path.split("/")) <= LIMITS.path_depth
    assert not {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"} & set(map(unicodedata.category, path))
    assert path.encode()


@settings(deadline=None)
@given(st.lists(st.text(alphabet="abc. é", min_size=1, max_size=5).filter(lambda part: part.strip("."))))
def test_every_plain_path_is_accepted(parts: list[str]) -> None:
    path = "/".join(parts)
    fits = parts and len(parts) <= LIMITS.path_depth and len(path) <= LIMITS.path_length
    assert (path_problem(path, LIMITS) is None) == bool(fits)


@pytest.mark.parametrize(
    ("path", "folder"), [("SKILL.md", ""), ("a/SKILL.md", "a"), ("skills/pdf/SKILL.md", "skills/pdf")]
)
def test_folder_of_a_skill(path: str, folder: str) -> None:
    assert folder_of(path) == folder
